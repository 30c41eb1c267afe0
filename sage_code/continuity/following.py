"""Follows the transcript of a session: reads what is new since the last time and keeps what hooks decide by.

The state of a session has under
    seen          the cursor behind the last line that was read
    turn          the exchange that is going on: what the user asked, what the agent said, the files that it named
    starts        where the last exchanges begin in the transcript, for a topic that ended some messages ago
    exchanges     how many exchanges there were
    replies       how many messages of the agent there were
    task          what the last subagent was asked to do
    fill, model   the tokens of the context at the last reply
    compaction    the last compaction: its number and id, how its brief stands
    summary_due   the summary of that compaction was not read yet
    announced     whether PreCompact was called, and neither hook nor transcript has shown the compaction yet
    published     the number of the last compaction that a hook has published as an event
    arrived       the number of the last brief that the transcript shows
A line that is only half written is read the next time. Work and memory depend on what is new, not on the transcript.
"""

from __future__ import annotations

import time

from sage_code.continuity.session import ANSWERED, PENDING
from sage_code.errors import UsageError
from sage_code.transcripts.conversation import AGENT, CALL, COMPACTION, INJECTED, PLACE, SUMMARY, USAGE, USER, said
from sage_code.transcripts.lines import Cursor, LineReader, cursor_near_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sage_code.continuity.session import Session
    from sage_code.transcripts.conversation import Said

# What one hook reads at most. Only a transcript that is new to Sage can be longer; then its end counts.
MAX_NEW_BYTES = 8 << 20
# The text of an exchange that triggers are judged by: its beginning and its end.
_MAX_SIDE_CHARS = 6_000
_MAX_FILES = 60
_KEPT_STARTS = 12
_WEB_TOOLS = frozenset({"WebSearch", "WebFetch", "web_search"})
_MAX_MODELS = 8
# A session has far fewer; a larger number was made up by somebody.
_MAX_BRIEFS = 100_000
# The hook that announces a compaction and the line in the transcript are this close to each other.
_SAME_COMPACTION_S = 60.0


def follow(session: Session, *, new_bytes: int = MAX_NEW_BYTES) -> bool:
    """Read the new lines of the transcript into the state; whether there were any. A missing transcript has none."""
    data, path = session.data, session.transcript
    if not path:
        return False
    try:
        reader = LineReader(path, cursor_near_end(path, _cursor(data.get("seen")), new_bytes))
        before = reader.stats.lines
        for line in reader:
            try:
                events = said(line)
            except ValueError:
                data["corrupt"] = int(data.get("corrupt") or 0) + 1
                continue
            for event in events:
                _take(data, event, reader.offset - len(line) - 1)
        data["seen"] = list(reader.cursor())
    except UsageError:  # it is gone, or is no regular file
        return False
    if reader.stats.restarted:
        data["captured"] = None  # another file has its name
    return reader.stats.lines > before


def turn_of(data: dict[str, Any]) -> dict[str, Any]:
    """The exchange that is going on."""
    turn = data.get("turn")
    if not isinstance(turn, dict):
        turn = data["turn"] = {"user": "", "agent": "", "files": [], "time": 0.0, "searches": 0, "committed": False}
    return turn


def expect_compaction(data: dict[str, Any]) -> dict[str, Any]:
    """The compaction that a hook announces; the transcript may show it later."""
    known = data.get("compaction")
    known = known if isinstance(known, dict) else {}
    announced = data.pop("announced", False)
    age = time.time() - float(known.get("at") or 0)
    is_recent = not announced and bool(known.get("id")) and age < _SAME_COMPACTION_S
    if not known or (known.get("state") == ANSWERED and not is_recent):
        known = data["compaction"] = _compaction(known, "")
    return known


def _cursor(seen: Any) -> Cursor | None:
    """The cursor that the state keeps."""
    return Cursor(*seen) if isinstance(seen, list) and len(seen) == len(Cursor._fields) else None


