"""Prepares a session that starts, and makes the text that it is given."""

from __future__ import annotations

import os
import time
from typing import Any

from sage_code.continuity.brief import make_brief
from sage_code.continuity.log import last_lines, log_path
from sage_code.continuity.places import continuity_dir
from sage_code.continuity.session import ProjectState, Session, forget_old_sessions
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.transcripts.lines import cursor_at


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
