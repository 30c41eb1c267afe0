"""The built-in plugins are subscriptions that turn events into actions of a fixed list; no one else has actions done.

Their file cannot do more than switch, order and tune them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sage_code.continuity.session import PENDING, Session
from sage_code.continuity.watcher.actions import Executor
from sage_code.continuity.watcher.journal import Journal, log_tail
from sage_code.continuity.watcher.plugins import ACTIONS, BUILT_IN, Action, BuiltIns, Plugin, configured
from sage_code.errors import UsageError
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType
from sage_code.events.session_events import (
    CheckpointCreated,
    CheckpointFileCreated,
    CompactionDetected,
    DaemonStarted,
    DaemonStopping,
)

from .conftest import Agent


def _compaction() -> CompactionDetected:
    return CompactionDetected(
        summary="It was\nabout caches.", transcript_path="/t.jsonl", session="S", root="/w/app", compaction="c1"
    )


class _Watched:
    """A bus with built-in plugins on it, and what they have had done."""

    def __init__(self, plugins: Iterable[Plugin] | None = None) -> None:
        self.bus, self.done, self.said = EventBus(), list[str](), list[str]()
        self.built_ins = BuiltIns(self.bus, self._execute, lambda what, error: self.said.append(f"{what}: {error}"))
        self.built_ins.use(configured()[0] if plugins is None else plugins)

    def _execute(self, actions: Iterable[Action], _: Event) -> None:
        self.done += [action.type for action in actions]


def _types(event: Event) -> list[str]:
    watched = _Watched()
    watched.bus.publish_sync(event)
    assert [action.type for result in event.results for action in result] == watched.done
    assert watched.said == []
    return watched.done


def _configure(home: Path, text: str) -> tuple[dict[str, Plugin], list[str]]:
    (home / ".sage").mkdir(exist_ok=True)
    (home / ".sage/plugins.yaml").write_text(text)
    plugins, warnings = configured()
    return {plugin.name: plugin for plugin in plugins}, warnings


def test_the_list_of_actions_is_fixed() -> None:
    assert set(ACTIONS) == {
        "log", "save_recovery", "summarise", "write_marker", "queue_for_injection", "start_session", "end_session"
    }  # fmt: skip
    for name in ("exec", "", "LOG", "__import__", "shell"):
        with pytest.raises(UsageError, match="no action"):
            Action(name)


def test_an_action_that_was_made_past_the_list_is_rejected_by_the_executor(home: Path) -> None:
    smuggled = object.__new__(Action)
    object.__setattr__(smuggled, "type", "exec")
    object.__setattr__(smuggled, "values", {"command": "true"})
    for blocking in (True, False):
        with pytest.raises(UsageError, match="no action"):
            Executor(Journal()).execute_actions([smuggled], blocking=blocking)
        for garbage in ("exec", {"type": "log"}, None):
            with pytest.raises(UsageError, match="no action"):
                Executor(Journal()).execute_actions([garbage], blocking=blocking)  # type: ignore[list-item]


def test_events_and_their_actions_in_the_order_of_priorities(home: Path) -> None:
    assert [plugin.name for plugin in configured()[0]] == ["session", "checkpoint-queue", "recovery"]
    assert _types(DaemonStarted(pid=1)) == ["start_session", "queue_for_injection"]
    assert _types(_compaction()) == ["start_session", "write_marker", "save_recovery", "log"]
    assert _types(CheckpointFileCreated(file_path="/c/x.md", checkpoint_id="x")) == ["queue_for_injection", "log"]
    assert _types(CheckpointCreated(checkpoint_id="x", checkpoint_type="precompact")) == []
    assert _types(DaemonStopping(reason="SIGTERM")) == ["end_session"]
    _configure(home, "plugins:\n  recovery: {priority: 1}\n")
    assert _types(_compaction()) == ["write_marker", "save_recovery", "log", "start_session"]


def test_what_others_return_or_make_up_is_never_done(home: Path) -> None:
    watched = _Watched()
    watched.bus.subscribe(EventType.COMPACTION_DETECTED, lambda _: [Action("summarise")], -(10**9), timeout_ms=0)
    event = watched.bus.publish_sync(_compaction())
    assert "summarise" not in watched.done
    assert [action.type for action in event.results[-1]] == ["summarise"]  # behind the built-in ones, for anybody else
    made_up = Event(
        EventType.COMPACTION_DETECTED, metadata={"root": "/", "session": "S", "transcript_path": "/t.jsonl"}
    )
    done = list(watched.done)
    assert watched.bus.publish_sync(made_up).results == [[Action("summarise")]]
    assert watched.done == done


def test_no_plugin_can_cancel_an_event_for_the_built_in_ones(home: Path) -> None:
    watched = _Watched()
    watched.bus.subscribe("*", lambda event: event.cancel(), -1_000_000, timeout_ms=0)
    watched.bus.publish_sync(_compaction())
    assert watched.done == ["start_session", "write_marker", "save_recovery", "log"]


def test_plugins_that_are_replaced_or_closed_hear_nothing_more(home: Path) -> None:
    watched = _Watched()
    watched.built_ins.use([])
    watched.bus.publish_sync(_compaction())
    watched.built_ins.use(BUILT_IN)
    watched.built_ins.close()
    watched.bus.publish_sync(_compaction())
    assert watched.done == []


@pytest.mark.parametrize("returned", ["log", [{"type": "log"}], [object()], None])
def test_a_result_that_is_no_action_is_refused_and_logged(home: Path, returned: Any) -> None:
    journal, bus = Journal(), EventBus()
    executor = Executor(journal)
    built_ins = BuiltIns(bus, lambda actions, _: executor.execute_actions(actions, blocking=True), journal.fail)
    built_ins.use([Plugin("bad", 1, (DaemonStopping,), lambda _, __: returned)])
    assert bus.publish_sync(DaemonStopping(reason="x")).results == []
    assert "error: plugin bad:" in log_tail(1)[0]


def test_the_file_switches_orders_and_tunes(home: Path) -> None:
    text = "plugins:\n  recovery:\n    enabled: false\n  session:\n    priority: 70\n"
    plugins, warnings = _configure(home, text)
    assert warnings == []
    assert not plugins["recovery"].enabled
    assert list(plugins) == ["checkpoint-queue", "session", "recovery"]
    assert _types(_compaction()) == ["start_session"]
    plugins, _ = _configure(home, "plugins:\n  recovery:\n    settings:\n      salience_threshold: 0.25\n")
    assert plugins["recovery"].settings == {"salience_threshold": 0.25}


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("plugins: [", "not valid YAML"),
        ("plugins: &a {recovery: *a}", "anchor"),
        ("plugins: !!python/object/apply:os.system [touch /tmp/owned]", "tag"),
        ("plugins:\n  mine:\n    module: evil\n", "there is no plugin 'mine'"),
        ("plugins: 7\n", "must hold names"),
        ("other: 1\n", "'other' is not known"),
        ("plugins:\n  recovery: 3\n", "recovery must hold"),
        ("plugins:\n  recovery:\n    enabled: maybe\n", "enabled is not known or not valid"),
        ("plugins:\n  recovery:\n    priority: true\n", "priority is not known or not valid"),
        ("plugins:\n  recovery:\n    priority: 1e99\n", "priority is not known or not valid"),
        ("plugins:\n  recovery:\n    exec: rm\n", "exec is not known or not valid"),
        ("plugins:\n  recovery:\n    settings:\n      salience_threshold: .nan\n", "from 0 to 1"),
        ("plugins:\n  recovery:\n    settings:\n      salience_threshold: 2\n", "from 0 to 1"),
        ("plugins:\n  recovery:\n    settings:\n      command: rm\n", "no setting of it"),
        ("plugins:\n  ? [1, 2]\n  : x\n", ""),
        ("[" * 100, ""),
        ("x: " + "y" * 70_000, "larger than"),
        ("plugins: {recovery: {enabled: false}}\nplugins: {}\n", "a second time"),
        ("\x00", ""),
    ],
)
def test_what_is_not_valid_is_said_and_the_defaults_hold(home: Path, text: str, warning: str) -> None:
    plugins, warnings = _configure(home, text)
    assert len(warnings) == 1
    assert warning in warnings[0]
    assert dict(plugins.items()) == {plugin.name: plugin for plugin in BUILT_IN}


def test_a_link_to_nowhere_or_a_pipe_is_no_file(home: Path) -> None:
    (home / ".sage").mkdir(exist_ok=True)
    os.mkfifo(home / ".sage/plugins.yaml")
    assert len(configured()[1]) == 1


def test_a_plugin_that_fails_does_not_stop_the_others() -> None:
    def fail(_: object, __: Mapping[str, float]) -> list[Action]:
        raise RuntimeError("broken")

    watched = _Watched((Plugin("bad", 1, (CompactionDetected,), fail), *BUILT_IN))
    for _ in range(5):  # the bus switches a handler off that fails three times: a plugin's failure is not the handler's
        watched.bus.publish_sync(_compaction())
    assert watched.said == ["plugin bad: broken"] * 5
    assert len(watched.done) == 20


def test_actions_blocking_and_in_the_background(home: Path, agent: Agent) -> None:
    agent.compact()
    values = {"session": agent.session, "root": str(agent.root), "transcript": str(agent.path), "compaction": "c1"}
    executor = Executor(Journal())
    for _ in range(2):  # the second time changes nothing
        executor.execute_actions([Action("write_marker", values)], blocking=True)
        assert agent.compaction() == ("c1", PENDING)
    with Session(agent.session, str(agent.root)) as state:
        state.data["compaction"]["state"] = "answered"
    executor.execute_actions([Action("write_marker", values)], blocking=True)
    assert agent.compaction() == ("c1", "answered")
    executor.execute_actions([Action("log", {"text": "in the background"})], blocking=False)
    executor.close()
    assert "in the background" in log_tail(1)[0]


@pytest.mark.slow
def test_save_recovery_saves_and_says_so(home: Path, agent: Agent) -> None:
    agent.compact()
    values = {"session": agent.session, "root": str(agent.root), "transcript": str(agent.path), "compaction": "c1"}
    saved: list[str] = []
    executor = Executor(Journal(), saved.append)
    for _ in range(2):  # the second time finds nothing new
        executor.execute_actions([Action("save_recovery", {**values, "salience_threshold": 0.5})], blocking=True)
    assert [path.stem for path in (home / ".sage/checkpoints").glob("*.md")] == saved
    assert agent.is_recovered()
    assert "little is new" in log_tail(1)[0]


def test_an_action_that_fails_is_logged_and_ends_nothing(home: Path) -> None:
    executor = Executor(Journal())
    missing = Action("queue_for_injection", {"file": str(home / "none.md"), "checkpoint": "none"})
    executor.execute_actions([missing, Action("write_marker"), Action("log", {"text": "went on"})], blocking=True)
    lines = log_tail(3)
    assert ["error: action" in line for line in lines] == [True, True, False]


def test_too_many_actions_are_dropped_and_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    journal, gate = Journal(), threading.Event()
    executor = Executor(journal)
    monkeypatch.setitem(executor._work, "log", lambda _: gate.wait())
    executor.execute_actions([Action("log")] * 1_100, blocking=False)
    assert "too many wait" in journal.noted("last_error")["text"]
    gate.set()
    executor.close()
