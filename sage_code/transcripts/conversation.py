"""What was said in a session: messages of the user and the agent, calls of tools, errors, compactions, injected text.

`said(line)` gives the events of one line of a transcript of Claude Code or Codex. Tool output is left out, except for
errors on request. Text that a program wrapped into a message (reminders, hook output, Sage's own briefs) is cut out,
so that Sage never takes its own words for somebody's. The formats are internal to the agents: unknown records are
skipped and no field is required. A hook reads transcripts here: only small modules are imported.
"""

from __future__ import annotations

import os
import re
from collections import namedtuple

from sage_code.text.light_json import loads
from sage_code.transcripts.lines import is_text, is_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NamedTuple

    class Said(NamedTuple):
        """One event of a session."""

        kind: str
        text: str = ""  # the message, the name of the tool, the error, the id of the compaction, the summary
        time: float = 0.0  # seconds since 1970; 0 if it is not known
        files: tuple[str, ...] = ()  # absolute paths that a call names
        detail: Mapping[str, Any] = {}
else:
    Said = namedtuple("Said", "kind text time files detail", defaults=("", 0.0, (), {}))  # noqa: PYI024 - see `lines.py`

USER, AGENT, CALL, ERROR = "user", "agent", "call", "error"
COMPACTION, SUMMARY, INJECTED, USAGE, PLACE = "compaction", "summary", "injected", "usage", "place"
# The element around everything that Sage gives to an agent by itself.
BRIEF_TAG = "sage-brief"

# Longer messages carry data. What people and agents say about it is at the beginning and at the end.
_MAX_TEXT_CHARS = 64_000
_HALF = _MAX_TEXT_CHARS // 2
_MAX_PATH_CHARS = 4_096
# Elements that programs write around text of theirs inside of a message.
_WRAPPERS = (
    BRIEF_TAG, "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
    "bash-stdout", "bash-stderr", "bash-input", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "user-prompt-submit-hook", "session-start-hook", "persisted-output", "task-notification", "teammate-message",
    "environment_context", "user_instructions", "INSTRUCTIONS", "turn_aborted", "command-message", "fetched",
)  # fmt: skip
# How older versions of Claude Code begin the message with what hooks have added.
_HOOK_WRAPPERS = (f"<{BRIEF_TAG} ", "<system-reminder>", "<user-prompt-submit-hook>", "<session-start-hook>")
_NOT_SAID = ("[Request interrupted", "Caveat: The messages below", "# AGENTS.md instructions", "API Error:")
_CONTINUED = "This session is being continued from a previous conversation"
# The record is decoded only if one of these is in its bytes; most lines are tool results and snapshots.
_CLAUDE_NEEDLES = (b'"text"', b'"tool_use"', b"compact_boundary", b"isCompactSummary")
_CODEX_NEEDLES = (
    b'"message"', b'"compacted"', b'"function_call"', b'"custom_tool_call"', b'"token_count"', b'"session_meta"',
    b'"turn_context"',
)  # fmt: skip
# How a failed result is marked, with and without a blank.
_FAILED = (b'"is_error":true', b'"is_error": true')
# Compiled when it is needed, which a hook seldom does.
_BRIEF = rb"<" + BRIEF_TAG.encode() + rb" n=(\d{1,9})>"
_CHANGES = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS = {"Read": "file_path", "NotebookRead": "notebook_path"}
# What a call is about that has neither file nor command, by the first of these arguments.
_ABOUT = ("pattern", "query", "url", "description", "path", "name", "skill")
_MAX_ABOUT = 400
_USAGE_KEYS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def said(line: bytes, *, errors: bool = False) -> Iterable[Said]:
    """The events of a line, in order; ValueError for a damaged line.

    With `errors` the failed results of tools are events too.
    """
    return record_and_events(line, errors=errors)[1]


def record_and_events(
    line: bytes, *, errors: bool = False, sidechain: bool = False
) -> tuple[dict[str, Any], Iterable[Said]]:
    """The record of a line and its events; the record is empty if the line was not decoded, and has no event then.

    With `sidechain` what subagents say and do counts too.
    """
    if b'"payload"' in line[:400]:
        return _codex(line, errors)
    if b'"tool_result"' in line:
        if not errors or not any(mark in line for mark in _FAILED):
            return {}, ()
        record = _decode(line)
        return record, list(_failures(record, sidechain))
    if b"<" + BRIEF_TAG.encode() in line and b'"assistant"' not in line[:400]:
        record = _decode(line)
        found = [Said(INJECTED, number.decode()) for number in re.findall(_BRIEF, line)] if _is_of_hook(record) else []
        return record, [*found, *_claude(record, sidechain)]
    if any(needle in line for needle in _CLAUDE_NEEDLES) or b'"user"' in line[:2_000]:
        record = _decode(line)
        return record, list(_claude(record, sidechain))
    return {}, ()


