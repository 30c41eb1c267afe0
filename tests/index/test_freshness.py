"""Every answer is current: edited, new, deleted and renamed files are seen at once, or it is said that they are not."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.files import looking, stamps
from sage_code.files.locks import locked
from sage_code.files.looking import Looking
from sage_code.files.stamps import Notes
from sage_code.files.watch import Watch
from sage_code.index import freshness
from sage_code.paths import compiled_dir, index_lock, stamps_path

LIBRARY = "def spin(speed):\n    total = speed * 2\n    return total\n"
USER = "from library import spin\n\n\ndef drive(way):\n    return spin(way) + 1\n"
OTHERS = "from library import spin\n\n\ndef other(way):\n    return spin(way)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "library.py").write_text(LIBRARY)
    (root / "user.py").write_text(USER)
    (root / "others.py").write_text(OTHERS)
    return root


@pytest.fixture
def project(root: Path) -> Project:
    project = Project.open(root)
    project.index()
    return project


def said_if_same(root: str) -> str | None:
    """What was said after the last comparison, if nothing has changed since."""
    notes = Looking(root).notes()
    return notes.said if notes else None


def _settle(project: Project) -> None:
    """Wait until the files are old enough to be believed unchanged, and note that they are."""
    time.sleep(0.06)
    assert project.refresh() == ""
    assert said_if_same(project.root) == ""


# -- each question, in one shape: where its answers are, as (file, line) ------------------------------------------

Ask = Callable[[Project], list[tuple[str, int]]]


def _uses(relation: Any) -> Ask:
    return lambda project: [(use.file, use.line) for use in project.related("spin", relation).uses]


def _callees(project: Project) -> list[tuple[str, int]]:
    uses = project.related("drive", "callees").uses
    return [(use.definition.file, use.definition.symbol.line) for use in uses]  # type: ignore[union-attr]


def _similar(project: Project) -> list[tuple[str, int]]:
    at = project.locate("other")
    found = project.similar(at.file, at.start_line or 1) if at else []
    return [(one.chunk.file, one.chunk.line) for one in found if one.chunk.qualname == "drive"]


USERS: dict[str, Ask] = {
    "refs": _uses("references"),
    "callers": _uses("callers"),
    "impact": _uses("impact"),
}
DEFINITIONS: dict[str, Ask] = {
    "grep": lambda project: [(one["file"], one["line"]) for one in project.grep("spin")],
    "analyze": lambda project: [(one["file"], one["line"]) for one in project.analyze("spin")],
    "callees": _callees,
    "map": lambda project: [(one.file, one.line) for one in project.map().entries if one.qualname == "spin"],
}
_IN_USER = {
    "refs": {("user.py", 1), ("user.py", 5)},
    "callers": {("user.py", 5)},
    "impact": {("user.py", 1), ("user.py", 5)},
}


@pytest.mark.parametrize("ask", DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_definition_that_moves_is_seen_at_once(project: Project, root: Path, ask: Ask) -> None:
    assert ask(project) == [("library.py", 1)]
    (root / "library.py").write_text(f"# one line more\n{LIBRARY}")
    assert ask(project) == [("library.py", 2)]
    (root / "library.py").write_text(LIBRARY.replace("spin", "turn"))
    assert ask(project) == []
    (root / "library.py").write_text(LIBRARY)
    assert ask(project) == [("library.py", 1)]
    (root / "library.py").unlink()
    assert ask(project) == []
    (root / "sub").mkdir()
    (root / "sub" / "library.py").write_text(LIBRARY)
    expected = ("sub/library.py", 1)
    assert ask(project) in ([expected], [])  # a call does not find it there for certain
    assert [(one["file"], one["line"]) for one in project.grep("spin")] == [expected]


@pytest.mark.parametrize("name", USERS)
def test_a_use_that_moves_is_seen_at_once(project: Project, root: Path, name: str) -> None:
    def in_user() -> set[tuple[str, int]]:
        return {place for place in USERS[name](project) if place[0] != "others.py"}

    assert in_user() == _IN_USER[name]
    (root / "user.py").write_text(USER.replace("def", "\ndef"))
    assert in_user() == {(file, 6 if line == 5 else line) for file, line in _IN_USER[name]}
    os.rename(root / "user.py", root / "renamed.py")
    assert {file for file, _ in in_user()} == {"renamed.py"}
    (root / "renamed.py").unlink()
    assert in_user() == set()
    (root / "user.py").write_text(USER)
    assert in_user() == _IN_USER[name]


def test_similar_code_that_changes_is_seen_at_once(project: Project, root: Path) -> None:
    assert _similar(project) == [("user.py", 4)]
    (root / "user.py").write_text(USER.replace("def", "\n\ndef"))
    assert _similar(project) == [("user.py", 6)]
    os.rename(root / "user.py", root / "renamed.py")
    assert _similar(project) == [("renamed.py", 6)]
    (root / "renamed.py").unlink()
    assert _similar(project) == []
    assert project.duplicates() == []


def test_an_outline_is_that_of_the_file_as_it_is(project: Project, root: Path) -> None:
    (root / "library.py").write_text(LIBRARY.replace("spin", "turn"))
    assert [item.symbol.name for item in project.outline("library.py").items] == ["turn"]


# -- what moves no time stamp, and what decides about files -------------------------------------------------------


def test_an_edit_that_keeps_size_and_time_is_seen(project: Project, root: Path) -> None:
    _settle(project)
    before = (root / "library.py").stat()
    (root / "library.py").write_text(LIBRARY.replace("spin", "turn"))
    os.utime(root / "library.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (root / "library.py").stat().st_size == before.st_size
    assert project.grep("spin") == []
    assert len(project.grep("turn")) == 1


def test_edits_in_a_row_are_all_seen_however_fast_they_come(project: Project, root: Path) -> None:
    for number in range(12):
        (root / "library.py").write_text(LIBRARY.replace("spin", f"spin_{number:02}"))
        assert len(project.grep(f"spin_{number:02}")) == 1
        assert project.grep(f"spin_{number - 1:02}") == []


def test_a_file_that_was_empty_or_ignored_is_seen_when_it_is_not_any_more(root: Path) -> None:
    (root / "empty.py").touch()
    (root / "ignored.py").write_text("def hidden(): pass\n")
    (root / ".gitignore").write_text("ignored.py\n.gitignore\n")
    project = Project.open(root)
    project.index()
    _settle(project)
    (root / "empty.py").write_text("def filled(): pass\n")
    assert len(project.grep("filled")) == 1
    assert project.grep("hidden") == []
    _settle(project)
    (root / ".gitignore").write_text("nothing.py\n")
    assert len(project.grep("hidden")) == 1


def test_a_file_that_git_is_told_to_track_is_seen(root: Path, git: Callable[..., None]) -> None:
    (root / ".gitignore").write_text("ignored.py\n")
    (root / "ignored.py").write_text("def hidden(): pass\n")
    git(root, "init", "--quiet")
    project = Project.open(root)
    project.index()
    _settle(project)
    assert project.grep("hidden") == []
    git(root, "add", "--force", "ignored.py")
    assert len(project.grep("hidden")) == 1


def test_a_setting_that_excludes_files_counts_at_once(project: Project, root: Path) -> None:
    _settle(project)
    (root / ".sage" / "tuning.yaml").write_text("exclude: [library.py]\n")
    assert Project.open(root).grep("spin") == []
    assert len(Project.open(root, overrides={"exclude": ()}).grep("spin")) == 1
    assert Project.open(root).grep("spin") == []


def test_a_process_that_lives_on_reads_its_settings_again(project: Project, root: Path) -> None:
    """It compared with the old ones, and its notes said to all others that nothing had changed."""
    _settle(project)
    (root / ".sage" / "tuning.yaml").write_text("exclude: [library.py]\n")
    assert project.grep("spin") == []
    (root / ".sage" / "tuning.yaml").write_text("exclude: []\n")
    assert project.find_text("def spin")["files"] == 1
    assert len(project.grep("spin")) == 1


def test_a_new_file_in_a_folder_of_ignored_files_is_seen(root: Path, git: Callable[..., None]) -> None:
    """Git does not name such a folder: what is left of a deleted package."""
    (root / ".gitignore").write_text("__pycache__/\n")
    (root / "gone" / "deep" / "__pycache__").mkdir(parents=True)
    (root / "gone" / "deep" / "__pycache__" / "old.pyc").write_bytes(b"x")
    git(root, "init", "--quiet")
    project = Project.open(root)
    project.index()
    _settle(project)
    (root / "gone" / "deep" / "back.py").write_text("def back_again(): pass\n")
    assert len(project.grep("back_again")) == 1


@pytest.mark.parametrize("how", ["named", "included"])
def test_a_file_of_patterns_elsewhere_counts(root: Path, git: Callable[..., None], how: str) -> None:
    patterns, settings = root.parent / "patterns", root.parent / "settings"
    patterns.write_text("")
    settings.write_text(f"[core]\n\texcludesFile = {patterns}\n")
    git(root, "init", "--quiet")
    git(root, "config", *(("core.excludesFile", str(patterns)) if how == "named" else ("include.path", str(settings))))
    project = Project.open(root)
    project.index()
    _settle(project)
    patterns.write_text("library.py\n")
    assert project.grep("spin") == []


# -- when the index cannot be brought up to date ------------------------------------------------------------------


def test_many_changes_are_said_and_no_line_is_wrong(
    project: Project, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_FEW_CHANGES", 1)
    for name in ("library.py", "user.py"):
        (root / name).write_text("\n\n" + (root / name).read_text())
    assert project.refresh() == "2 files have changed since the index was made: run `sage index`"
    assert [one["line"] for one in project.grep("spin")] == [3]
    assert [one["line"] for one in project.analyze("spin")] == [3]
    assert {use.file for use in project.related("spin", "references").uses} == {"others.py"}
    assert project.related("drive", "callees").uses == ()
    assert [entry.file for entry in project.map().entries] == []
    assert _similar(project) == []
    (root / "library.py").write_text("")
    assert project.grep("spin") == []
    project.index()
    assert project.refresh() == ""


def test_what_is_said_is_kept_until_a_file_changes(
    project: Project, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_FEW_CHANGES", 0)
    (root / "library.py").write_text(f"\n{LIBRARY}")
    time.sleep(0.06)
    said = "1 files have changed since the index was made: run `sage index`"
    assert project.refresh() == said
    assert said_if_same(str(root)) == said
    (root / "library.py").write_text(LIBRARY)
    assert said_if_same(str(root)) is None


def test_no_answer_waits_for_another_process_that_indexes(project: Project, root: Path) -> None:
    (root / "library.py").write_text(f"\n{LIBRARY}")
    with locked(index_lock(str(root))):
        assert "being indexed right now" in project.refresh()
        assert [one["line"] for one in project.grep("spin")] == [2]
    assert project.refresh() == ""


def test_a_grep_beside_an_indexer_ends_with_1_only_if_it_says_why(
    sage: Callable[..., Any], project: Project, root: Path
) -> None:
    """After many changes it ends with 1, since nothing of that name is left; the last index still answers."""
    where = ("--project", str(root), "--json")
    for number in range(30):
        (root / f"more_{number}.py").write_text(f"def revision_{number}(): pass\n")
    project.index()
    for number in range(30):
        (root / f"more_{number}.py").write_text(f"def other_{number}(): pass\n")
    with locked(index_lock(str(root))):
        outcome = sage("grep", "revision", "--prefix", *where)
        assert (outcome.code, json.loads(outcome.out)["matches"]) == (1, [])
        assert json.loads(outcome.out)["note"].startswith("30 files have changed since the index was made")
        outcome = sage("grep", "revision", "--prefix", "--no-refresh", *where)
        assert (outcome.code, len(json.loads(outcome.out)["matches"])) == (0, 30)
        (root / "more_0.py").write_text("def revision_0(): pass\n")
        assert [one["file"] for one in json.loads(sage("grep", "revision_0", *where).out)["matches"]] == ["more_0.py"]


def test_a_question_without_refresh_answers_from_the_last_index(project: Project, root: Path) -> None:
    (root / "library.py").write_text(f"\n{LIBRARY}")
    assert [one["line"] for one in project.grep("spin", refresh=False)] == [1]
    assert project.grep("spin")[0]["line"] == 2


# -- the commands -------------------------------------------------------------------------------------------------

COMMANDS = ["grep", "analyze", "refs", "callers", "callees", "impact"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_sees_a_new_file_and_says_what_it_does_not_see(
    sage: Callable[..., Any], project: Project, root: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "new.py").write_text("def fresh():\n    return stale()\n\n\ndef stale():\n    return fresh()\n")
    where = ("--project", str(root))
    assert sage(command, "fresh", *where, "--no-refresh").code == 1
    assert sage(command, "fresh", *where, "--no-refresh").err.startswith("no symbol fresh")
    assert "new.py" in sage(command, "fresh", *where).out
    monkeypatch.setattr(freshness, "_FEW_CHANGES", 0)
    (root / "library.py").write_text(f"\n{LIBRARY}")
    outcome = sage(command, "fresh", *where)
    assert "new.py" in outcome.out
    assert outcome.err.startswith("sage: 1 files have changed since the index was made")
    assert json.loads(sage(command, "fresh", *where, "--json").out)["note"].startswith("1 files have changed")


@pytest.mark.parametrize("words", [["map"], ["similar", "spin"], ["similar", "--duplicates"]], ids=" ".join)
def test_map_and_similar_say_what_they_do_not_see(
    sage: Callable[..., Any], project: Project, root: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_FEW_CHANGES", 0)
    (root / "others.py").write_text(f"\n{OTHERS}")
    assert "1 files have changed" in sage(*words, "--project", str(root)).err
    assert "note" in json.loads(sage(*words, "--project", str(root), "--json").out)
    assert "note" not in json.loads(sage(*words, "--project", str(root), "--json", "--no-refresh").out)


# -- the notes ----------------------------------------------------------------------------------------------------


def test_damaged_and_foreign_notes_are_not_believed(project: Project, root: Path) -> None:
    _settle(project)
    path = Path(stamps_path(str(root)))
    whole = path.read_bytes()
    for damage in (b"", b"\n", whole[:-3], whole[: len(whole) // 2], whole[:40] + b"x" + whole[41:], b"\xff" * 500):
        path.write_bytes(damage)
        assert said_if_same(str(root)) is None
    path.write_bytes(whole)
    assert said_if_same(str(root)) == ""
    generation = os.path.basename(os.path.realpath(compiled_dir(str(root)))).encode()
    path.write_bytes(whole.replace(generation, generation[:-1] + b"_"))
    assert said_if_same(str(root)) is None
    assert project.grep("spin")[0]["line"] == 1


def test_a_variable_that_may_change_the_files_is_noticed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    _settle(project)
    monkeypatch.setenv("SAGE_EXCLUDE", "library.py")
    assert said_if_same(project.root) is None
    assert Project.open(project.root).grep("spin") == []


# -- a large project ----------------------------------------------------------------------------------------------


@pytest.fixture
def large(root: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project of which `sage grep` looks at the folders and at four files, those that changed last."""
    monkeypatch.setattr(stamps, "FIRST_LOOKS", 6)
    (root / "old").mkdir()
    for number in range(10):
        (root / "old" / f"file_{number}.py").write_text(f"def number_{number}(): pass\n")
    time.sleep(0.06)
    for name in ("library.py", "user.py", "others.py"):
        os.utime(root / name)
    project = Project.open(root)
    project.index()
    _settle(project)
    return project


