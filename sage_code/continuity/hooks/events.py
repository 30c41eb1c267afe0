"""Answers the events of Claude Code: notices when a checkpoint is due, saves it, and brings the last state back.

    SessionStart       a brief for the new, resumed or compacted context
    UserPromptSubmit   the brief, if a compaction was seen and nothing has arrived; "checkpoint" saves one
    SubagentStart      what matters for the task of a subagent
    Stop               looks at the exchange that has ended; saves a checkpoint in the background if one is due
    PreCompact         saves before the context is compacted; on request holds a manual compaction once
    SessionEnd         saves what is left, in the background

What was said goes into recall memory after a save, before a compaction and at the end of a session, in the background.

One brief for each compaction: it is `pending` until somebody offers it, `offered` until the answer was written, then
`answered`. A hook that is killed leaves it pending or offered, and the next prompt brings it.
"""

from __future__ import annotations

import os
import time

from sage_code.continuity.dials import dials_of
from sage_code.continuity.following import expect_compaction, follow
from sage_code.continuity.log import note
from sage_code.continuity.session import ANSWERED, OFFERED, PENDING, Session
from sage_code.paths import anybody_listens, find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Answer = tuple[dict[str, Any], Callable[[], None] | None]

# A hook that waits for longer is felt; the next one does the work.
_WAIT_S = 1.5
# A hook writes its answer within a moment; two hooks of one event are called at the same time.
_MOMENT_S, _TWIN_S = 10.0, 1.0
_NOTHING: dict[str, Any] = {}
_NOT_NAMED = ("", "/")
# A request to save a checkpoint is short and has one of these words.
_MAX_REQUEST_CHARS = 200
_MAY_ASK = ("check", "save")
# A missing brief is offered again this often.
_MAX_OFFERS = 3
_ASK = {
    "precompact": "The context is about to be compacted. A checkpoint that you write yourself keeps your conclusions "
    "better than one taken from the transcript: sage_save_checkpoint takes the question, the thesis, the evidence and "
    "what is open. After it, /compact runs as usual.",
    "context_threshold": "The context is nearly full and will be compacted. A checkpoint that you write yourself with "
    "sage_save_checkpoint keeps your conclusions better than one taken from the transcript.",
    "other": "This looks like a point worth keeping ({what}). sage_save_checkpoint saves the question, the thesis and "
    "the evidence in your own words.",
}


def answer(given: dict[str, Any]) -> Answer:
    """The answer to an event, and what to do once it was written."""
    event = given.get("hook_event_name")
    handler = _HANDLERS.get(event) if isinstance(event, str) else None
    session, root = given.get("session_id"), _root(given)
    if handler is None or not isinstance(session, str) or not session or not root:
        return _NOTHING, None
    if event != "SubagentStart" and given.get("agent_id"):
        return _NOTHING, None  # a subagent's own event; its session answers for it
    with Session(session, root, _WAIT_S) as state:
        data = state.data
        data["used"] = time.time()
        if isinstance(path := given.get("transcript_path"), str) and path.endswith(".jsonl"):
            data["transcript"] = path
        dials = dials_of(root, data)
        if not dials["continuity_enabled"]:
            return _NOTHING, None
        try:
            said, after = handler(given, state, dials)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # The state has a value that nobody expects. All that matters can be found again in the transcript.
            note("hook", f"the state of a session was damaged and is made again ({type(error).__name__}: {error})")
            state.forget()
            said, after = handler(given, state, dials)
        if complaint := state.data.pop("complaint", None):  # the state was perhaps read again
            said = {**said, "systemMessage": f"Sage: {complaint}"}
        return said, after


def _root(given: dict[str, Any]) -> str:
    """The root of the project that the session works in; empty for a home folder or the root of the disk."""
    folder = os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd")
    if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder or not os.path.isdir(folder):
        return ""
    root = find_root(folder)
    return "" if root in (*_NOT_NAMED, os.path.realpath(os.path.expanduser("~"))) else root


