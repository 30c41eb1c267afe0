"""What happens to the sessions of agents, and to the watcher that follows them.

Memory, hooks and the watcher publish it, each from a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sage_code.events.events import Event, EventType

WATCHER = "watcher"  # the source of what the watcher publishes


@dataclass(slots=True)
class CompactionDetected(Event):
    """The context of a session was compacted, or is about to be: then a hook has said so, and there is no id yet."""

    TYPE: ClassVar[EventType] = EventType.COMPACTION_DETECTED

    type: str = EventType.COMPACTION_DETECTED
    summary: str = ""  # the agent's own summary; empty if it was not written in time
    transcript_path: str = ""
    session: str = ""
    root: str = ""
    compaction: str = ""  # its id


@dataclass(slots=True)
class CheckpointCreated(Event):
    """A checkpoint was saved."""

    TYPE: ClassVar[EventType] = EventType.SESSION_CHECKPOINT

    type: str = EventType.SESSION_CHECKPOINT
    checkpoint_id: str = ""
    checkpoint_type: str = ""  # the trigger of a saved checkpoint; `session` for the state of a session


@dataclass(slots=True)
class DaemonStarted(Event):
    """The watcher is up."""

    TYPE: ClassVar[EventType] = EventType.WATCHER_STARTED

    type: str = EventType.WATCHER_STARTED
    source: str = WATCHER
    pid: int = 0
    transcript_path: str = ""  # the transcript that was written last; empty if there is none


@dataclass(slots=True)
class DaemonStopping(Event):
    """The watcher is about to end."""

    TYPE: ClassVar[EventType] = EventType.WATCHER_STOPPING

    type: str = EventType.WATCHER_STOPPING
    source: str = WATCHER
    reason: str = ""


@dataclass(slots=True)
class CheckpointFileCreated(Event):
    """Somebody has saved a checkpoint: a file is new in a folder of checkpoints."""

    TYPE: ClassVar[EventType] = EventType.CHECKPOINT_FILE

    type: str = EventType.CHECKPOINT_FILE
    source: str = WATCHER
    file_path: str = ""
    checkpoint_id: str = ""


# By the type of the event: a plugin's process makes it again from its document.
CLASSES: dict[str, type[Event]] = {
    one.TYPE: one
    for one in (CompactionDetected, CheckpointCreated, DaemonStarted, DaemonStopping, CheckpointFileCreated)
}