def clock(stamp: object) -> float:
    """The seconds since 1970 of an ISO 8601 time in UTC; 0 for anything else. `datetime` takes 3 ms to import."""
    if not isinstance(stamp, str) or len(stamp) < 19:
        return 0.0
    try:
        year, month, day = int(stamp[:4]), int(stamp[5:7]), int(stamp[8:10])
        seconds = int(stamp[11:13]) * 3600 + int(stamp[14:16]) * 60 + float(stamp[17:].rstrip("Z") or 0)
    except ValueError:
        return 0.0
    if not (1970 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= 31):
        return 0.0
    # Days since 1970, with years that begin in March, so that the leap day is the last day of a year.
    year -= month <= 2
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = year * 365 + year // 4 - year // 100 + year // 400 + day_of_year - 719_468
    return days * 86_400 + seconds


def words_of_user(text: str) -> str:
    """What the user typed, in the text of a message; empty if a program wrote all of it."""
    if "<command-name>" in text:
        name, arguments = _element(text, "command-name"), _element(text, "command-args")
        return f"{name} {arguments}" if arguments else ""
    text = without_wrappers(text)
    return "" if text.startswith(_NOT_SAID) else text


def without_wrappers(text: str) -> str:
    """The text without the elements that programs write into messages; one without an end goes on to the text's end."""
    if len(text) > _MAX_TEXT_CHARS:
        text = f"{text[:_HALF]}\n…\n{text[-_HALF:]}"
    for tag in _WRAPPERS if "<" in text else ():
        start = text.find(f"<{tag}")
        while start >= 0:
            after = text[start + len(tag) + 1 : start + len(tag) + 2]
            if after not in (">", " ", "\n", ""):  # another element, whose name begins alike
                start = text.find(f"<{tag}", start + 1)
                continue
            end = text.find(f"</{tag}>", start)
            text = text[:start] + (text[end + len(tag) + 3 :] if end >= 0 else "")
            start = text.find(f"<{tag}", start)
    return text.strip()


def _decode(line: bytes) -> dict[str, Any]:
    """The record in a line; empty if it is no object."""
    if not is_whole(line) or not is_text(line):
        raise ValueError("no record")
    try:
        record = loads(line.strip())
    except RecursionError:
        raise ValueError("the record is nested too deeply") from None
    return record if isinstance(record, dict) else {}


def _is_of_hook(record: dict[str, Any]) -> bool:
    """Whether a record holds what a hook has added: nobody else's text is a brief, whatever it looks like."""
    attachment = record.get("attachment")
    if isinstance(attachment, dict):
        return _text(attachment.get("type")).startswith("hook_")
    if record.get("type") == "system":
        return _text(record.get("subtype")).startswith("hook")
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [_text(block.get("text")).lstrip() for block in blocks if isinstance(block, dict)]
    return any(text.startswith(_HOOK_WRAPPERS) and f"<{BRIEF_TAG}" in text for text in texts)


def _claude(record: dict[str, Any], sidechain: bool) -> Iterator[Said]:
    """The events of a record of Claude Code, except for tool results."""
    kind, time = record.get("type"), clock(record.get("timestamp"))
    if record.get("isMeta") or (record.get("isSidechain") and not sidechain):
        return
    if kind == "system" and record.get("subtype") == "compact_boundary":
        data = record.get("compactMetadata")
        data = data if isinstance(data, dict) else {}
        yield Said(COMPACTION, _text(record.get("uuid"))[:100], time, (), data)
        return
    if kind not in ("user", "assistant"):
        return
    place = {key: record[key] for key in ("cwd", "gitBranch") if isinstance(record.get(key), str)}
    if place:
        yield Said(PLACE, "", time, (), place)
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    texts = [block if isinstance(block, str) else _text(block.get("text")) for block in blocks if _is_text(block)]
    text = "\n".join(texts)
    if record.get("isCompactSummary") or (kind == "user" and text.startswith(_CONTINUED)):
        id_ = _text(record.get("uuid"))[:100] if record.get("isCompactSummary") is True else ""
        yield Said(SUMMARY, text[:_MAX_TEXT_CHARS], time, (), {"id": id_} if id_ else {})
    elif kind == "user":
        if typed := words_of_user(text):
            yield Said(USER, typed, time)
    else:
        if (spoken := without_wrappers(text)) and not spoken.startswith(_NOT_SAID):
            yield Said(AGENT, spoken, time)
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                yield _call(_text(block.get("name")), block.get("input"), record.get("cwd"), time)
        yield from _usage(message, time)


def _usage(message: Any, time: float) -> Iterator[Said]:
    """The tokens of the context at a reply, and the model."""
    usage = message.get("usage") if isinstance(message, dict) else None
    if isinstance(usage, dict):
        counts = [usage.get(key) for key in _USAGE_KEYS]
        created = usage.get("cache_creation")
        if not counts[2] and isinstance(created, dict):  # older versions have only the parts
            counts[2] = sum(part for part in created.values() if type(part) is int)
        fill = sum(count for count in counts if type(count) is int and 0 < count < 10**9)
        if fill:
            yield Said(USAGE, _text(message.get("model"))[:100], time, (), {"fill": fill})


