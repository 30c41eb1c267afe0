"""Turns the lines of transcripts of Claude Code and Codex into messages, each with an id that every reader gives it.

What the user and the agent said, what was asked of subagents and what these answered, calls of tools and failed results
in short, summaries of compactions. Tool output is left out. An id comes from the record's own UUID if it has one, so
that a session that was forked or resumed into another file does not double what it repeats; otherwise from session,
role, time and text, and a number for equal texts at one time. A hook, the watcher and an import so store each message
once. No NumPy is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import xxhash

from sage_code.memory.tiers.message_ids import id_of
from sage_code.memory.tiers.values import NewMessage
from sage_code.paths import find_root
from sage_code.text.light_json import loads
from sage_code.transcripts.conversation import AGENT, CALL, ERROR, PLACE, SUMMARY, USER, Said, record_and_events

CLAUDE, CODEX = "claude", "codex"
# Ids that nobody else gives: a UUID as it is usually spelt, an id of OpenAI's API.
_UNIQUE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:call|msg|fc|ctc)_[0-9A-Za-z]{20,64}", re.IGNORECASE
)
_SESSION_IN_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_ROLES = {USER: "user", AGENT: "assistant", CALL: "tool", ERROR: "tool", SUMMARY: "summary"}
# A call is remembered by what it was about, an error by its first lines.
_MAX_CALL_CHARS, _MAX_ERROR_CHARS = 500, 500
_ABOUT = ("command", "prompt", "about")
_MAX_ID_CHARS = 200
# The end of the year 9999, in seconds since 1970: the last time that Python knows.
_LAST_TIME = 253_402_300_799.0
# Texts at one time that are told apart; more of them are not a conversation.
_MAX_EQUAL = 200
# Folders whose project is remembered; a transcript has a few.
_MAX_FOLDERS = 1_000
_AGENT_SPEAKER, _SUBAGENT_SPEAKER = "agent", "subagent"


class TranscriptMessages:
    """Reads one file, line by line. `state` is what the next reader needs to give the same ids."""

    def __init__(self, agent_id: str, path: str, state: Mapping[str, Any] | None = None) -> None:
        state = state or {}
        self._space = UUID(agent_id).bytes
        self._named, self._has_session = _session_of(path), bool(state.get("session"))
        self.session = _string(state.get("session")) or self._named
        self.source = CODEX if state.get("source") == CODEX else CLAUDE
        self._project = _string(state.get("project"))
        self._branch = ""
        self._time = _number(state.get("time"))
        self._last_time = self._time or _modified(path)
        equal = state.get("equal")
        self._equal: dict[str, int] = {str(key): int(_number(value)) for key, value in (equal or {}).items()}
        self._roots: dict[str, str] = {}
        self.projects: dict[str, str] = {}  # session → project, of the messages that were read

    def state(self) -> dict[str, Any]:
        """What the next reader of the file needs. There is no text of the file in it."""
        return {
            "session": self.session, "source": self.source, "project": self._project, "time": self._time,
            "equal": self._equal,
        }  # fmt: skip

    def messages(self, line: bytes) -> list[NewMessage]:
        """The messages of a line; ValueError for a damaged one."""
        record, events = record_and_events(line, errors=True, sidechain=True)
        if not events:
            return []
        found: list[NewMessage] = []
        numbers: dict[str, int] = {}
        session = self._enter(record)
        for event in events:
            if event.kind == PLACE:
                self._branch = _string(event.detail.get("gitBranch"))[:_MAX_ID_CHARS] or self._branch
                self._be_in(session, event.detail.get("cwd"))
            elif role := _ROLES.get(event.kind):
                number = numbers[event.kind] = numbers.get(event.kind, -1) + 1
                if message := self._message(record, event, session, role, number):
                    found.append(message)
        return found

    def _enter(self, record: Mapping[str, Any]) -> str:
        """The session that a record belongs to. A file of Codex names it in its first record."""
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return _string(record.get("sessionId"))[:_MAX_ID_CHARS] or self.session
        self.source = CODEX
        if record.get("type") == "session_meta" and not self._has_session:
            self.session = _string(payload.get("id"))[:_MAX_ID_CHARS] or self.session
            self._has_session = True
        return self.session

    def _be_in(self, session: str, cwd: object) -> None:
        """Note the project of a session: that of the folder in which it began."""
        if session in self.projects or not isinstance(cwd, str) or not os.path.isabs(cwd) or "\0" in cwd:
            return
        if session == self.session and self._project:
            self.projects[session] = self._project
            return
        if cwd not in self._roots:
            if len(self._roots) >= _MAX_FOLDERS:
                self._roots.clear()
            self._roots[cwd] = find_root(cwd) if os.path.isdir(cwd) else os.path.normpath(cwd)
        self.projects[session] = self._roots[cwd]
        if session == self.session:
            self._project = self._roots[cwd]

    def _message(
        self, record: Mapping[str, Any], event: Said, session: str, role: str, number: int
    ) -> NewMessage | None:
        """An event as a message; None if there is nothing in it."""
        text = _text_of(event, self.projects.get(session) or self._project)
        if not text:
            return None
        when = event.time if 0 < event.time <= _LAST_TIME else 0.0  # not "nan", nor beyond the calendar
        self._last_time = when or self._last_time
        is_aside = bool(record.get("isSidechain"))
        speaker, metadata = "", {}
        if is_aside:
            role = "assistant" if role == "user" else role  # the agent is the one who asks a subagent
            speaker = _AGENT_SPEAKER if event.kind == USER else _SUBAGENT_SPEAKER
            if name := _string(record.get("agentId"))[:_MAX_ID_CHARS]:
                metadata = {"subagent": name}
        elif role == "user" and self._branch:
            metadata = {"branch": self._branch}
        return NewMessage(
            role=role,
            content=text,
            id=id_of(self._space, self._key(record, event.kind, session, when, text, number)),
            session=session,
            created_at=datetime.fromtimestamp(self._last_time, UTC),
            speaker=speaker,
            tool_name=event.text if event.kind == CALL else "",
            metadata=metadata,
        )

    def _key(self, record: Mapping[str, Any], kind: str, session: str, when: float, text: str, number: int) -> str:
        """What tells a message from all others of the agent."""
        payload = record.get("payload")
        of = payload if isinstance(payload, dict) else record
        own = next((name for key in ("uuid", "id", "call_id") if (name := _string(of.get(key)))), "")[:_MAX_ID_CHARS]
        if own:
            whose = "" if _UNIQUE.fullmatch(own) else session
            return f"{whose}\n{own}\n{kind}\n{number}"
        if when != self._time:
            self._time = when
            self._equal.clear()
        key = f"{session}\n{kind}\n{when}\n{xxhash.xxh3_128_hexdigest(text.encode('utf-8', 'replace'))}"
        short = xxhash.xxh3_64_hexdigest(key.encode("utf-8", "replace"))
        count = self._equal.get(short, 0)
        if short in self._equal or len(self._equal) < _MAX_EQUAL:
            self._equal[short] = count + 1
        return f"{key}\n{count}"


def _text_of(event: Said, project: str) -> str:
    """The text of a message: what was said, or in short what a tool was called for."""
    if event.kind == ERROR:
        return event.text[:_MAX_ERROR_CHARS].strip()
    if event.kind != CALL:
        return event.text.strip()
    if event.files:
        about = event.files[0]
        if project and about.startswith(project.rstrip(os.sep) + os.sep):
            about = about[len(project.rstrip(os.sep)) + 1 :]
    else:
        about = next(
            (_string(event.detail.get(key)) for key in ("command", "prompt", "about") if event.detail.get(key)), ""
        )
    about = _command_of(about)[:_MAX_CALL_CHARS].strip()
    return f"{event.text}: {about}" if about else event.text


def _command_of(arguments: str) -> str:
    """The command in the arguments of a call of Codex, which are JSON; any other text as it is."""
    if arguments[:1] != "{":
        return arguments
    try:
        given = loads(arguments.strip().encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return arguments
    command = next((given[key] for key in ("command", "cmd", "query", "path") if key in given), None)
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return command if isinstance(command, str) else arguments


def _session_of(path: str) -> str:
    """The session that the name of a file says."""
    parts = os.path.normpath(path).split(os.sep)
    if "subagents" in parts[1:-1]:
        return parts[parts.index("subagents") - 1]
    stem = os.path.splitext(parts[-1])[0]
    found = _SESSION_IN_NAME.findall(stem)
    return found[-1] if found else stem[:_MAX_ID_CHARS]


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
