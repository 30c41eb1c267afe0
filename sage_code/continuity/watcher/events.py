"""What the watcher tells its plugins. Events are plain values without behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DaemonStarted:
    """The watcher is up."""

    pid: int
    transcript_path: str  # the transcript that was written last; empty if there is none


@dataclass(frozen=True, slots=True)
class DaemonStopping:
    """The watcher is about to end."""

    reason: str


@dataclass(frozen=True, slots=True)
class CompactionDetected:
    """A transcript shows a compaction that nobody has answered yet."""

    summary: str  # the agent's own summary; empty if it was not written in time
    transcript_path: str
    session: str
    root: str
    compaction: str  # its id


@dataclass(frozen=True, slots=True)
class CheckpointCreated:
    """The watcher has saved a checkpoint."""

    checkpoint_id: str
    checkpoint_type: str


@dataclass(frozen=True, slots=True)
class CheckpointFileCreated:
    """Somebody has saved a checkpoint: a file is new in a folder of checkpoints."""

    file_path: str
    checkpoint_id: str


Event = DaemonStarted | DaemonStopping | CompactionDetected | CheckpointCreated | CheckpointFileCreated
