from __future__ import annotations

from pathlib import Path

import pytest

from sage_code.errors import ConfigError, SageError, UsageError
from sage_code.fleet import roster


@pytest.mark.parametrize(
    ("source", "name", "owner"),
    [
        ("https://git.example.org/team/api.git", "team/api", "team"),
        ("ssh://git@git.example.org:2222/team/sub/api", "sub/api", "sub"),
        ("git@git.example.org:team/api.git", "team/api", "team"),
        ("file:///srv/git/api.git", "git/api", "git"),
        ("/srv/code/shop", "shop", "local"),
        ("/srv/code/my shop (old)", "my-shop--old-", "local"),
    ],
)
def test_names_and_owners_come_from_addresses(source: str, name: str, owner: str) -> None:
    found = roster.repository(source)
    assert (found.name, found.owner) == (name, owner)


@pytest.mark.parametrize(
    "source",
    [
        "ext::sh -c touch% /tmp/x",
        "ext::sh",
        "fd::17/foo",
        "http://git.example.org/a/b",
        "git://git.example.org/a/b",
        "ftp://git.example.org/a",
        "--upload-pack=touch /tmp/x",
        "-u",
        "ssh://-oProxyCommand=x/a",
        "https://user:token@git.example.org/a/b",
        "https://token@git.example.org/a/b",
        "https://git.example.org/a\nb",
        "",
    ],
)
def test_addresses_that_run_programs_or_hold_secrets_are_refused(source: str) -> None:
    with pytest.raises(UsageError) as error:
        roster.repository(source)
    assert "token@" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "repositories: 3",
        "- {source: 'ext::sh'}",
        "- {source: /a, name: ../../etc}",
        '- {source: /a, name: "x\' OR 1=1"}',
        "- {source: 'https://h/a/b', branch: --upload-pack=x}",
        "- {source: /a, program: sh}",
        "- [1]",
        "- !!python/object/apply:os.system ['true']",
        "- /x/a\n- /y/a",
        "{",
    ],
)
def test_a_hostile_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        roster.load(str(path))
    assert str(path) in str(error.value)


def test_what_is_added_is_loaded_and_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "home" / "fleet.yaml")
    assert roster.load(path) == []
    for folder in ("srv/b", "other/b"):
        (tmp_path / folder).mkdir(parents=True)
    roster.add(path, [str(tmp_path / "srv" / "b"), "https://h.example.org/o/a"], owner="us", branch="")
    assert [(one.name, one.owner) for one in roster.load(path)] == [("b", "us"), ("o/a", "us")]
    with pytest.raises(SageError, match="already"):
        roster.add(path, [str(tmp_path / "other" / "b")])
    with pytest.raises(UsageError, match="is not a folder"):
        roster.add(path, [str(tmp_path / "nowhere")])
    assert [one.name for one in roster.remove(path, ["b", "none"])] == ["b"]
    assert [one.name for one in roster.load(path)] == ["o/a"]


def test_a_plain_list_has_one_address_a_line(tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    path.write_text("# ours\nhttps://git.example.org/team/api.git  # the API\n\n/srv/code/shop\n")
    assert [one.name for one in roster.load(str(path))] == ["shop", "team/api"]
    with pytest.raises(UsageError, match="plain list"):
        roster.add(str(path), [str(tmp_path)])
    path.write_text("ext::sh -c x\n")
    with pytest.raises(ConfigError, match=r"all\.txt, repository 1"):
        roster.load(str(path))
