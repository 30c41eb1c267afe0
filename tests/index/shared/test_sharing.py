"""What one has indexed and published, another finds and does not make."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sage_code import Project
from sage_code.errors import NotIndexed, UsageError
from sage_code.index.shared.pushing import push_index
from sage_code.index.shared.signing import VARIABLE, new_key, own_key
from sage_code.index.upkeep import verify_project
from sage_code.store.lance import Store, store_uri

from .conftest import Notes, Team, git

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[2] / "store"))
    from s3_server import S3Server

_EDIT = "\n\ndef added_here(value):\n    return value\n"


def test_a_second_laptop_embeds_nothing_and_answers_the_same(team: Team, answers: Callable[[Path], Any]) -> None:
    pushed = team.push()
    team.clone()
    stats, said, embedded = team.index()
    with team.at("ci"):
        expected = answers(team.ci)
    with team.at("laptop"):
        assert answers(team.laptop) == expected
    assert pushed.published
    assert embedded == []
    assert (stats.files_unchanged, stats.chunks_created) == (pushed.files, 0)
    assert any("fetched the shared index" in text for text in said)
    # Nothing of a password in an address is published.
    assert pushed.project == "git.example.org/team/work"


def test_an_edit_embeds_only_itself(team: Team) -> None:
    team.push()
    (team.clone() / "many.py").write_text((team.ci / "many.py").read_text() + _EDIT)
    stats, _, embedded = team.index()
    assert len(embedded) == 1
    assert "added_here" in embedded[0]
    assert stats.chunks_reused > 1
    assert stats.chunks_created == 1
    (team.laptop / "new.py").write_text("def of_my_own():\n    return 1\n")
    _, _, embedded = team.index()
    assert len(embedded) == 1
    assert "of_my_own" in embedded[0]


def test_a_later_commit_finds_the_index_of_its_ancestor(team: Team) -> None:
    first = team.push()
    (team.clone() / "other.py").write_text("def other():\n    return 2\n")
    git(team.laptop, "add", "-A")
    git(team.laptop, "commit", "-q", "-m", "mine")
    _, said, embedded = team.index()
    assert [text for text in said if first.commit[:12] in text]
    assert len(embedded) == 1


def test_vectors_of_a_pulled_commit_are_fetched_and_not_made(team: Team) -> None:
    team.push()
    team.clone()
    team.index()
    (team.ci / "server.py").write_text((team.ci / "server.py").read_text() + _EDIT)
    (team.ci / "more.py").write_text("def more():\n    return 3\n")
    git(team.ci, "add", "-A")
    git(team.ci, "commit", "-q", "-m", "two")
    pushed = team.push()
    git(team.laptop, "pull", "-q", str(team.ci), "HEAD")
    stats, _, embedded = team.index()
    assert embedded == []
    assert stats.files_unchanged + stats.files_indexed == pushed.files


def test_the_second_push_sends_only_what_is_new(team: Team) -> None:
    first = team.push()
    assert not team.push().published
    (team.ci / "more.py").write_text("def more():\n    return 3\n")
    git(team.ci, "add", "-A")
    git(team.ci, "commit", "-q", "-m", "two")
    with team.at("ci"):
        Project.open(team.ci).index()
    second = team.push()
    assert second.published
    assert 0 < second.bytes_sent < first.bytes_sent


def test_a_fetched_index_can_be_verified_exported_and_pushed_on(team: Team, tmp_path: Path) -> None:
    """The rows are elsewhere until something needs them."""
    team.push()
    team.clone()
    team.index()
    with team.at("laptop"):
        notes, project = Notes(), Project.open(team.laptop)
        store = Store(store_uri(project.settings.store_uri), "bundled", 1)
        assert store.count() == 0
        assert project.export_index(tmp_path / "out.sageindex", notes).chunks > 0, notes.said
        report = verify_project(str(team.laptop), project.settings)
    assert report.clean, report.findings
    assert report.rows > 0


def test_ci_may_start_from_the_archive_of_its_last_run(team: Team, tmp_path: Path) -> None:
    with team.at("ci"):
        project = Project.open(team.ci)
        project.index()
        project.export_index(tmp_path / "last.sageindex")
        shutil.rmtree(team.ci / ".sage")
    with team.at("next-runner"):
        Project.import_index(tmp_path / "last.sageindex", team.ci)
        new_key()
    assert team.push(who="next-runner").published


def test_a_publisher_trusts_the_own_key(team: Team) -> None:
    """So CI, which has a fresh home each time, starts from what it has published last."""
    team.push()
    team.clone()
    secret = (team.folder / "ci" / ".sage" / "keys" / "shared_index").read_text()
    team.patch.setenv(VARIABLE, secret)
    _, _, embedded = team.index(trusts="")
    assert embedded == []


def test_only_committed_files_are_published_unless_asked_for(team: Team) -> None:
    (team.ci / "draft.py").write_text("def draft():\n    return 'not for all'\n")
    with pytest.raises(UsageError, match=r"1 indexed files are not as they are committed: draft\.py"):
        team.push()
    assert not os.path.exists(team.store)
    assert team.push(anyway=True).published


def test_a_push_says_what_is_missing(team: Team, tmp_path: Path) -> None:
    with team.at("ci"):
        settings = Project.open(team.ci).settings
        with pytest.raises(NotIndexed):
            push_index(str(team.ci), settings)
    with team.at("somebody"):
        assert own_key() == ""
        with pytest.raises(UsageError, match="no key to sign with"):
            push_index(str(team.ci), settings)
        (tmp_path / "loose").mkdir()
        with pytest.raises(UsageError, match="has no commit"):
            push_index(str(tmp_path / "loose"), settings)


def test_an_unreachable_store_costs_one_note(team: Team) -> None:
    team.clone()
    team.store = "s3://nowhere/below"
    team.patch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    team.patch.setenv("AWS_ACCESS_KEY_ID", "id")
    team.patch.setenv("AWS_SECRET_ACCESS_KEY", "never-shown")
    stats, said, embedded = team.index()
    assert stats.chunks_created == len(embedded) > 0
    assert sum("the shared index cannot be used" in text for text in said) == 1
    assert "never-shown" not in str(said)
    (team.laptop / "new.py").write_text("def of_my_own():\n    return 1\n")
    _, said, embedded = team.index()
    assert (len(embedded), said) == (1, [])  # it is left alone for a while


def test_the_store_goes_away_after_an_index_was_fetched(team: Team) -> None:
    team.push()
    (team.clone() / "server.py").write_text((team.ci / "server.py").read_text() + _EDIT)
    team.index()
    Path(team.store).rename(team.folder / "elsewhere")
    (team.laptop / "notes.md").write_text("# Hosts\n\nOther words.\n")
    stats, said, embedded = team.index()
    assert stats.chunks_created == len(embedded) > 0
    assert len(said) <= 1


def test_an_s3_server_is_read_with_a_key_that_may_only_read(team: Team, s3: S3Server) -> None:
    team.store = f"{s3.bucket()}/shared"
    team.push()
    team.clone()
    for name, value in s3.environment(read_only=True).items():
        team.patch.setenv(name, value)
    (team.laptop / "server.py").write_text((team.ci / "server.py").read_text() + _EDIT)
    _, _, embedded = team.index()
    assert len(embedded) == 1


def test_a_folder_that_only_others_may_write_is_enough(team: Team) -> None:
    team.push()
    team.clone()
    for folder, _, files in os.walk(team.store, topdown=False):
        for file in files:
            os.chmod(os.path.join(folder, file), 0o444)
        os.chmod(folder, 0o555)
    _, _, embedded = team.index()
    assert embedded == []


def test_a_store_without_an_index_of_the_commit_is_asked_once(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    from sage_code.store.remote.objects import Objects

    os.makedirs(team.store)
    team.clone()
    asked = []
    real = Objects.get
    monkeypatch.setattr(Objects, "get", lambda *given: asked.append(given[1]) or real(*given))
    team.index()
    (team.laptop / "new.py").write_text("def of_my_own():\n    return 1\n")
    team.index()
    assert len(asked) == 1
