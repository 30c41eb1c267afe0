"""What `sage watcher status` says, gathered from the process, its notes and its log."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sage_code.continuity.watcher.journal import log_path, log_tail, read_notes
from sage_code.continuity.watcher.process import running

_TAIL_LINES = 10


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened."""

    at: str  # ISO 8601
    text: str


@dataclass(frozen=True, slots=True)
class WatcherSession:
    """A session of the watcher: from its start to its end."""

    id: str
    started: str
    ended: str | None


@dataclass(frozen=True, slots=True)
class Status:
    """How the watcher is."""

    running: bool
    pid: int | None
    since: str | None
    session: WatcherSession | None  # the one that is open, or the last one
    following: int  # transcripts that have grown since it started
    watching: str  # events | polling; empty if it does not run
    last_event: Moment | None
    last_error: Moment | None
    log_path: str
    log: tuple[str, ...]  # its last lines


def status() -> Status:
    """How the watcher is now."""
    found, notes = running(), read_notes()
    mine = notes if found is not None and notes.get("pid") == found.pid else {}
    following = mine.get("following")
    return Status(
        running=found is not None,
        pid=found.pid if found else None,
        since=_iso(found.since) if found else None,
        session=_session(notes.get("session")),
        following=following if isinstance(following, int) else 0,
        watching=str(mine.get("watching") or ""),
        last_event=_moment(notes.get("last_event"), "type"),
        last_error=_moment(notes.get("last_error"), "text"),
        log_path=log_path(),
        log=tuple(log_tail(_TAIL_LINES)),
    )


def _moment(noted: Any, key: str) -> Moment | None:
    try:
        return Moment(_iso(noted["at"]), str(noted[key]))
    except (TypeError, KeyError, ValueError, OverflowError, OSError):
        return None


def _session(noted: Any) -> WatcherSession | None:
    try:
        ended = noted["ended"]
        return WatcherSession(str(noted["id"]), _iso(noted["started"]), None if ended is None else _iso(ended))
    except (TypeError, KeyError, ValueError, OverflowError, OSError):
        return None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(float(seconds), UTC).isoformat(timespec="seconds")
