"""Judges at the end of an exchange whether a checkpoint is due: by what was said, and by how full the context is."""

from __future__ import annotations

import time
from collections import namedtuple

from sage_code.continuity.following import turn_of
from sage_code.continuity.session import ProjectState
from sage_code.continuity.triggers.detector import TriggerDetector
from sage_code.continuity.triggers.values import Dials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from sage_code.continuity.session import Session

    class Due(NamedTuple):
        """A checkpoint that is due."""

        trigger: str
        confidence: float
        reason: str
        end: int | None = None  # the offset in the transcript at which a new topic begins
else:
    Due = namedtuple("Due", "trigger confidence reason end", defaults=(None,))  # noqa: PYI024 - see `lines.py`

# The window of a model whose name does not promise more, until the agent has shown where it compacts.
_USUAL_WINDOW, _LARGE_WINDOW = 200_000, 1_000_000
_LARGE_MARK = "[1m]"
# A transcript has about so many bytes for each token of the context: JSON repeats what it quotes.
_BYTES_A_TOKEN = 8
_MAX_AGENT_CHARS = 12_000
# Saved however short the conversation was.
_EXEMPT = ("manual", "context_threshold")


def due(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Due | None:
    """The checkpoint that is due now that the agent has stopped, or None."""
    data = state.data
    now = time.time()
    found = _by_words(given, state, dials)
    full = _by_fill(data, dials, now)
    found = full or found
    if found is None:
        return None
    if found.trigger not in _EXEMPT:
        if now - float(data.get("saved_at") or 0) < dials["trigger_cooldown"]:
            return None
        messages = 2 * (int(data.get("exchanges") or 0) - int(data.get("captured_exchanges") or 0))
        if messages < dials["depth_min_messages"] or _new_tokens(state) < dials["depth_min_tokens"]:
            return None
    return found


def window_of(data: dict[str, Any], dials: dict[str, Any]) -> int:
    """The tokens that fit into the agent's context: as set, as the agent says, as it has shown, or as usual."""
    model = str(data.get("model") or "")
    shown = (data.get("full_at") or {}).get(model)
    window = dials["context_window"] or data.get("window") or shown
    if not window:
        window = _LARGE_WINDOW if _LARGE_MARK in model.lower() else _USUAL_WINDOW
    # More tokens than fit cannot be there: the window is larger than its usual size.
    return max(int(window), _LARGE_WINDOW) if int(data.get("fill") or 0) > int(window) else int(window)


def _by_words(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Due | None:
    """The trigger of the exchange that has ended."""
    data = state.data
    turn = turn_of(data)
    last = given.get("last_assistant_message")
    last = last.strip() if isinstance(last, str) else ""
    # A hook that is called twice for one event (by settings and by a plugin) has heard it before.
    if last and last not in turn["agent"] and last != data.get("heard"):
        # The transcript may lag behind; when the message appears there it is left out.
        turn["agent"] = f"{turn['agent']}\n\n{last}"[-_MAX_AGENT_CHARS:].strip()
    data["heard"] = last or data.get("heard") or ""
    if not turn["user"] and not turn["agent"]:
        return None
    data["turn"] = None
    data["exchanges"] = int(data.get("exchanges") or 0) + 1
    names = {name: dials[name] for name in ("trigger_threshold", "topic_drift_threshold", "convergence_question_drop")}
    with ProjectState(state.root, dials["share_worktrees"], wait_s=0.5) as project:
        known, distances = data.get("detector"), project.data.get("distances")
        detector = TriggerDetector(state=known, distances=distances, dials=Dials(**names))
        results = []
        if turn["user"]:
            asked = detector.analyze(turn["user"], "user", time=turn["time"] or None, branch=data.get("branch") or "")
            results.append((asked, 1))
        if turn["agent"]:
            told = detector.analyze(
                turn["agent"],
                "assistant",
                files=tuple(turn["files"]),
                branch=data.get("branch") or "",
                committed=bool(turn["committed"]),
                web_searches=int(turn["searches"]),
            )
            results.append((told, 0))
        data["detector"], project.data["distances"] = detector.state(), detector.distances.state()
    for result, after in results:
        if (trigger := result.trigger) is not None:
            is_topic = trigger.type.value == "topic_shift"
            end = _start_of(data, (trigger.at + after) // 2) if is_topic else None
            return Due(trigger.type.value, trigger.confidence, trigger.reason, end)
    return None


def _by_fill(data: dict[str, Any], dials: dict[str, Any], now: float) -> Due | None:
    """The trigger of a context that is nearly full, once until it is compacted."""
    fill = int(data.get("fill") or 0)
    if not fill or data.get("threshold_passed"):
        return None
    if now - float(data.get("looked_at") or 0) < dials["context_cooldown"]:
        return None
    data["looked_at"] = now
    window = window_of(data, dials)
    if fill * 100 < dials["context_threshold"] * window:
        return None
    data["threshold_passed"] = True
    return Due("context_threshold", 1.0, f"{fill * 100 // window} % of the context are full")


def _start_of(data: dict[str, Any], back: int) -> int | None:
    """The offset at which the exchange begins that was so many exchanges ago."""
    starts = data.get("starts") or []
    return int(starts[-1 - back][1]) if 0 <= back < len(starts) else None


def _new_tokens(state: Session) -> int:
    """About how many tokens came since the last checkpoint."""
    seen, captured = state.data.get("seen"), state.data.get("captured")
    cursors = captured.get("cursors", {}) if isinstance(captured, dict) else {}
    before = cursors.get(state.transcript) or [0]
    return (int(seen[0]) - int(before[0])) // _BYTES_A_TOKEN if isinstance(seen, list) else 0
