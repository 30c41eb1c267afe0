"""Followed sessions come into recall memory: each message once, at the end, before a compaction, also after a crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playing import Machine, Played
from records import Call

from sage_code.continuity import remembering
from sage_code.continuity.log import last_lines
from sage_code.continuity.remembering import is_behind, remember
from sage_code.continuity.session import Session
from sage_code.memory.tiers.importing import import_files
from sage_code.memory.tiers.opened import opened_recall
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.progress import Silent
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from conftest import Talk


def _recall(machine: Machine) -> RecallMemory:
    return opened_recall(Settings(), str(machine.sage / "memory" / "memory.db"))


def _said(machine: Machine, session: str) -> list[tuple[str, str]]:
    """What is remembered of a session, without calls of tools."""
    machine.settle()
    recall = _recall(machine)
    try:
        return [(one.role, one.content) for one in recall.messages(session) if one.role != "tool"]
    finally:
        recall.engine.close()


def _log(machine: Machine) -> str:
    path = machine.sage / "continuity" / "log"
    return path.read_text() if path.exists() else ""


def test_a_session_is_remembered_at_its_end(machine: Machine) -> None:
    session = Played(machine, machine.project())
    session.start()
    session.turn("Which queue?", "Kafka, for the order.", [Call("Bash", {"command": "make"}, "ok")])
    session.end()
    assert _said(machine, session.id) == [("user", "Which queue?"), ("assistant", "Kafka, for the order.")]
    recall = _recall(machine)
    (found,) = recall.sessions()
    assert (found.project, found.title) == (str(session.cwd), "Which queue?")
    with recall.engine.reading() as rows:
        assert rows.one("SELECT COUNT(*) FROM unembedded") == (3,)  # vectors are made by a search
    assert _log(machine) == ""


def test_before_a_compaction_and_once_each(machine: Machine) -> None:
    session = Played(machine, machine.project())
    session.start()
    session.turn("Which queue?", "Kafka, for the order.")
    session.compact()
    before = _said(machine, session.id)
    assert before[:2] == [("user", "Which queue?"), ("assistant", "Kafka, for the order.")]
    session.turn("And the topic?", "One for each shop.")
    session.end()
    said = _said(machine, session.id)
    assert [role for role, _ in said] == ["user", "assistant", "summary", "user", "assistant"]
    recall = _recall(machine)
    report = import_files([str(session.transcript.path)], recall, Silent(), again=True)
    assert (report.messages, report.known) == (0, 5)


def test_what_sage_gave_is_not_remembered(machine: Machine) -> None:
    root = machine.project()
    first = Played(machine, root)
    first.start()
    first.turn("We use Kafka because the order within a key matters.", "I decided to use Kafka.")
    first.compact()
    first.prompt("go on")
    first.end()
    assert first.briefs
    assert not any("sage-brief" in text for _, text in _said(machine, first.id))


def test_a_crashed_session_is_remembered_by_the_next_one(machine: Machine) -> None:
    root = machine.project()
    crashed = Played(machine, root)
    crashed.start()
    crashed.turn("Keep the retries in one place.", "They are in send now.")
    _age(machine)
    fresh = Played(machine, root)
    fresh.start()
    assert ("user", "Keep the retries in one place.") in _said(machine, crashed.id)


def test_a_fork_has_what_is_its_own(machine: Machine) -> None:
    session = Played(machine, machine.project())
    session.start()
    session.turn("Which queue?", "Kafka.")
    session.end()
    machine.settle()
    fork = session.fork()
    fork.turn("And the topic?", "One for each shop.")
    fork.end()
    assert _said(machine, fork.id) == [("user", "And the topic?"), ("assistant", "One for each shop.")]
    assert len(_said(machine, session.id)) == 2


@pytest.mark.parametrize("switch", ["remember_conversations", "continuity_enabled"])
@pytest.mark.parametrize("where", ["user", "project"])
def test_a_switch_turns_it_off(machine: Machine, switch: str, where: str) -> None:
    root = machine.project()
    folder = machine.sage if where == "user" else root / ".sage"
    folder.mkdir(parents=True)
    (folder / "tuning.yaml").write_text(f"{switch}: false\n")
    session = Played(machine, root)
    session.start()
    session.turn("Which queue?", "Kafka.")
    session.compact()
    session.end()
    machine.settle()
    assert not (machine.sage / "memory").exists()


def test_it_works_without_checkpoints(machine: Machine) -> None:
    machine.sage.mkdir(parents=True)
    (machine.sage / "tuning.yaml").write_text("capture_checkpoints: false\n")
    session = Played(machine, machine.project())
    session.start()
    session.turn("Which queue?", "Kafka.")
    session.end()
    assert len(_said(machine, session.id)) == 2
    assert machine.checkpoints() == {}


def test_a_database_that_fails_breaks_no_save(machine: Machine) -> None:
    machine.sage.mkdir(parents=True)
    (machine.sage / "memory").write_text("not a folder")
    session = Played(machine, machine.project())
    session.start()
    session.turn("We use Kafka because the order within a key matters.", "I decided to use Kafka.")
    session.turn("Do not add a dependency.", "I decided to use the standard library.")
    session.end()
    machine.settle()
    assert len(machine.checkpoints()) == 1
    assert "remembering" in _log(machine)


def test_no_numpy_and_nothing_twice(talk: Talk) -> None:
    talk.work()
    program = (
        "import sys; from sage_code.continuity.remembering import remember;"
        f"print(remember('s1', {str(talk.root)!r}), 'numpy' in sys.modules, 'typer' in sys.modules)"
    )
    _state(talk)
    assert _run(program) == "8 False False"
    assert _run(program) == "0 False False"
    talk.user("One more thing.")
    assert _run(program) == "1 False False"
    state = Session("s1", str(talk.root)).loaded()
    assert not is_behind(state)
    with Session("s1", str(talk.root)) as lost:
        lost.forget()
        lost.data["transcript"] = str(talk.path)
    assert _run(program) == "0 False False"


def test_seldom_leaves_it_to_the_next_one(talk: Talk) -> None:
    talk.work()
    _state(talk)
    root = str(talk.root)
    assert remember("s1", root, seldom=True) == 8
    talk.user("One more thing.")
    assert remember("s1", root, seldom=True) == 0
    with Session("s1", root) as state:
        state.data["remembered_at"] -= remembering.SELDOM_S
    assert remember("s1", root, seldom=True) == 1


def test_a_long_transcript_is_read_in_steps(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        talk.user(f"Request {number}")
    _state(talk)
    monkeypatch.setattr(remembering, "_MAX_BYTES", 4_000)
    counts = []
    while is_behind(Session("s1", str(talk.root)).loaded()):
        counts.append(remember("s1", str(talk.root)))
        assert counts[-1] > 0
    assert sum(counts) == 50
    assert len(counts) > 2


def test_subagents_are_remembered_with_their_session(talk: Talk) -> None:
    talk.work()
    part = talk.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    part.parent.mkdir(parents=True)
    message = {"role": "assistant", "content": [{"type": "text", "text": "It is in report.py."}]}
    record = {"type": "assistant", "isSidechain": True, "agentId": "a1", "sessionId": "s1", "message": message}
    part.write_text(json.dumps({**record, "timestamp": "2026-11-17T10:00:30.000Z", "uuid": "x"}) + "\n")
    _state(talk)
    assert remember("s1", str(talk.root)) == 9


def test_the_child_of_the_watcher_remembers(talk: Talk, recall: RecallMemory) -> None:
    from sage_code.continuity.watcher.recovery import save

    talk.work()
    task = {"session": "s1", "root": str(talk.root), "transcript": str(talk.path), "salience_threshold": 0.5}
    assert save({**task, "compaction": ""}) == {"remembered": 8}
    talk.compaction("c1")
    done = save({**task, "compaction": "c1"})
    assert done["checkpoint"]
    assert done["remembered"] == 1
    assert recall.count() == 9
    assert last_lines(5) == []


@pytest.fixture
def recall() -> Iterator[RecallMemory]:
    opened = opened_recall(load_settings(None))
    yield opened
    opened.engine.close()


def _state(talk: Talk) -> None:
    with Session("s1", str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)


def _run(program: str) -> str:
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def _age(machine: Machine) -> None:
    """Nobody has heard of the sessions for some minutes."""
    machine.settle()
    for path in Path(machine.sage, "continuity", "sessions").glob("*.json"):
        data: dict[str, Any] = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "used": time.time() - 300}))
