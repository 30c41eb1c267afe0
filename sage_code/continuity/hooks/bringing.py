"""Prepares a session that starts, and makes the text that it is given."""

from __future__ import annotations

import os
import time
from typing import Any

from sage_code.continuity.brief import make_brief
from sage_code.continuity.log import last_lines, log_path
from sage_code.continuity.places import continuity_dir
from sage_code.continuity.queue import OTHERS_S
from sage_code.continuity.remembering import left_behind
from sage_code.continuity.session import ProjectState, Session, forget_old_sessions, sessions_of
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.transcripts.lines import cursor_at

# A session that was not heard of for so long has crashed, or waits for its user: then a checkpoint does no harm either.
_CRASHED_S = 60
# Less than this is the end of an exchange that a checkpoint covers.
_LEAST_BYTES = 2_000


def prepare_start(state: Session, source: str, dials: dict[str, Any]) -> None:
    """Take over what other sessions of the project have learned, and forget sessions that are long over."""
    data = state.data
    forget_old_sessions(time.time())
    with ProjectState(state.root, dials["share_worktrees"]) as project:
        known = project.data.get("full_at")
        known = known if isinstance(known, dict) else {}
        data["full_at"] = project.data["full_at"] = {**known, **(data.get("full_at") or {})}
    if source == "fork" and "seen" not in data and os.path.isfile(state.transcript):
        # The lines of the session that it was forked from are that session's.
        end = list(cursor_at(state.transcript, os.path.getsize(state.transcript)))
        data["seen"] = end
        data["captured"] = {"checkpoints": [], "since": 0.0, "cursors": {state.transcript: end}}


def catch_up(state: Session) -> None:
    """Save what is left of the last session here if it has crashed: nobody has told that it ended."""
    now = time.time()
    for data in sessions_of(state.root):
        idle = now - float(data.get("used") or 0)
        if data.get("session") == state.id or not _CRASHED_S < idle < OTHERS_S:
            continue
        if _unsaved_bytes(data) > _LEAST_BYTES:
            from sage_code.continuity.capture import capture  # lazy: seldom

            with state.released():
                capture(str(data["session"]), state.root, "session_end")
        return  # an older one was caught up with when the last one began


def has_unremembered(state: Session) -> bool:
    """Whether other sessions here have ended with messages that are not in recall memory yet."""
    return bool(left_behind(state.id, state.root))


def _unsaved_bytes(data: dict[str, Any]) -> int:
    """How much of a session's transcript no checkpoint covers."""
    path, captured = str(data.get("transcript") or ""), data.get("captured")
    cursors = captured.get("cursors") if isinstance(captured, dict) else None
    before = cursors.get(path) if isinstance(cursors, dict) else None
    try:
        return os.stat(path).st_size - int(before[0] if isinstance(before, list) and before else 0)
    except (OSError, TypeError, ValueError):
        return 0


def brief_text(state: Session, dials: dict[str, Any], purpose: str, task: str = "") -> str:
    """The text of the next brief of a session; empty if there is nothing to say."""
    data = state.data
    captured = data.get("captured")
    own = captured.get("checkpoints", []) if isinstance(captured, dict) else []
    number = int(data.get("briefs") or 0) + 1
    brief = make_brief(
        state.root,
        state.id,
        [id_ for id_ in own if isinstance(id_, str)],
        max_tokens=dials["brief_tokens"],
        number=0 if purpose == "subagent" else number,
        purpose=purpose,
        task=task,
        share_worktrees=dials["share_worktrees"],
    )
    if brief.text and purpose != "subagent":  # a subagent's text is not in the transcript of its session
        data["briefs"] = number
    return brief.text


def health(data: dict[str, Any]) -> str:
    """What went wrong in the background since somebody was last told; empty if nothing did."""
    told = continuity_dir("told")
    try:
        newest = os.stat(log_path()).st_mtime_ns
    except OSError:
        return ""
    try:
        if os.stat(told).st_mtime_ns >= newest:
            return ""
    except FileNotFoundError:
        pass
    write_bytes(told, b"", mode=PRIVATE_FILE, sync=False)
    data["told"] = time.time()
    lines = last_lines(1)
    return f"something failed in the background ({lines[0][:200]}); `sage continuity status` has more" if lines else ""
