"""How the sessions of a project stand, and what people and the MCP server do about a brief that is pending.

`sessions` shows, `clear` and `mark` change, `take_brief` gives a pending brief to an agent that has no hooks, once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sage_code.continuity.dials import dials_of
from sage_code.continuity.following import follow
from sage_code.continuity.hooks.bringing import brief_text
from sage_code.continuity.queue import current_session
from sage_code.continuity.session import ANSWERED, OFFERED, PENDING, Session, sessions_of
from sage_code.errors import Busy, UsageError

# A pending brief of a session that was used longer ago belongs to nobody who is still there.
_RECENT_S = 24 * 3_600
_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class SessionOverview:
    """One session of an agent in a project."""

    session: str
    root: str
    transcript: str
    used: float  # seconds since 1970
    exchanges: int
    checkpoints: tuple[str, ...]
    fill: int  # tokens of the context at the last reply; 0: not known
    compactions: int
    state: str  # of the brief for the last compaction: none, pending, offered, answered
    by: str  # who answered: SessionStart, UserPromptSubmit, mcp, cleared; empty if nobody did
    arrived: bool | None  # whether the transcript shows the last brief; None: no brief, or no transcript to look into

    @property
    def used_at(self) -> str:
        """When it was last seen, as ISO 8601."""
        return datetime.fromtimestamp(self.used, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def document(self) -> dict[str, Any]:
        """Plain values, as `compiled_schema/continuity_status.json` describes them."""
        return {**asdict(self), "checkpoints": list(self.checkpoints), "used": self.used_at}


def sessions(root: str | None = None) -> list[SessionOverview]:
    """The sessions of a project, or of all, the one used last first."""
    return [_overview(data) for data in sessions_of(root)]


def _overview(data: Mapping[str, Any]) -> SessionOverview:
    """The overview of a state, which may lack any part."""
    known = data.get("compaction")
    known = known if isinstance(known, dict) else {}
    captured = data.get("captured")
    own = captured.get("checkpoints", []) if isinstance(captured, dict) else []
    briefs, seen = int(data.get("briefs") or 0), int(data.get("arrived") or 0)
    return SessionOverview(
        session=str(data.get("session") or ""),
        root=str(data.get("root") or ""),
        transcript=str(data.get("transcript") or ""),
        used=float(data.get("used") or data.get("started") or 0),
        exchanges=int(data.get("exchanges") or 0),
        checkpoints=tuple(str(id_) for id_ in own),
        fill=int(data.get("fill") or 0),
        compactions=int(known.get("n") or 0),
        state=str(known.get("state") or "none"),
        by=str(known.get("by") or ""),
        arrived=seen >= briefs if briefs and data.get("transcript") else None,
    )


def clear(root: str, session: str = "") -> list[str]:
    """Drop the pending briefs of a project, or of one session; returns the sessions that had one."""
    cleared = []
    for one in _chosen(root, session):
        with Session(one.session, root) as state:
            known = state.data.get("compaction")
            if isinstance(known, dict) and known.get("state") in (PENDING, OFFERED):
                known |= {"state": ANSWERED, "by": "cleared", "brief": 0}
                cleared.append(one.session)
    return cleared


def mark(root: str, session: str = "", reason: str = "") -> str:
    """Have a session get its brief once more, as after a compaction; returns the session.

    Without `session` it is the running one, or the one that was used last.
    """
    wanted = session or current_session()
    found = _chosen(root, wanted)
    if not found and not wanted:
        raise UsageError("no session of an agent was seen in this project", "name one with --session")
    name = found[0].session if found else wanted
    with Session(name, root) as state:
        known = state.data.get("compaction")
        number = int(known.get("n") or 0) if isinstance(known, dict) else 0
        now = time.time()
        state.data["compaction"] = {"n": number + 1, "id": f"marked {now}", "state": PENDING, "at": now, "why": reason}
        state.data["used"] = now
    return name


def take_brief(root: str, session: str = "") -> str:
    """The brief that a session of the project waits for; empty if none does. From now on it is answered.

    Without a session it is the only one that waits: if two wait, neither gets the other's.
    """
    now = time.time()
    asked = [_overview(Session(session, root).loaded())] if session else sessions(root)
    waiting = [one for one in asked if one.state in (PENDING, OFFERED) and now - one.used < _RECENT_S]
    if len(waiting) != 1:
        return ""
    try:
        with Session(waiting[0].session, root, _WAIT_S) as state:
            return _taken(state)
    except Busy:  # a hook is about to answer
        return ""


def _taken(state: Session) -> str:
    """The brief of a session whose state is held; a save that nobody has made comes first."""
    dials = dials_of(state.root, state.data)
    if not dials["continuity_enabled"]:
        return ""
    follow(state)
    if dials["capture_checkpoints"] and state.transcript:
        from sage_code.continuity.capture import capture  # lazy: only for a brief

        with state.released():
            capture(state.id, state.root, "precompact")
    known = state.data.get("compaction")
    if not isinstance(known, dict) or known.get("state") not in (PENDING, OFFERED):
        return ""
    text = brief_text(state, dials, "compact") if dials["brief_tokens"] else ""
    known |= {"state": ANSWERED, "by": "mcp", "brief": 0}  # an answer of a tool is no injected text in the transcript
    return text


def _chosen(root: str, session: str) -> list[SessionOverview]:
    return [one for one in sessions(root) if session in ("", one.session)]