def test_a_grep_in_a_large_project_says_that_it_has_not_looked_at_every_file(
    sage: Callable[..., Any], large: Project
) -> None:
    where = ("--project", large.root)
    outcome = sage("grep", "spin", *where)
    assert outcome.code == 0
    assert outcome.err == "sage: 9 files were not looked at for changes: --refresh looks at all\n"
    assert json.loads(sage("grep", "spin", *where, "--json").out)["note"].startswith("9 files were not looked at")
    assert sage("grep", "spin", *where, "--refresh").err == ""
    assert sage("grep", "spin", *where, "--no-refresh").err == ""


def test_a_grep_in_a_large_project_looks_at_what_it_shows(sage: Callable[..., Any], large: Project, root: Path) -> None:
    (root / "old" / "file_0.py").write_text("\n\ndef number_0(): pass\n")  # in place: its folder does not change
    outcome = sage("grep", "number_0", "--project", large.root)
    assert "file_0.py:3" in outcome.out
    assert outcome.err == ""


@pytest.mark.parametrize("path", ["old/file_1.py", "library.py", "new.py", "old/new.py"])
def test_a_grep_in_a_large_project_finds_what_is_new(
    sage: Callable[..., Any], large: Project, root: Path, path: str
) -> None:
    with (root / path).open("a") as file:
        file.write("\n\ndef newcomer(): pass\n")
    outcome = sage("grep", "newcomer", "--project", large.root)
    assert path in outcome.out
    assert outcome.err == ""