def _stop(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    """Save a checkpoint if one is due, or ask the agent for one if the settings say so."""
    from sage_code.continuity.hooks.judging import due  # lazy: only this event needs the detector

    follow(state)
    found = due(given, state, dials)
    if found is None:
        return _NOTHING, None
    if dials["ask_for_checkpoint"] and not given.get("stop_hook_active") and _first_time(state.data, found.trigger):
        key = "context_threshold" if found.trigger == "context_threshold" else "other"
        return {"decision": "block", "reason": _ASK[key].format(what=found.reason)}, None
    if dials["capture_checkpoints"]:
        _save_later(state, found.trigger, found.confidence, found.end)
    return _NOTHING, None


def _pre_compact(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    follow(state)
    is_manual = given.get("trigger") == "manual"
    if is_manual and dials["ask_for_checkpoint"] and _first_time(state.data, "precompact"):
        return {"decision": "block", "reason": _ASK["precompact"]}, None
    state.data["announced"] = True
    # The save is waited for: the brief after the compaction needs it. It runs once the state is written.
    return _NOTHING, _then_published(state, lambda: _before_compaction(state, dials))


def _session_start(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    """Give a new context its brief, and tell what went wrong in the background."""
    from sage_code.continuity.hooks.bringing import (  # lazy: the other events are light
        catch_up,
        has_unremembered,
        health,
        prepare_start,
    )

    source = given.get("source")
    source = source if isinstance(source, str) else "startup"
    prepare_start(state, source, dials)
    if source != "compact":
        if dials["capture_checkpoints"]:
            catch_up(state)
        if dials["remember_conversations"] and has_unremembered(state):
            _remember_later(state)
    follow(state)
    said = _NOTHING
    after: Callable[[], None] | None = None
    if source == "compact":
        expect_compaction(state.data)
    if source == "compact" or _is_waiting(state.data):
        said, after = _offer(state, dials, "SessionStart")
    elif not _is_repeated(state.data, source):
        purpose = "resume" if source == "resume" else "startup"
        said, after = _bring(state, dials, purpose, "SessionStart")
    if source == "compact":
        after = _then_published(state, after)
    if trouble := health(state.data):
        said = {**said, "systemMessage": f"Sage: {trouble}"}
    return said, after


def _then_published(state: Session, after: Callable[[], None] | None) -> Callable[[], None] | None:
    """`after`, and then the compaction is published, unless a hook has done it: two of them see each compaction."""
    if not anybody_listens():
        return after
    known = state.data.get("compaction")
    known = known if isinstance(known, dict) else {}
    number = int(known.get("n") or 0) + bool(state.data.get("announced"))  # the announced one is not counted yet
    if state.data.get("published") == number:
        return after
    state.data["published"] = number
    transcript, id_ = state.transcript, "" if state.data.get("announced") else str(known.get("id") or "")

    def both() -> None:
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        try:
            if after is not None:
                after()
        finally:
            publishing.compaction_detected(transcript, state.id, state.root, id_)

    return both


def _prompt(given: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    """Bring a brief that has not arrived, or save a checkpoint if the user asks for one."""
    follow(state)
    data = state.data
    if _is_waiting(data) or _is_lost(data, data.get("compaction")):
        return _offer(state, dials, "UserPromptSubmit")
    if dials["capture_checkpoints"] and _asks_to_save(given.get("prompt")):
        _save_later(state, "manual", 1.0, None)
        return {"systemMessage": "Sage saves a checkpoint of this session."}, None
    return _NOTHING, None


def _asks_to_save(prompt: object) -> bool:
    """Whether the user asks for a checkpoint; most prompts need no pattern for that."""
    if not isinstance(prompt, str) or len(prompt) > _MAX_REQUEST_CHARS:
        return False
    if not any(word in prompt.lower() for word in _MAY_ASK):
        return False
    from sage_code.continuity.triggers.phrases import is_request_to_save

    return is_request_to_save(prompt)


def _subagent_start(_: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    follow(state)
    task = str(state.data.get("task") or "")
    return _bring(state, {**dials, "brief_tokens": dials["subagent_tokens"]}, "subagent", "SubagentStart", task)


def _session_end(_: dict[str, Any], state: Session, dials: dict[str, Any]) -> Answer:
    follow(state)
    if dials["capture_checkpoints"] and state.transcript:
        _save_later(state, "session_end", 0.0, None)
    elif dials["remember_conversations"] and state.transcript:
        _remember_later(state)
    return _NOTHING, None


def _offer(state: Session, dials: dict[str, Any], event: str) -> Answer:
    """The brief after a compaction. A save that a killed hook owes is made first."""
    if dials["capture_checkpoints"] and state.transcript:
        with state.released():
            _save_now(state, "precompact")
    data = state.data
    known = data.get("compaction")
    if not isinstance(known, dict) or _has_arrived(data, known):
        return _NOTHING, None
    if _is_being_offered(known) or (known.get("state") == ANSWERED and not _is_lost(data, known)):
        return _NOTHING, None  # another process was faster
    known["offers"] = int(known.get("offers") or 0) + 1
    said, after = _bring(state, dials, "compact", event)
    if not said or known["offers"] > _MAX_OFFERS:
        known["state"], known["brief"] = ANSWERED, 0  # there is nothing to say, or it never arrives
        return _NOTHING, after
    known |= {"state": OFFERED, "brief": data["briefs"], "by": event, "replies": int(data.get("replies") or 0)}
    known |= {"pid": os.getpid(), "offered_at": time.time()}
    number = known["n"]
    return said, lambda: _answered(state, number)


def _bring(state: Session, dials: dict[str, Any], purpose: str, event: str, task: str = "") -> Answer:
    """The brief for a purpose, as context of the agent."""
    if dials["brief_tokens"] <= 0:
        return _NOTHING, None
    from sage_code.continuity.hooks.bringing import brief_text

    text = brief_text(state, dials, purpose, task)
    if not text:
        return _NOTHING, None
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}, None


def _answered(state: Session, number: int) -> None:
    """Note that the brief for a compaction was written."""
    with Session(state.id, state.root, _WAIT_S) as now:
        known = now.data.get("compaction")
        if isinstance(known, dict) and known.get("n") == number and known.get("state") == OFFERED:
            known["state"] = ANSWERED


def _is_being_offered(known: dict[str, Any]) -> bool:
    """Whether another process, which lives, is writing this brief: settings and plugin may call a hook each."""
    pid = known.get("pid")
    if known.get("state") != OFFERED or type(pid) is not int or pid == os.getpid():
        return False
    if time.time() - float(known.get("offered_at") or 0) > _MOMENT_S:
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _is_repeated(data: dict[str, Any], source: str) -> bool:
    """Whether another hook has answered this start of the session a moment ago."""
    now, begun = time.time(), data.get("begun")
    data["begun"] = [source, now, os.getpid()]
    if not isinstance(begun, list) or len(begun) != 3:
        return False
    return begun[0] == source and begun[2] != os.getpid() and now - float(begun[1]) < _TWIN_S


def _has_arrived(data: dict[str, Any], known: dict[str, Any]) -> bool:
    """Whether the transcript shows the brief that was offered; then it counts as answered."""
    if known.get("state") == OFFERED and known.get("brief") and int(data.get("arrived") or 0) >= known["brief"]:
        known["state"] = ANSWERED
        return True
    return False


def _is_waiting(data: dict[str, Any]) -> bool:
    """Whether a compaction has no brief yet."""
    known = data.get("compaction")
    return isinstance(known, dict) and known.get("state") in (PENDING, OFFERED) and not _has_arrived(data, known)


def _is_lost(data: dict[str, Any], known: Any) -> bool:
    """Whether a brief was answered and yet never arrived: the transcript shows earlier ones, replies, but not this."""
    if not isinstance(known, dict) or known.get("state") != ANSWERED or not known.get("brief"):
        return False
    arrived = int(data.get("arrived") or 0)
    replied = int(data.get("replies") or 0) > int(known.get("replies") or 0)
    return 0 < arrived < known["brief"] and replied and int(known.get("offers") or 0) < _MAX_OFFERS


def _first_time(data: dict[str, Any], reason: str) -> bool:
    """Whether the agent was not asked for this reason before; from now on it was."""
    asked = data.get("asked")
    asked = asked if isinstance(asked, list) else []
    if reason in asked:
        return False
    data["asked"] = [*asked, reason][-50:]
    return True


def _save_now(state: Session, trigger: str) -> None:
    from sage_code.continuity.capture import capture

    capture(state.id, state.root, trigger)


def _before_compaction(state: Session, dials: dict[str, Any]) -> None:
    """Keep what the agent is about to lose from its context: a checkpoint, and what was said."""
    try:
        if dials["capture_checkpoints"]:
            _save_now(state, "precompact")
    finally:  # after the save, which the agent waits for
        if dials["remember_conversations"] and state.transcript:
            _remember_later(state)


def _remember_later(state: Session) -> None:
    """Start the process that brings the new messages into recall memory."""
    from sage_code.continuity.hooks.background import start_capture

    start_capture(state.id, state.root, "", 0.0, None)


def _save_later(state: Session, trigger: str, confidence: float, end: int | None) -> None:
    """Start the process that saves; it sees the state as this hook leaves it."""
    from sage_code.continuity.hooks.background import start_capture

    start_capture(state.id, state.root, trigger, confidence, end)
    state.data["saved_at"] = time.time()


_HANDLERS: dict[str, Callable[[dict[str, Any], Session, dict[str, Any]], Answer]] = {
    "Stop": _stop,
    "PreCompact": _pre_compact,
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "SubagentStart": _subagent_start,
    "SessionEnd": _session_end,
}
