"""Skills are installed, updated and removed; what a user has edited is never lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sage_code.agents import record, skills
from sage_code.errors import ConfigError, UsageError

Sage = Callable[..., Any]
MEMORY = "sage-memory"
OLD = '---\nname: sage-memory\ndescription: Old.\nmetadata:\n  version: "0.9.0"\n---\n\n# Old\n'
EVERY = [*skills.DEFAULT, "sage-code-search", "sage-setup"]


@pytest.fixture
def folder() -> Path:
    return Path.home() / ".claude" / "skills"


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Installs an older version of a skill, as an older Sage would have."""

    def install() -> None:
        with monkeypatch.context() as patch:
            old = replace(skills.shipped()[MEMORY], version="0.9.0", text=OLD)
            patch.setattr(skills, "shipped", lambda: {MEMORY: old})
            assert skills.install([MEMORY], "user", "")[0].action == "added"

    return install


@pytest.fixture
def run(sage: Sage) -> Callable[..., list[tuple[str, str]]]:
    """Runs a command that changes skills, and gives back what it did to which."""

    def change(*words: str, code: int = 0) -> list[tuple[str, str]]:
        result = sage("skills", *words, "--json")
        assert result.code == code, result.out + result.err
        return [(one["name"], one["action"]) for one in json.loads(result.out)["changes"]]

    return change


def _state(sage: Sage, name: str = MEMORY, *words: str) -> tuple[str, str]:
    rows = json.loads(sage("skills", "list", *words, "--json").out)["skills"]
    return next((row["state"], row["installed"]) for row in rows if row["name"] == name)


def test_all_are_listed_with_the_version_of_their_head(sage: Sage) -> None:
    rows = json.loads(sage("skills", "list", "--json").out)["skills"]
    assert [row["name"] for row in rows] == EVERY
    assert [row["name"] for row in rows if row["is_default"]] == list(skills.DEFAULT)
    for row in rows:
        head = yaml.safe_load(skills.shipped()[row["name"]].text.split("---\n")[1])
        assert (row["shipped"], row["description"]) == (head["metadata"]["version"], head["description"])
        assert (row["state"], row["installed"]) == ("absent", "")
    assert not (Path.home() / ".claude").exists()
    shown = sage("skills", "show", MEMORY)
    assert (shown.code, shown.out) == (0, skills.shipped()[MEMORY].text)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_install_and_uninstall_leave_nothing_behind(run: Any, scope: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    where = ["--scope", scope, "--project", str(root)]
    base = (root if scope == "project" else Path.home()) / ".claude" / "skills"
    assert run("install", *where) == [(name, "added") for name in skills.DEFAULT]
    # One level below: Claude Code does not look further.
    assert sorted(base.iterdir()) == sorted(base / name for name in skills.DEFAULT)
    for name in skills.DEFAULT:
        assert (base / name / "SKILL.md").read_text() == skills.shipped()[name].text
    assert run("install", *where) == [(name, "unchanged") for name in skills.DEFAULT]
    assert run("install", "sage-setup", *where) == [("sage-setup", "added")]
    assert run("uninstall", "sage-memory", *where) == [(MEMORY, "removed")]
    assert run("uninstall", *where) == [(name, "removed") for name in (*skills.DEFAULT[1:], "sage-setup")]
    assert not base.parent.exists()
    assert record.load() == {}
    assert run("uninstall", *where, code=1) == []
    assert run("uninstall", MEMORY, *where, code=1) == [(MEMORY, "absent")]


def test_an_older_version_is_updated(run: Any, sage: Sage, older: Any, folder: Path) -> None:
    older()
    assert _state(sage) == ("outdated", "0.9.0")
    assert run("update") == [(MEMORY, "updated")]
    assert (folder / MEMORY / "SKILL.md").read_text() == skills.shipped()[MEMORY].text
    assert run("update") == [(MEMORY, "unchanged")]
    assert run("update", "sage-session", code=1) == [("sage-session", "absent")]
    assert run("uninstall") == [(MEMORY, "removed")]
    assert not folder.parent.exists()
    assert run("update", code=1) == []


def test_an_edit_is_kept_unless_it_is_forced_and_then_copied(run: Any, sage: Sage, older: Any, folder: Path) -> None:
    older()
    file = folder / MEMORY / "SKILL.md"
    file.write_text(OLD + "my words\n")
    assert _state(sage) == ("edited", "0.9.0")
    for command in ("install", "update", "uninstall"):
        assert run(command, MEMORY, code=1) == [(MEMORY, "kept")]
        assert file.read_text() == OLD + "my words\n"
    for number in range(2):  # a second edit is not lost either
        file.write_text(f"{OLD}{number}\n")
        (change,) = json.loads(sage("skills", "update", MEMORY, "--force", "--json").out)["changes"]
        assert change["action"] == "updated"
        assert Path(change["backup"]).read_text() == f"{OLD}{number}\n"
        assert _state(sage)[0] == "current"
    file.write_text(OLD + "again\n")
    (change,) = json.loads(sage("skills", "uninstall", "--force", "--json").out)["changes"]
    assert Path(change["backup"]).read_text() == OLD + "again\n"
    assert not folder.parent.exists()


def test_a_file_of_somebody_else_is_kept(run: Any, sage: Sage, folder: Path) -> None:
    file = folder / MEMORY / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"---\r\nname: mine\r\n---\r\n")
    assert _state(sage) == ("foreign", "")
    assert run("install")[0] == (MEMORY, "kept")
    assert run("uninstall")[0] == (MEMORY, "kept")
    assert file.read_bytes() == b"---\r\nname: mine\r\n---\r\n"
    assert folder.is_dir()
    assert run("install", MEMORY, "--force") == [(MEMORY, "updated")]