def _take(data: dict[str, Any], event: Said, offset: int) -> None:
    """Add one event to the state."""
    turn = turn_of(data)
    if event.kind == USER:
        if turn["agent"] or not turn["user"]:  # otherwise the user goes on with the same request
            data["starts"] = [*(data.get("starts") or []), [int(data.get("exchanges") or 0), offset]][-_KEPT_STARTS:]
        turn["user"] = _joined(turn["user"], event.text)
        turn["time"] = event.time or turn["time"]
    elif event.kind == AGENT:
        data["replies"] = int(data.get("replies") or 0) + 1
        if event.text != data.get("heard"):  # the hook has given it already
            turn["agent"] = _joined(turn["agent"], event.text)
    elif event.kind == CALL:
        turn["files"] = list(dict.fromkeys([*turn["files"], *event.files]))[-_MAX_FILES:]
        turn["searches"] += event.text in _WEB_TOOLS
        data["task"] = event.detail.get("prompt") or data.get("task") or ""
        turn["committed"] |= "git commit" in str(event.detail.get("command", ""))
    elif event.kind == USAGE:
        data["fill"] = int(event.detail["fill"])
        data["model"] = event.text or data.get("model") or ""
        if event.detail.get("window"):
            data["window"] = int(event.detail["window"])
    elif event.kind == PLACE:
        data["branch"] = event.detail.get("gitBranch") or data.get("branch") or ""
    elif event.kind == INJECTED:
        _injected(data, int(event.text))
    elif event.kind == COMPACTION:
        _compacted(data, event)
        data["summary_due"] = True
    elif event.kind == SUMMARY and not data.pop("summary_due", False) and event.detail.get("id"):
        _compacted(data, event)  # some versions write no boundary before it


def compaction_id(event: Said) -> str:
    """The id of a compaction, from its boundary or its summary."""
    return str(event.detail.get("id") or "") if event.kind == SUMMARY else event.text or str(event.time)


def _injected(data: dict[str, Any], number: int) -> None:
    """Note a brief that the transcript shows. One that Sage has not given is made up, unless the state was lost."""
    given = int(data.get("briefs") or 0)
    if not given and 0 < number < _MAX_BRIEFS:
        given = data["briefs"] = number
    if not 0 < number <= given:
        return
    data["arrived"] = max(int(data.get("arrived") or 0), number)
    known = data.get("compaction")
    if isinstance(known, dict) and known.get("state") == PENDING:
        known |= {"state": ANSWERED, "brief": number}  # it came after the compaction, by a hook that nobody remembers


def _compacted(data: dict[str, Any], event: Said) -> None:
    """Note a compaction; one that a hook has announced gets its id."""
    data["fill"], data["threshold_passed"] = 0, False
    data.pop("announced", None)
    tokens, model = event.detail.get("preTokens"), str(data.get("model") or "")
    if event.detail.get("trigger") == "auto" and type(tokens) is int and tokens > 0:
        # The context is full where the agent compacts by itself, whatever the model's name promises.
        data["full_at"] = dict([*(data.get("full_at") or {}).items(), (model, tokens)][-_MAX_MODELS:])
    known = data.get("compaction")
    known = known if isinstance(known, dict) else {}
    name = compaction_id(event)
    if known.get("id") == name:
        return
    # One that a hook announced long before has never come.
    if known and not known.get("id") and event.time - float(known.get("at") or 0) < _SAME_COMPACTION_S:
        known["id"] = name
    else:
        data["compaction"] = _compaction(known, name)


def _compaction(before: Any, name: str) -> dict[str, Any]:
    """A new compaction, after the last one."""
    number = int(before.get("n") or 0) if isinstance(before, dict) else 0
    return {"n": number + 1, "id": name, "state": PENDING, "at": time.time()}


def _joined(before: str, text: str) -> str:
    """Two texts as one, without the middle if it is too long."""
    whole = f"{before}\n\n{text}" if before else text
    if len(whole) <= 2 * _MAX_SIDE_CHARS:
        return whole
    return f"{whole[:_MAX_SIDE_CHARS]}\n…\n{whole[-_MAX_SIDE_CHARS:]}"