def _call(tool: str, given: object, cwd: object, time: float) -> Said:
    """The call of a tool, with the file that it names and its command."""
    given = given if isinstance(given, dict) else {}
    path = given.get(_CHANGES.get(tool) or _READS.get(tool) or "")
    files: tuple[str, ...] = ()
    if isinstance(path, str) and 0 < len(path) <= _MAX_PATH_CHARS and "\0" not in path:
        folder = cwd if isinstance(cwd, str) else ""
        files = (os.path.normpath(os.path.join(folder, path)),)
    command = _text(given.get("command"))[:_MAX_PATH_CHARS]
    about = next((text for key in _ABOUT if (text := _text(given.get(key)))), "")
    detail: dict[str, object] = {"command": command} if command else {"about": about[:_MAX_ABOUT]} if about else {}
    if tool in ("Agent", "Task"):
        detail = {"prompt": _text(given.get("prompt"))[:_MAX_PATH_CHARS], "agent": _text(given.get("subagent_type"))}
    if tool in _CHANGES:
        detail = {"changes": True}
    return Said(CALL, tool[:200], time, files, detail)


def _failures(record: dict[str, Any], sidechain: bool) -> Iterator[Said]:
    """The failed results in a record."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or (record.get("isSidechain") and not sidechain):
        return
    for block in content:
        if isinstance(block, dict) and block.get("is_error") is True:
            parts = block.get("content")
            if isinstance(parts, list):
                parts = "\n".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
            if text := without_wrappers(_text(parts)):
                yield Said(ERROR, text, clock(record.get("timestamp")))


def _codex(line: bytes, errors: bool) -> tuple[dict[str, Any], Iterable[Said]]:
    """The record and the events of a line of Codex."""
    if not any(needle in line for needle in _CODEX_NEEDLES) and not (errors and b'_output"' in line):
        return {}, ()
    record = _decode(line)
    return record, list(_codex_events(record, errors))


def _codex_events(record: dict[str, Any], errors: bool) -> Iterator[Said]:
    """The events of a record of Codex."""
    payload, kind, time = record.get("payload"), record.get("type"), clock(record.get("timestamp"))
    if not isinstance(payload, dict):
        return
    inner = payload.get("type")
    if kind == "compacted":
        yield Said(COMPACTION, _text(record.get("timestamp"))[:100], time, (), {"trigger": "auto"})
        if summary := _text(payload.get("message")):
            yield Said(SUMMARY, summary[:_MAX_TEXT_CHARS], time)
    elif kind in ("session_meta", "turn_context"):
        git = payload.get("git")
        branch = git.get("branch") if isinstance(git, dict) else None
        place = {"cwd": payload.get("cwd"), "gitBranch": branch}
        yield Said(PLACE, "", time, (), {key: value for key, value in place.items() if isinstance(value, str)})
    elif inner == "message" and isinstance(payload.get("content"), list):
        text = "\n".join(_text(block.get("text")) for block in payload["content"] if isinstance(block, dict))
        if payload.get("role") == "user" and (typed := words_of_user(text)):
            yield Said(USER, typed, time)
        elif payload.get("role") == "assistant" and (spoken := without_wrappers(text)):
            yield Said(AGENT, spoken, time)
    elif inner in ("function_call", "custom_tool_call"):
        command = _text(payload.get("arguments") or payload.get("input"))[:_MAX_PATH_CHARS]
        yield Said(CALL, _text(payload.get("name"))[:200], time, (), {"command": command})
    elif inner == "token_count" and isinstance(info := payload.get("info"), dict):
        last = info.get("last_token_usage")
        fill = last.get("input_tokens") if isinstance(last, dict) else None
        window = info.get("model_context_window")
        if type(fill) is int and 0 < fill < 10**9:
            yield Said(USAGE, "", time, (), {"fill": fill} | ({"window": window} if type(window) is int else {}))
    elif errors and inner in ("function_call_output", "custom_tool_call_output"):
        output = payload.get("output")
        if isinstance(output, str) and re.match(r"(?:Exit code:|Process exited with code) ?[1-9]", output):
            yield Said(ERROR, output[:_MAX_TEXT_CHARS], time)


def _is_text(block: object) -> bool:
    return isinstance(block, str) or (isinstance(block, dict) and block.get("type") == "text")


def _element(text: str, tag: str) -> str:
    start, end = text.find(f"<{tag}>"), text.find(f"</{tag}>")
    return " ".join(text[start + len(tag) + 2 : end].split())[:_MAX_PATH_CHARS] if 0 <= start < end else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