def test_a_grep_in_a_large_project_looks_at_every_file_before_it_finds_nothing(
    sage: Callable[..., Any], large: Project, root: Path
) -> None:
    (root / "old" / "file_2.py").write_text("def another(): pass\n")
    assert sage("grep", "number_2", "--project", large.root).code == 1
    (root / "old" / "file_3.py").unlink()
    assert sage("grep", "number_3", "--project", large.root).code == 1


# -- watching -----------------------------------------------------------------------------------------------------

needs_inotify = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="inotify is of Linux")


@needs_inotify
@pytest.mark.parametrize("change", ["edit", "add", "delete", "rename", "touch", "below", "folder"])
def test_a_watch_sees_every_kind_of_change(project: Project, root: Path, change: str) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "deep.py").write_text("def deep(): pass\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "run.log").touch()
    _settle(project)
    watch = Watch(Notes(str(root)))
    assert watch.knows(Notes(str(root)))
    assert watch.knows(Notes(str(root)))
    (root / "run.log").write_text("a line\n")  # ignored, like what a build writes again and again
    assert watch.knows(Notes(str(root)))
    if change == "edit":
        (root / "library.py").write_text(LIBRARY)
    elif change == "add":
        (root / "new.py").touch()
    elif change == "delete":
        (root / "user.py").unlink()
    elif change == "rename":
        os.rename(root / "user.py", root / "renamed.py")
    elif change == "touch":
        os.utime(root / "user.py", (1, 1))
    elif change == "below":
        (root / "sub" / "deep.py").write_text("def deeper(): pass\n")
    else:
        os.rename(root / "sub", root / "bus")
    assert not watch.is_quiet()
    assert not watch.knows(Notes(str(root)))
    with pytest.raises(OSError, match=r"changed meanwhile|cannot be watched|No such file"):
        Watch(Notes(str(root)))


@needs_inotify
def test_a_process_that_asks_again_watches_and_misses_nothing(
    project: Project, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "_WORTH_WATCHING", 0)
    project.search("spin")
    _settle(project)
    for _ in range(2):  # the first looks at notes that may be the first it sees, the second then begins to watch
        project.refresh()
    with monkeypatch.context() as patch:
        patch.setattr(stamps.Notes, "are_same", lambda _: pytest.fail("looked at every file"))
        assert project.refresh() == ""
    (root / "library.py").write_text(f"\n{LIBRARY}")
    assert project.grep("spin")[0]["line"] == 2
    os.link(root / "library.py", root.parent / "elsewhere.py")
    assert project.grep("spin")[0]["line"] == 2
    time.sleep(0.06)
    project.refresh()
    (root.parent / "elsewhere.py").write_text(LIBRARY)  # no event in a watched folder
    assert project.grep("spin")[0]["line"] == 1