def test_without_the_record_the_same_text_is_sages(run: Any, sage_home: Path, folder: Path) -> None:
    run("install", MEMORY)
    (sage_home / "agents" / "installed.json").unlink()
    assert run("install", MEMORY) == [(MEMORY, "unchanged")]
    assert len(record.load()) == 1
    (sage_home / "agents" / "installed.json").unlink()
    assert run("uninstall", MEMORY) == [(MEMORY, "removed")]
    assert not list(folder.iterdir())


def test_other_files_in_the_folder_of_a_skill_stay(run: Any, folder: Path) -> None:
    run("install", MEMORY)
    (folder / MEMORY / "notes.md").write_text("mine")
    assert run("uninstall") == [(MEMORY, "removed")]
    assert [path.name for path in folder.rglob("*")] == [MEMORY, "notes.md"]


@pytest.mark.parametrize("name", ["../x", "sage-memory/../../x", "", "Sage-Memory", "/etc", "nothing"])
def test_names_are_looked_up(name: str, sage: Sage) -> None:
    for command in ("install", "update", "uninstall", "show"):
        result = sage("skills", command, name)
        assert (result.code, "no skill is called" in result.err) == (2, True)
    with pytest.raises(UsageError):
        skills.find_skill(name)


def _links(folder: Path, target: Path) -> Iterator[Path]:
    """A link to a skill's folder, then one to its file."""
    link = folder / MEMORY
    folder.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    yield link
    link.unlink()
    link.mkdir()
    (link / "SKILL.md").symlink_to(target / "SKILL.md")
    yield link / "SKILL.md"


def test_a_linked_skill_is_left_alone(run: Any, sage: Sage, folder: Path, tmp_path: Path) -> None:
    """A developer links the skill of a checkout: deleting through the link would delete it there."""
    target = tmp_path / "checkout"
    target.mkdir()
    (target / "SKILL.md").write_text(skills.shipped()[MEMORY].text)
    for link in _links(folder, target):
        assert _state(sage)[0] == "foreign"
        for words in (["install"], ["update"], ["uninstall"], ["install", "--force"], ["uninstall", "--force"]):
            assert run(words[0], MEMORY, *words[1:], code=1) == [(MEMORY, "kept")]
        assert link.is_symlink()
        assert (target / "SKILL.md").read_text() == skills.shipped()[MEMORY].text
    assert record.load() == {}


def test_links_out_of_the_project_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    (root / ".claude").mkdir(parents=True)
    outside.mkdir()
    (root / ".claude" / "skills").symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out"):
        skills.install([], "project", str(root))
    assert not list(outside.iterdir())


def test_the_users_folder_may_be_a_link_into_dotfiles(run: Any, folder: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    folder.parent.mkdir()
    folder.symlink_to(dotfiles)
    run("install", MEMORY)
    assert (dotfiles / MEMORY / "SKILL.md").exists()
    run("uninstall")
    assert not list(dotfiles.iterdir())
    assert folder.is_symlink()


@pytest.mark.parametrize("name", EVERY)
def test_a_text_is_short_and_says_when_it_is_wanted(name: str) -> None:
    skill = skills.shipped()[name]
    assert len(skill.text.splitlines()) < 100
    assert "Use it " in skill.description
    assert not skill.description.startswith(("I ", "You "))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sage-memory", "checkpoint, save knowledge, autosave, background"),
        ("sage-research", "research, synthesis, hypothesis"),
        ("sage-session", "session start, hello, new session"),
        ("sage-knowledge", "recall, remember, insight, knowledge"),
        ("sage-knowledge-hygiene", "stale, outdated, update"),
    ],
)
def test_the_triggers_are_in_the_description(name: str, words: str) -> None:
    skill = skills.shipped()[name]
    missing = [word for word in words.split(", ") if word not in f"{skill.name} {skill.description}".lower()]
    assert missing == []
