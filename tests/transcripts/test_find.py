"""Which transcripts belong to a project: by name, and by what they say themselves."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sage_code.transcripts.code_context import session_context
from sage_code.transcripts.find import all_transcripts, find_active_transcript, find_transcripts, slug


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claude Code's folder of projects, empty."""
    for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_PROJECT_DIR_NAME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "claude" / "projects"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "my_app.v2"
    (folder / ".git").mkdir(parents=True)
    return folder


def _session(folder: Path, cwd: str | Path, name: str = "s1", age: int = 0) -> str:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.jsonl"
    head = [{"type": "file-history-snapshot", "snapshot": {}}, {"type": "user", "cwd": str(cwd), "message": {}}]
    path.write_text("".join(json.dumps(record) + "\n" for record in head))
    os.utime(path, (1_700_000_000 - age, 1_700_000_000 - age))
    return str(path)


def test_every_character_but_letters_and_digits_is_a_dash(tmp_path: Path) -> None:
    assert slug("/home/me/my_app.v2") == "-home-me-my-app-v2"
    assert slug("/x/ä b/日本") == "-x---b---"
    assert slug("/x/e\u0301") == "-x--"  # composed first
    assert slug("/x/🦉") == "-x---"  # JavaScript counts two


def test_the_newest_session_of_the_project(projects: Path, root: Path) -> None:
    old = _session(projects / slug(str(root)), root, "old", age=100)
    new = _session(projects / slug(str(root)), root, "new")
    assert list(find_transcripts(str(root))) == [new, old]
    assert find_active_transcript(str(root)) == new


def test_projects_with_the_same_slug_are_distinguished_by_their_records(projects: Path, root: Path) -> None:
    _session(projects / slug(str(root)), root.parent / "my-app-v2", "other")
    assert find_active_transcript(str(root)) is None
    own = _session(projects / slug(str(root)), root, "own", age=100)
    assert find_active_transcript(str(root)) == own


def test_sessions_below_the_root_count_and_those_of_inner_projects_do_not(projects: Path, root: Path) -> None:
    (root / "src").mkdir()
    (root / "inner" / ".git").mkdir(parents=True)
    below = _session(projects / slug(str(root / "src")), root / "src")
    _session(projects / slug(str(root / "inner")), root / "inner")
    assert list(find_transcripts(str(root))) == [below]


def test_a_long_name_is_cut_and_hashed(projects: Path, tmp_path: Path) -> None:
    root = tmp_path / ("x" * 150) / ("y" * 150)
    root.mkdir(parents=True)
    own = _session(projects / f"{slug(str(root))[:200]}-1a2b3c", root)
    assert list(find_transcripts(str(root))) == [own]


def test_the_running_session_is_known_by_its_id(projects: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _session(projects / slug(str(root)), root, "newest")
    running = _session(projects / "-elsewhere", "/elsewhere", "5e55-10", age=500)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "5e55-10")
    assert find_active_transcript(str(root)) == running
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "../../etc/passwd")
    assert find_active_transcript(str(root)) != running


def test_a_project_folder_with_a_given_name(projects: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _session(projects / "named", root)
    assert find_active_transcript(str(root)) is None
    monkeypatch.setenv("CLAUDE_CODE_PROJECT_DIR_NAME", "named")
    assert find_active_transcript(str(root)) == own


@pytest.mark.skipif(os.name == "nt", reason="links of POSIX")
def test_links_are_no_transcripts(projects: Path, root: Path, tmp_path: Path) -> None:
    elsewhere = _session(tmp_path / "elsewhere", root)
    folder = projects / slug(str(root))
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(elsewhere)
    (projects / f"{slug(str(root))}-linked").symlink_to(tmp_path / "elsewhere")
    assert list(find_transcripts(str(root))) == []
    assert list(all_transcripts()) == []


def test_without_a_folder_there_are_no_transcripts(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nothing"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "nothing"))
    assert session_context(str(root)) is None


def test_the_context_of_the_newest_session(projects: Path, root: Path) -> None:
    path = Path(_session(projects / slug(str(root)), root))
    calls = [("t1", "Read", "a.py"), ("t2", "Edit", "b.py"), ("t3", "Write", "c.py")]
    with path.open("a") as file:
        for number, tool, name in calls:
            block = {"type": "tool_use", "id": number, "name": tool, "input": {"file_path": str(root / name)}}
            file.write(json.dumps({"type": "assistant", "message": {"content": [block]}}) + "\n")
            block = {"type": "tool_result", "tool_use_id": number, "content": "ok"}
            file.write(json.dumps({"type": "user", "message": {"content": [block]}}) + "\n")
    context = session_context(str(root))
    assert context is not None
    assert context.files_read == {str(root / "a.py")}
    assert context.files_changed == {str(root / "b.py"), str(root / "c.py")}
    assert context.files_read | context.files_changed == {str(root / name) for _, _, name in calls}
    assert [one.action for one in context.interactions] == ["read", "edit", "write"]
