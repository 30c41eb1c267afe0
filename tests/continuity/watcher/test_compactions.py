"""The watcher sees a compaction in the transcripts of both agents, once, and saves what was said before."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from sage_code.continuity.queue import queued
from sage_code.continuity.session import ANSWERED, PENDING, Session
from sage_code.continuity.watcher import daemon, process
from sage_code.continuity.watcher.journal import Journal, log_tail, read_notes
from sage_code.continuity.watcher.sessions import is_named_like_one, look, places, root_of, session_of

from .conftest import SESSION, Agent, kill, until

OTHER = "22222222-2222-4222-8222-222222222222"


@contextmanager
def watching() -> Iterator[None]:
    """A watcher in this process, which is quicker to start; it has seen what is there when the block begins."""
    stop, is_up = threading.Event(), threading.Event()
    made = daemon.Watcher(Journal(), stop)
    thread = threading.Thread(target=made.run, args=(is_up.set,))
    thread.start()
    try:
        assert is_up.wait(60)
        yield
    finally:
        stop.set()
        thread.join()


def _checkpoints(home: Path) -> list[Path]:
    return sorted((home / ".sage/checkpoints").glob("*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("codex", [False, True])
def test_a_compaction_is_pending_and_its_checkpoint_saved(home: Path, codex: bool) -> None:
    agent = Agent(home, home / "work/app", codex=codex)
    agent.begin()
    process.start()
    try:
        agent.talk()
        agent.compact("c1")
        until(lambda: agent.compaction() == ("c1", PENDING), "the marker")
        until(agent.is_recovered, "the checkpoint")
    finally:
        process.stop()
    assert os.path.samefile(agent.state()["transcript"], agent.path)
    (saved,) = _checkpoints(home)
    assert "trigger: precompact" in saved.read_text()
    assert queued(str(agent.root), agent.session, []) == [(saved.stem, True)]
    assert saved.stat().st_mode & 0o077 == 0


def test_a_transcript_that_appears_later_in_a_folder_that_appears_later(home: Path) -> None:
    with watching():
        for codex in (False, True):
            agent = Agent(home, home / f"work/app{codex}", codex=codex)
            agent.begin()
            agent.talk()
            agent.compact()
            until(lambda agent=agent: agent.compaction() == ("c1", PENDING), "the marker")


def test_a_summary_without_a_boundary_also_as_blocks(agent: Agent) -> None:
    with watching():
        agent.write(agent.summary("s1", blocks=True))
        until(lambda: agent.compaction() == ("s1", PENDING), "the marker")
        agent.write(agent.boundary("c2"), agent.summary("s2", blocks=True))
        until(lambda: agent.compaction() == ("c2", PENDING), "the second marker")
        until(lambda: any("continued from" in line for line in log_tail(20)), "the log")


def test_a_line_that_is_half_written_counts_when_it_is_whole(agent: Agent) -> None:
    line = json.dumps(agent.boundary("c1"))
    with watching():
        with agent.path.open("a") as file:
            file.write(line[:60])
            file.flush()
            until(lambda: agent.state().get("seen"), "the first look")
            file.write(line[60:])
            file.flush()
            assert agent.compaction() is None
            file.write("\n")
        until(lambda: agent.compaction() == ("c1", PENDING), "the marker")


def test_a_line_that_was_half_written_before_the_start(agent: Agent) -> None:
    line = json.dumps(agent.boundary("c1"))
    with agent.path.open("a") as file:
        file.write(line[:90])
    with watching():
        with agent.path.open("a") as file:
            file.write(line[90:] + "\n")
        until(lambda: agent.compaction() == ("c1", PENDING), "the marker")


def test_a_huge_line_is_skipped_and_the_next_one_seen(agent: Agent) -> None:
    with watching():
        with agent.path.open("a") as file:
            file.write('{"type":"user","isCompactSummary":true,"uuid":"huge","message":{"content":"')
            for _ in range(11):
                file.write("x" * (1 << 20))
            file.write('"}}\n')
        agent.compact("c1")
        until(lambda: agent.compaction() == ("c1", PENDING), "the marker")


def test_what_was_there_before_the_watcher_is_not_news(agent: Agent) -> None:
    agent.compact("old")
    with watching():
        agent.talk(1)
        until(lambda: agent.state().get("transcript"), "the state")
        agent.talk(1)
        agent.compact("new")
        until(lambda: agent.compaction() == ("new", PENDING), "the marker")
        assert agent.state()["compaction"]["n"] == 1


def test_a_session_that_begins_with_a_copy_of_another_one(home: Path, agent: Agent) -> None:
    agent._began -= timedelta(days=1)
    agent.compact("copied")
    fork = Agent(home, agent.root, OTHER)
    with watching():
        shutil.copyfile(agent.path, fork.path)
        fork.talk(1)
        until(lambda: fork.state().get("seen"), "the state")
        assert fork.compaction() is None
        fork.compact("own")
        until(lambda: fork.compaction() == ("own", PENDING), "the marker")
        assert fork.state()["compaction"]["n"] == 1


def test_a_compaction_while_no_watcher_ran_is_seen_in_a_session_that_is_known(home: Path, agent: Agent) -> None:
    with watching():
        agent.talk(1)
        until(lambda: agent.state().get("transcript"), "the state")
        later = Agent(home, agent.root, OTHER)
        later.begin()
        until(lambda: later.state().get("transcript"), "the state")
    for one in (agent, later):
        one.compact("c1")
        assert one.compaction() is None
    with watching():
        for one in (agent, later):
            until(lambda one=one: one.compaction() == ("c1", PENDING), "the marker")


def test_the_newest_of_several_counts_and_an_answered_one_is_left_alone(agent: Agent) -> None:
    with watching():
        agent.write(agent.boundary("c1"), agent.summary("s1"), agent.boundary("c2"), agent.summary("s2"))
        until(lambda: agent.compaction() == ("c2", PENDING), "the marker")
    agent.compact("c3")
    with Session(agent.session, str(agent.root)) as state:
        state.data["compaction"] = {"n": 3, "id": "c3", "state": ANSWERED}
    with watching():
        until(lambda: any("has answered it" in line for line in log_tail(20)), "the log")
    assert agent.compaction() == ("c3", ANSWERED)
    assert not agent.is_recovered("c3")


def test_little_said_saves_no_checkpoint_but_the_marker_is_written(home: Path) -> None:
    agent = Agent(home, home / "work/app")
    agent.begin()
    with watching():
        agent.compact()
        until(agent.is_recovered, "the decision")
    assert agent.compaction() == ("c1", PENDING)
    assert not _checkpoints(home)


def test_the_threshold_of_plugins_yaml_decides_what_is_little(home: Path) -> None:
    (home / ".sage").mkdir()
    (home / ".sage/plugins.yaml").write_text("plugins:\n  recovery:\n    settings:\n      salience_threshold: 0\n")
    agent = Agent(home, home / "work/app")
    agent.write(agent.record("user", "Use sqlite for the cache."), agent.record("assistant", "I decided on sqlite."))
    with watching():
        agent.compact()
        until(agent.is_recovered, "the decision")
    assert len(_checkpoints(home)) == 1


@pytest.mark.parametrize(
    ("text", "marker", "checkpoint"),
    [("continuity_enabled: false\n", False, False), ("capture_checkpoints: false\n", True, False)],
)
def test_settings_are_obeyed(home: Path, agent: Agent, text: str, marker: bool, checkpoint: bool) -> None:
    (agent.root / ".sage").mkdir()
    (agent.root / ".sage/tuning.yaml").write_text(text)
    witness = Agent(home, home / "work/witness", OTHER)
    witness.begin()
    with watching():
        agent.compact()
        witness.compact()
        until(witness.is_recovered, "another session")
        if marker:
            until(agent.is_recovered, "the decision")
    assert (agent.compaction() is not None) == marker
    assert bool(_checkpoints(home)) == checkpoint
    if not marker:
        assert not list((home / ".sage/continuity/sessions").glob(f"{SESSION}*"))


def test_a_setting_that_changes_while_a_session_is_followed(home: Path, agent: Agent) -> None:
    witness = Agent(home, home / "work/witness", OTHER)
    witness.begin()
    with watching():
        agent.talk(1)
        until(lambda: agent.state().get("transcript"), "the state")
        (home / ".sage/tuning.yaml").write_text("")
        (agent.root / ".sage").mkdir()
        (agent.root / ".sage/tuning.yaml").write_text("continuity_enabled: false\n")
        agent.compact()
        witness.compact()
        until(witness.is_recovered, "another session")
    assert agent.compaction() is None


def test_a_home_folder_is_no_project(home: Path, agent: Agent) -> None:
    lost = Agent(home, home, OTHER)
    shutil.rmtree(home / ".git")
    lost.begin()
    with watching():
        lost.compact()
        agent.compact()
        until(agent.is_recovered, "another session")
    assert not list((home / ".sage/continuity/sessions").glob(f"{OTHER}*"))


def test_links_out_of_the_folders_are_not_followed(home: Path, agent: Agent, tmp_path: Path) -> None:
    outside = Agent(tmp_path, home / "work/other", OTHER)
    outside.begin()
    outside.talk()
    projects = home / ".claude/projects"
    (projects / "linked").symlink_to(outside.path.parent)
    (projects / "app" / outside.path.name).symlink_to(outside.path)
    with watching():
        (projects / "later").symlink_to(outside.path.parent)
        outside.compact()
        agent.compact()
        until(agent.is_recovered, "another session")
    assert outside.compaction() is None
    found = look(places())
    assert list(found.files) == [str(agent.path)]
    assert not any("linked" in folder or "later" in folder for folder in found.folders)


def test_sessions_and_projects_of_transcripts(home: Path, agent: Agent) -> None:
    assert session_of(str(agent.path)) == SESSION
    assert root_of(str(agent.path)) == str(agent.root)
    codex = Agent(home, agent.root, OTHER, codex=True)
    codex.begin()
    assert (session_of(str(codex.path)), root_of(str(codex.path))) == (OTHER, str(agent.root))
    unnamed = codex.path.rename(codex.path.with_name("rollout-old.jsonl"))
    assert session_of(str(unnamed)) == OTHER  # from its first line
    empty = agent.path.with_name(f"{OTHER}.jsonl")
    empty.touch()
    assert root_of(str(empty)) is None
    assert not is_named_like_one("agent-12.jsonl")
    assert not is_named_like_one("notes.md")
    subagents = agent.path.with_suffix("") / "subagents"
    subagents.mkdir(parents=True)
    (subagents / f"{OTHER}.jsonl").touch()
    assert str(subagents / f"{OTHER}.jsonl") not in look(places()).files


def test_a_new_checkpoint_is_queued_for_its_project(home: Path, agent: Agent) -> None:
    folder = home / ".sage/checkpoints"
    folder.mkdir(parents=True)
    now = "2099-01-01T00:00:00Z"  # a time to come counts as now
    text = f"---\nid: ID\nts: '{now}'\nproject: {agent.root}\nsession: S\n---\nText\n"
    (folder / "before.md").write_text(text)
    with watching():
        until(lambda: queued(str(agent.root), "", []), "the queue")
        (folder / "later.md").write_text(text)
        (folder / "broken.md").write_text("---\n&a [\n---\n")
        (folder / "link.md").symlink_to(agent.path)
        until(lambda: len(queued(str(agent.root), "", [])) == 2, "the queue")
        own = agent.root / ".sage/checkpoints"
        own.mkdir(parents=True)
        agent.talk(1)  # a project is watched once a session works in it
        until(lambda: agent.state().get("transcript"), "the state")
        (own / "shared.md").write_text(f"---\nid: shared\nsession: {SESSION}\n---\nText\n")
        until(lambda: len(queued(str(agent.root), "", [])) == 3, "the queue")
    found = dict(queued(str(agent.root), SESSION, []))
    assert found == {"before": False, "later": False, "shared": False}  # a shared file is no session's own


def test_without_reports_of_the_system_it_looks_by_itself(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles._rust_notify

    def refuse(*_: object) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watchfiles._rust_notify, "RustNotify", refuse)
    with watching():
        agent.compact()
        until(lambda: agent.compaction() == ("c1", PENDING), "the marker")
        until(lambda: read_notes().get("watching") == "polling", "the notes")
        assert "watch limit" in read_notes()["last_error"]["text"]


@pytest.mark.slow
def test_killed_during_work_nothing_is_lost(home: Path, agent: Agent) -> None:
    """The child of a killed watcher ends too, and the next watcher goes on where it was killed."""
    first, _ = process.start()
    agent.talk(1)
    agent.compact()
    until(lambda: agent.compaction() == ("c1", PENDING), "the marker")
    children = _children(first.pid)  # the checkpoint is being saved, or is done
    kill(first)
    until(lambda: not any(process.birth_of(child) for child in children), "the child")
    second, is_new = process.start()
    try:
        assert is_new
        assert second.pid != first.pid
        until(agent.is_recovered, "the checkpoint")
    finally:
        process.stop()
    assert len(_checkpoints(home)) == 1
    assert agent.compaction() == ("c1", PENDING)


def _children(pid: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]
