"""What the watcher sees is published on the bus of its process, where anybody may listen beside its own plugins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sage_code.continuity.watcher import process
from sage_code.continuity.watcher.daemon import Watcher
from sage_code.continuity.watcher.journal import Journal, log_tail
from sage_code.continuity.watcher.plugins import Action
from sage_code.events import discovery
from sage_code.events.bus import get_event_bus
from sage_code.events.events import Event
from sage_code.events.session_events import (
    CheckpointCreated,
    CheckpointFileCreated,
    CompactionDetected,
    DaemonStarted,
    DaemonStopping,
)

from .conftest import Agent, until

pytestmark = pytest.mark.slow


@pytest.fixture
def heard() -> Iterator[list[Event]]:
    """What a listener hears that tries to have something done, and to end the event for all others."""
    bus, events = get_event_bus(), list[Event]()

    def listen(event: Event) -> list[Action]:
        events.append(event)
        event.cancel()
        return [Action("log", {"text": "smuggled in"})]

    subscription = bus.subscribe("*", listen, -1_000_000, timeout_ms=0)
    yield events
    bus.unsubscribe(subscription)


@pytest.fixture
def ends(home: Path) -> Iterator[Callable[[], None]]:
    """A watcher in a thread of this process; calling it ends the watcher."""
    stop, is_up = threading.Event(), threading.Event()
    watcher = Watcher(Journal(), stop)
    thread = threading.Thread(target=watcher.run, args=(is_up.set,))

    def end() -> None:
        stop.set()
        thread.join()

    thread.start()
    is_up.wait()
    yield end
    end()


def test_a_compaction_and_its_checkpoint_are_heard(agent: Agent, heard: list[Event], ends: Callable[[], None]) -> None:
    agent.compact()
    until(lambda: any(isinstance(event, CheckpointFileCreated) for event in heard), "the file of the checkpoint")
    until(agent.is_recovered, "the checkpoint")
    until(lambda: any(isinstance(event, CheckpointCreated) for event in heard), "the checkpoint's event")
    ends()
    assert isinstance(heard[0], DaemonStarted)
    assert heard[0].transcript_path == str(agent.path)
    (seen,) = [event for event in heard if isinstance(event, CompactionDetected)]
    assert (seen.source, seen.session, seen.root, seen.compaction) == ("watcher", agent.session, str(agent.root), "c1")
    assert seen.summary.startswith("This session is being continued")
    (created,) = [event for event in heard if isinstance(event, CheckpointCreated)]
    (file,) = [event for event in heard if isinstance(event, CheckpointFileCreated)]
    assert created.checkpoint_id == file.checkpoint_id == Path(file.file_path).stem
    assert isinstance(heard[-1], DaemonStopping)
    assert agent.compaction()[0] == "c1"  # the built-in plugins have answered all the same
    assert "smuggled in" not in "".join(log_tail(100))


def test_a_watcher_that_has_ended_leaves_nothing_on_the_bus(home: Path, ends: Callable[[], None]) -> None:
    bus = get_event_bus()
    assert bus.has_listeners("compaction.detected")
    ends()
    assert not bus.has_listeners("compaction.detected")


LISTENER = """
import json, os
from sage_code.events.plugins import PluginMetadata

class Listener:
    metadata = PluginMetadata("listener", "1.0", hooks=[])

    def on_load(self, context):
        os.makedirs(context["folder"], exist_ok=True)
        self.file = os.path.join(context["folder"], "heard")
        for pattern in ("compaction.*", "session.*", "watcher.*", "memory.saved"):
            context["bus"].subscribe(pattern, self.hear)

    def hear(self, event):
        said = [event.type, event.source]
        said += [getattr(event, name, "") for name in ("session", "compaction", "checkpoint_id", "pid", "reason")]
        with open(self.file, "a") as file:
            file.write(json.dumps(said) + "\\n")
"""


@pytest.fixture
def said(home: Path) -> Callable[[str], list[list[object]]]:
    """What an enabled plugin of the user has heard of a source, from whichever process."""
    folder = home / ".sage/plugins"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "listener.py").write_text(LISTENER)
    discovery.enable("listener")

    def read(source: str) -> list[list[object]]:
        lines = [line for file in home.rglob("heard") for line in file.read_text().splitlines()]
        return [said for said in map(json.loads, lines) if said[1] == source]

    return read


@pytest.mark.usefixtures("_none_left")
def test_a_plugin_of_the_user_hears_the_watcher(agent: Agent, said: Callable[[str], list[list[object]]]) -> None:
    pid = process.start()[0].pid
    agent.compact()
    heard = until(lambda: len(found := said("watcher")) == 4 and found, "the checkpoint")
    process.stop()
    heard = until(lambda: len(found := said("watcher")) == 5 and found, "the end")
    assert heard[0] == ["watcher.started", "watcher", "", "", "", pid, ""]
    assert heard[1] == ["compaction.detected", "watcher", agent.session, "c1", "", "", ""]
    assert sorted(str(one[0]) for one in heard[2:4]) == ["session.checkpoint", "watcher.checkpoint_file"]
    assert heard[2][4] == heard[3][4] != ""
    assert heard[4] == ["watcher.stopping", "watcher", "", "", "", "", "SIGTERM"]


def test_a_plugin_of_the_user_hears_a_hook(agent: Agent, said: Callable[[str], list[list[object]]]) -> None:
    given = {"hook_event_name": "PreCompact", "trigger": "auto", "session_id": agent.session, "cwd": str(agent.root)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sage_code.continuity.hooks.entry"],
        input=json.dumps({**given, "transcript_path": str(agent.path)}),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    (seen,) = until(lambda: said("hook"), "the compaction")
    assert seen[:4] == ["compaction.detected", "hook", agent.session, ""]
    saved = until(lambda: len(found := said("memory")) == 2 and found, "the checkpoint")
    assert [one[0] for one in saved] == ["memory.saved", "session.checkpoint"]
