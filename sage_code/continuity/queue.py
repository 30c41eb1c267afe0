"""The queue of checkpoints that a new context of a project is shown.

The checkpoints of the session itself come always, those of other sessions while they are new: yesterday's research
does not belong into today's work. An entry whose checkpoint is gone is left out by its readers.
"""

from __future__ import annotations

import os
import time

from sage_code.continuity.session import ProjectState
from sage_code.errors import Busy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Work that goes on after a break is shown to another session; after a day nothing is kept for one.
OTHERS_S = 4 * 3_600
GARBAGE_S = 24 * 3_600
_MAX_ENTRIES = 500


def add_to_queue(root: str, checkpoint: str, session: str, when: float = 0.0, *, share_worktrees: bool = False) -> None:
    """Add a checkpoint, once, and drop what is too old. `when` is the time of the work, not of the save."""
    now = time.time()
    with ProjectState(root, share_worktrees) as state:
        kept = [entry for entry in _entries(state.data) if now - entry["time"] <= GARBAGE_S]
        if all(entry["id"] != checkpoint for entry in kept):
            kept.append({"id": checkpoint, "session": session, "time": when or now})
        state.data["queue"] = kept[-_MAX_ENTRIES:]


def current_session() -> str:
    """The session of the agent that has started this process; empty if it is not known."""
    from sage_code.transcripts.find import SESSION_VARIABLE  # lazy: no hook needs it

    return os.environ.get(SESSION_VARIABLE, "")


def note_checkpoint(root: str, checkpoint: str, session: str = "") -> None:
    """Add a checkpoint that a person or an agent saved; if another process holds the queue, it goes without."""
    try:
        add_to_queue(root, checkpoint, session)
    except Busy:
        return


def queued(
    root: str, session: str, own: list[str], *, now: float = 0.0, share_worktrees: bool = False
) -> list[tuple[str, bool]]:
    """The ids to show, newest first, own ones before others; each with whether it is the session's own.

    `own` are the checkpoints that the session's state lists, which do not become too old while it lasts.
    """
    now = now or time.time()
    entries = sorted(_entries(ProjectState(root, share_worktrees).loaded()), key=lambda entry: -entry["time"])
    mine = [*reversed(own), *(entry["id"] for entry in entries if entry["session"] == session)]
    others = [entry["id"] for entry in entries if entry["session"] != session and now - entry["time"] < OTHERS_S]
    chosen = dict.fromkeys(mine, True)
    return [*chosen.items(), *((id_, False) for id_ in dict.fromkeys(others) if id_ not in chosen)]


def _entries(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The valid entries of a project's state."""
    found = data.get("queue")
    return [
        entry
        for entry in (found if isinstance(found, list) else [])
        if isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and isinstance(entry.get("session"), str)
        and isinstance(entry.get("time"), int | float)
    ]
