"""Turns plain JSON lines into messages: one object a line, with a role, a text, and what else is known of it.

    {"role": "user", "content": "…", "timestamp": "2026-03-01T10:00:00Z", "session": "s1", "name": "Ann", "id": "7"}

Only the text is needed. `text` is another name of `content`, which may be a list of blocks; `created_at` and `time` of
`timestamp`, which may be a number; `session_id` of `session`; `speaker` of `name`. Other fields are ignored. Without an
id, the id of a message comes from session, role, time and text, and a number for equal ones, which a file that has
grown gives them again: it is read from its beginning.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import xxhash

from sage_code.memory.tiers.message_ids import id_of
from sage_code.memory.tiers.values import ROLES, NewMessage
from sage_code.text.light_json import loads
from sage_code.transcripts.lines import is_text, is_whole

PLAIN = "jsonl"
_CONTENT, _TIMES = ("content", "text"), ("timestamp", "created_at", "time")
_SESSIONS, _SPEAKERS = ("session", "session_id"), ("name", "speaker")
_OTHER_ROLES = {
    "human": "user", "person": "user", "customer": "user", "ai": "assistant", "agent": "assistant",
    "bot": "assistant", "model": "assistant", "function": "tool", "developer": "system",
}  # fmt: skip
_MAX_ID_CHARS = 200
# A message of more characters becomes several; recall memory refuses a million.
_PIECE_CHARS = 500_000
# Seconds since 1970 are below this until the year 5138; larger numbers are milliseconds.
_MOST_SECONDS = 1e11


class PlainMessages:
    """Reads one file, line by line, from its beginning."""

    def __init__(self, agent_id: str, path: str) -> None:
        self._space = UUID(agent_id).bytes
        self._session = os.path.splitext(os.path.basename(path))[0][:_MAX_ID_CHARS]
        try:
            self._time = datetime.fromtimestamp(os.stat(path).st_mtime, UTC)
        except OSError:
            self._time = datetime.now(UTC)
        self._equal: dict[int, int] = {}
        self.source = PLAIN
        self.channels: dict[str, str] = {}  # session → channel

    def messages(self, line: bytes) -> list[NewMessage]:
        """The messages of a line; ValueError for one that is none."""
        if not line.strip():
            return []
        if not is_whole(line.lstrip()) or not is_text(line):
            raise ValueError("no record")
        try:
            record = loads(line.strip())
        except RecursionError:
            raise ValueError("the record is nested too deeply") from None
        text = is_record(record) and text_of(first(record, _CONTENT)).strip()
        if not text:
            raise ValueError("no message")
        return list(self._read(record, text))

    def _read(self, record: Mapping[str, Any], text: str) -> Iterator[NewMessage]:
        """The message of a record; several if it is too long for one."""
        session = _name(first(record, _SESSIONS)) or self._session
        speaker, said_role = _name(first(record, _SPEAKERS)), _name(record.get("role")).lower()
        role = said_role if said_role in ROLES else _OTHER_ROLES.get(said_role, "user")
        if role == "user" and said_role not in ("", "user", *_OTHER_ROLES):
            speaker = speaker or said_role
        when = moment(first(record, _TIMES))
        self._time = when or self._time
        if channel := _name(record.get("channel")):
            self.channels[session] = channel
        key = self._key(record, session, f"{role}\n{speaker}\n{when}\n{text}")
        for number, start in enumerate(range(0, len(text), _PIECE_CHARS)):
            yield NewMessage(
                role=role,
                content=text[start : start + _PIECE_CHARS],
                id=id_of(self._space, f"{key}\n{number}" if number else key),
                session=session,
                created_at=self._time,
                speaker=speaker,
            )

    def _key(self, record: Mapping[str, Any], session: str, said: str) -> str:
        """What tells a message from all others of the agent."""
        if own := _name(record.get("id")):
            return f"{PLAIN}\n{session}\n{own}"
        key = f"{PLAIN}\n{session}\n{xxhash.xxh3_128_hexdigest(said.encode('utf-8', 'replace'))}"
        short = xxhash.xxh3_64_intdigest(key.encode("utf-8", "replace"))
        number = self._equal[short] = self._equal.get(short, -1) + 1
        return f"{key}\n{number}"


def is_record(record: object) -> bool:
    """Whether an object is a message of a plain file: it has a text, and is no record of an agent."""
    if not isinstance(record, dict) or isinstance(record.get("payload"), dict) or "sessionId" in record:
        return False
    return any(isinstance(record.get(key), str | list | dict) for key in _CONTENT)


def text_of(content: object) -> str:
    """The text of a message, which may be a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") if "text" in content else content.get("parts"))
    if isinstance(content, list):
        texts = (block if isinstance(block, str) else _block(block) for block in content)
        return "\n".join(text for text in texts if text)
    return ""


def moment(value: object) -> datetime | None:
    """A time as files have it: ISO 8601, or seconds or milliseconds since 1970. Without a zone it is UTC."""
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).isdigit():
            found = datetime.fromisoformat(value.strip())
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            seconds = float(value)
            return datetime.fromtimestamp(seconds / 1_000 if abs(seconds) > _MOST_SECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def first(record: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of these keys that a record has."""
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _block(block: object) -> str:
    """The text of a block; what is called or returned by a tool is no text."""
    if not isinstance(block, dict) or block.get("type", "text") not in ("text", "input_text", "output_text"):
        return ""
    return block["text"] if isinstance(block.get("text"), str) else ""


def _name(value: object) -> str:
    """A name or a number as text; empty for anything else."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        return str(value)
    return " ".join(value.split())[:_MAX_ID_CHARS] if isinstance(value, str) else ""
