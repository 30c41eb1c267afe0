"""How many tokens were used, by day, model and project, from the transcripts of all projects.

One reply spans several lines that repeat its usage, and a resumed session copies lines of the old one: replies are told
apart by their message id, and of several records of one the largest figures count.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from sage_code.errors import UsageError
from sage_code.paths import find_root
from sage_code.transcripts.find import all_transcripts
from sage_code.transcripts.lines import LineReader, is_whole
from sage_code.transcripts.prices import Tokens, cost
from sage_code.transcripts.reader import is_codex
from sage_code.transcripts.touches import decode

KEYS = ("day", "model", "project")
UNKNOWN = "unknown"
# Written by the agent itself, without asking any model.
_NO_MODEL = "<synthetic>"
_MAX_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a model."""

    id: str
    day: str
    model: str
    project: str
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A group of replies; `keys` are its day, model and project, as far as they were asked for."""

    keys: tuple[str, ...]
    replies: int
    tokens: Tokens
    cost: float | None  # of those with a price; None when none has one
    unpriced: int  # tokens of models without a price


@dataclass(slots=True)
class UsageReport:
    """The groups, and what is to be said about all of them."""

    by: tuple[str, ...]
    rows: tuple[UsageRow, ...]
    total: UsageRow
    unpriced_models: tuple[str, ...]
    files: int
    corrupt: int = 0
    too_long: int = 0


@dataclass(slots=True)
class _Met:
    files: int = 0
    corrupt: int = 0
    too_long: int = 0
    replies: dict[str, Reply] = field(default_factory=dict)


def usage(by: Iterable[str] = ("day",), since: date | None = None, project: str | None = None) -> UsageReport:
    """What all agents have used since a day, in groups; only in one project when that is given."""
    keys = tuple(dict.fromkeys(by))
    if not keys or not set(keys) <= set(KEYS):
        raise UsageError(f"usage cannot be shown by {', '.join(keys) or 'nothing'}", f"by {', '.join(KEYS)}")
    met = _Met()
    start = since.isoformat() if since else ""
    for path in all_transcripts():
        if since and date.fromtimestamp(os.stat(path).st_mtime) < since:
            break  # the newest come first
        _read(path, met)
    wanted = [
        reply
        for reply in met.replies.values()
        if (not start or start <= reply.day != UNKNOWN) and (project is None or reply.project == project)
    ]
    groups: dict[tuple[str, ...], list[Reply]] = {}
    for reply in wanted:
        groups.setdefault(tuple(getattr(reply, key) for key in keys), []).append(reply)
    rows = tuple(_row(group, replies) for group, replies in sorted(groups.items()))
    unpriced = sorted({reply.model for reply in wanted if cost(reply.model, reply.tokens) is None})
    return UsageReport(keys, rows, _row((), wanted), tuple(unpriced), met.files, met.corrupt, met.too_long)


def _row(keys: tuple[str, ...], replies: list[Reply]) -> UsageRow:
    tokens, spent, unpriced = Tokens(), list[float](), 0
    for reply in replies:
        tokens += reply.tokens
        price = cost(reply.model, reply.tokens)
        if price is None:
            unpriced += reply.tokens.total
        else:
            spent.append(price)
    return UsageRow(keys, len(replies), tokens, round(sum(spent), 6) if spent else None, unpriced)


def _read(path: str, met: _Met) -> None:
    reader = LineReader(path)
    met.files += 1
    read = _codex_replies if is_codex(path) else _claude_replies
    try:
        for reply in read(reader):
            before = met.replies.get(reply.id)
            met.replies[reply.id] = replace(before, tokens=before.tokens.most(reply.tokens)) if before else reply
    except UsageError:  # deleted, or replaced by a link, since it was listed
        return
    met.corrupt += reader.reading.corrupt
    met.too_long += reader.reading.too_long


def _claude_replies(reader: LineReader) -> Iterator[Reply]:
    places = _Places()
    for record in _records(reader, b'"usage"', b'"assistant"'):
        message = record.get("message")
        given = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(given, dict) or message.get("model") == _NO_MODEL:
            continue
        nested = given.get("cache_creation")
        parts = nested if isinstance(nested, dict) else {}
        hour = _count(parts, "ephemeral_1h_input_tokens")
        # Older versions fill only one of the two places.
        written = max(_count(given, "cache_creation_input_tokens"), hour + _count(parts, "ephemeral_5m_input_tokens"))
        tokens = Tokens(
            _count(given, "input_tokens"),
            _count(given, "output_tokens"),
            _count(given, "cache_read_input_tokens"),
            written - hour,
            hour,
        )
        number = message.get("id") or record.get("requestId") or record.get("uuid")
        place = f"{reader.path}:{reader.reading.bytes}"  # a reply that nobody has named stands for itself
        model = _string(message.get("model")) or UNKNOWN
        yield Reply(_string(number) or place, _day(record), model, places.project(record.get("cwd")), tokens)


def _codex_replies(reader: LineReader) -> Iterator[Reply]:
    """Codex counts up: an event with the same sum as the last one repeats it."""
    places, model, cwd, last = _Places(), UNKNOWN, "", -1
    for record in _records(reader, b'"payload"', b'"token_count"', b'"turn_context"', b'"session_meta"'):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") in ("turn_context", "session_meta"):
            model = _string(payload.get("model")) or model
            cwd = _string(payload.get("cwd")) or cwd
        info = payload.get("info")
        if payload.get("type") != "token_count" or not isinstance(info, dict):
            continue
        step, total = (info.get(key) for key in ("last_token_usage", "total_token_usage"))
        if not isinstance(step, dict) or not isinstance(total, dict) or _count(total, "total_tokens") == last:
            continue
        last = _count(total, "total_tokens")
        cached = _count(step, "cached_input_tokens")
        fresh = max(0, _count(step, "input_tokens") - cached)
        # A session that goes on from another one repeats its events, with their times.
        number = f"codex:{record.get('timestamp')}:{last}"
        yield Reply(
            number, _day(record), model, places.project(cwd), Tokens(fresh, _count(step, "output_tokens"), cached)
        )


def _records(reader: LineReader, always: bytes, *one_of: bytes) -> Iterator[dict[str, Any]]:
    for line in reader:
        if not is_whole(line):
            reader.reading.corrupt += 1
        elif always in line and any(needle in line for needle in one_of):
            try:
                record = decode(line)
            except ValueError:
                reader.reading.corrupt += 1
                continue
            if record:
                yield record


class _Places:
    """The project that a folder belongs to, asked of the disk once for each folder."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def project(self, cwd: object) -> str:
        if not isinstance(cwd, str) or not os.path.isabs(cwd) or "\0" in cwd:
            return UNKNOWN
        if cwd not in self._known:
            self._known[cwd] = find_root(cwd) if os.path.isdir(cwd) else cwd
        return self._known[cwd]


def _count(given: dict[str, Any], key: str) -> int:
    value = given.get(key)
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else 0


def _day(record: dict[str, Any]) -> str:
    """The day where the user is."""
    try:
        return datetime.fromisoformat(_string(record.get("timestamp"))).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return UNKNOWN


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
