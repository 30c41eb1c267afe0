"""Memories and their code: `refs_check`, `stale`, `why`, and the memories that a search shows with a hit."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.memory.checkpoint_store import CheckpointStore
from sage_code.memory.code import attached
from sage_code.memory.code.capture import capture
from sage_code.memory.code.staleness import refs_check, stale, why
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.homes import homes
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.transcripts.code_context import FileInteraction, build_session_code_context


@pytest.fixture
def project(sample: Path) -> Project:
    opened = Project.open(sample)
    opened.index()
    return opened


def _save(project: Project, id_: str, thesis: str, file: str, lines: tuple[int, int] | None) -> None:
    read = FileInteraction(os.path.join(project.root, file), "read", "t", lines)
    refs = capture(project.root, build_session_code_context([read]))
    checkpoint = Checkpoint(id_, "2026-08-01T10:00:00Z", "How?", thesis, code_refs=refs)
    CheckpointStore(project.root, project.settings).save(checkpoint)


def _edit(project: Project, file: str, old: str, new: str) -> None:
    path = Path(project.root, file)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def _beside(project: Project) -> tuple[str, ...]:
    """The memories that a search shows with `connect` of the server."""
    return next(hit.memory for hit in project.search("connect").results if hit.file == "server.py")


def test_stale_lists_the_memories_whose_code_has_changed(project: Project) -> None:
    _save(project, "first", "Ports open late.", "server.py", (9, 11))
    _save(project, "second", "Hosts are reached in lists.", "server.py", (17, 19))
    assert stale(project.root) == []
    _edit(project, "server.py", "[host] * retries", "[host] * max(retries, 1)")
    _edit(project, "server.py", "LIMIT = 10\n", "LIMIT = 10\nMORE = 20\n")
    found = {one.memory.id: [state.state for state in one.states] for one in refs_check(project.root)}
    assert found == {"first": ["moved"], "second": ["changed"]}
    assert [one.memory.id for one in stale(project.root)] == ["second"]


def test_why_lists_the_memories_about_a_location(project: Project) -> None:
    _save(project, "first", "Ports open late.", "server.py", (9, 11))
    _save(project, "second", "Hosts are reached in lists.", "server.py", (17, 19))

    def asked(what: str) -> list[str]:
        return [one.memory.id for one in why(project.root, what)]

    assert asked("server.py:10") == ["first"]
    assert asked("Server.start") == ["first"]
    assert asked("start") == ["first"]
    assert asked("server.py") == ["second", "first"]
    assert asked("server.py:1") == []
    assert asked("nothing") == []
    os.rename(os.path.join(project.root, "server.py"), os.path.join(project.root, "listener.py"))
    assert asked("listener.py:10") == ["first"]
    assert asked("server.py:10") == ["first"]


def test_hits_carry_the_memories_about_their_code(project: Project) -> None:
    assert all(hit.memory == () for hit in project.search("connect").results)
    _save(project, "reach", "Hosts are reached in lists.", "server.py", (17, 19))
    hits = {hit.file: hit.memory for hit in project.search("connect").results}
    assert hits == {"server.py": ("reach: Hosts are reached in lists.",), "web/client.ts": ()}
    CheckpointStore(project.root, project.settings).remove("reach")
    assert all(hit.memory == () for hit in project.search("connect").results)


def test_a_memory_follows_its_code_into_another_file(project: Project) -> None:
    _save(project, "reach", "Hosts are reached in lists.", "server.py", (17, 19))
    text = Path(project.root, "server.py").read_text()
    start = text.index("def connect")
    Path(project.root, "server.py").write_text(text[:start])
    Path(project.root, "reach.py").write_text(text[start:])
    refs_check(project.root)
    hits = {hit.file: hit.memory for hit in project.search("connect").results}
    assert hits["reach.py"] == ("reach: Hosts are reached in lists.",)


def test_the_budget_counts_what_memories_say(project: Project) -> None:
    without = project.search("connect", max_tokens=60)
    _save(project, "reach", "word " * 24, "server.py", (17, 19))
    assert len(project.search("connect", max_tokens=60).results) <= len(without.results)
    assert _beside(project)


def test_knowledge_counts_like_checkpoints(project: Project) -> None:
    for scope in ("", "review"):
        read = FileInteraction(os.path.join(project.root, "server.py"), "read", "t", (17, 19))
        refs = capture(project.root, build_session_code_context([read]))
        item = KnowledgeItem(f"k{scope}", "Lists are slow.", keywords=("lists",), skill=scope, code_refs=refs)
        Memory(project.root, project.settings).save_knowledge(item)
        assert f"k{scope}: Lists are slow." in _beside(project)
    assert {one.memory.kind for one in why(project.root, "connect")} == {"knowledge"}
    _edit(project, "server.py", "[host] * retries", "[host] * 2")
    assert {one.memory.id for one in stale(project.root)} == {"k", "kreview"}


def test_only_changed_files_are_read_again(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        _save(project, f"m{number}", "Something.", "server.py", (17, 19))
    home = homes(project.root)[0]
    attached.refresh(home)
    seen: list[str] = []
    read = attached.read_memory

    def spy(home: attached.MemoryHome, path: str) -> object:
        seen.append(path)
        return read(home, path)

    monkeypatch.setattr(attached, "read_memory", spy)
    attached.refresh(home)
    assert seen == []
    _save(project, "m5", "Something.", "server.py", (17, 19))
    attached.refresh(home)
    assert seen == ["checkpoints/m5.md"]


def test_a_search_updates_the_map_within_a_time_and_the_next_one_continues(project: Project) -> None:
    for number in range(5):
        _save(project, f"m{number}", "Something.", "server.py", (17, 19))
    home = homes(project.root)[0]
    attached.refresh(home, seconds=-1)
    assert len(_beside(project)) == 5


def test_damaged_and_hostile_files_hide_nothing(project: Project, tmp_path: Path) -> None:
    _save(project, "good", "It is so.", "server.py", (17, 19))
    folder = Path(project.root, ".sage", "checkpoints")
    refs = ["../../etc/passwd", "/etc/passwd", "server.py"]
    head = "".join(f"- file: {ref}\n  lines: [17, 19]\n" for ref in refs)
    (folder / "odd.md").write_text(f"---\nid: odd\ncode_refs:\n{head}- 7\n- lines: x\n---\n# Odd\n")
    (folder / "broken.md").write_text("---\ncode_refs: [\n---\n")
    (folder / "tag.md").write_text("---\ncode_refs: !!python/object/apply:os.system [id]\n---\n")
    (folder / "link.md").symlink_to(tmp_path / "nowhere")
    (Path(homes(project.root)[0].derived) / "attached.jsonl").write_bytes(b"\x00garbage")
    found = {one.memory.id: [state.ref.file for state in one.states] for one in refs_check(project.root)}
    assert found == {"good": ["server.py"], "odd": ["server.py"]}
    assert {note.partition(":")[0] for note in _beside(project)} == {"good", "odd"}


def test_the_users_own_memories_count_for_their_project(project: Project) -> None:
    read = FileInteraction(os.path.join(project.root, "server.py"), "read", "t", (17, 19))
    refs = capture(project.root, build_session_code_context([read]))
    checkpoints = CheckpointStore(project.root, project.settings)
    mine = Checkpoint("mine", "2026-08-01T10:00:00Z", "How?", "So.", code_refs=refs, project=project.root)
    checkpoints.save(mine, scope="user")
    checkpoints.save(replace(mine, id="other", project="/elsewhere"), scope="user")
    assert [one.memory.id for one in refs_check(project.root)] == ["mine"]
