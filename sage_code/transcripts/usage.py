"""Counts the tokens that were used, by day, model and project, from the transcripts of all projects.

A reply has several lines that repeat its usage, and a resumed session copies lines of the old one. So replies are
identified by their message id, and the largest counts of a reply's records are used.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache
from typing import Any

from sage_code.errors import UsageError
from sage_code.paths import find_root
from sage_code.transcripts.find import all_transcripts
from sage_code.transcripts.lines import LineReader, ReadStats, is_whole
from sage_code.transcripts.prices import Tokens, cost
from sage_code.transcripts.reader import is_codex
from sage_code.transcripts.touches import decode, string_or_empty

KEYS = ("day", "model", "project")
UNKNOWN = "unknown"
# The model of messages that the agent writes itself.
_NO_MODEL = "<synthetic>"
_MAX_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model."""

    id: str
    day: str
    model: str
    project: str
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class UsageRow:
    """A group of replies with the same day, model or project."""

    keys: tuple[str, ...]  # the values of `UsageReport.by`
    replies: int
    tokens: Tokens
    cost: float | None  # of the replies with a price; None if there are none
    unpriced: int  # tokens of models without a price


@dataclass(slots=True)
class UsageReport:
    """The groups and their total."""

    by: tuple[str, ...]
    rows: tuple[UsageRow, ...]
    total: UsageRow
    unpriced_models: tuple[str, ...]
    files: int
    corrupt: int = 0
    too_long: int = 0


def usage(by: Iterable[str] = ("day",), since: date | None = None, project: str | None = None) -> UsageReport:
    """The usage of all agents since a day, in groups; with `project`, of that project only."""
    keys = tuple(dict.fromkeys(by))
    if not keys or not set(keys) <= set(KEYS):
        raise UsageError(f"usage cannot be shown by {', '.join(keys) or 'nothing'}", f"by {', '.join(KEYS)}")
    found: dict[str, Reply] = {}
    stats: list[ReadStats] = []
    start = since.isoformat() if since else ""
    for path in all_transcripts():
        if since and date.fromtimestamp(os.stat(path).st_mtime) < since:
            break  # the newest files come first
        stats.append(_read(path, found))
    wanted = [
        reply
        for reply in found.values()
        if (not start or start <= reply.day != UNKNOWN) and (project is None or reply.project == project)
    ]
    groups: dict[tuple[str, ...], list[Reply]] = {}
    for reply in wanted:
        groups.setdefault(tuple(getattr(reply, key) for key in keys), []).append(reply)
    rows = tuple(_row(group, replies) for group, replies in sorted(groups.items()))
    unpriced = sorted({reply.model for reply in wanted if cost(reply.model, reply.tokens) is None})
    corrupt, too_long = sum(one.corrupt for one in stats), sum(one.too_long for one in stats)
    return UsageReport(keys, rows, _row((), wanted), tuple(unpriced), len(stats), corrupt, too_long)


def _row(keys: tuple[str, ...], replies: list[Reply]) -> UsageRow:
    """The sums of a group."""
    tokens, spent, unpriced = Tokens(), list[float](), 0
    for reply in replies:
        tokens += reply.tokens
        price = cost(reply.model, reply.tokens)
        if price is None:
            unpriced += reply.tokens.total
        else:
            spent.append(price)
    return UsageRow(keys, len(replies), tokens, round(sum(spent), 6) if spent else None, unpriced)


def _read(path: str, found: dict[str, Reply]) -> ReadStats:
    """Add the replies of one file."""
    reader = LineReader(path)
    read = _codex_replies if is_codex(path) else _claude_replies
    with suppress(UsageError):  # deleted, or replaced by a link, since it was listed
        for reply in read(reader):
            before = found.get(reply.id)
            found[reply.id] = replace(before, tokens=before.tokens.most(reply.tokens)) if before else reply
    return reader.stats


def _claude_replies(reader: LineReader) -> Iterator[Reply]:
    """The replies in a transcript of Claude Code; one reply may come several times."""
    project_of = cache(_project_of)
    for record in _records(reader, b'"usage"', b'"assistant"'):
        message = record.get("message")
        given = message.get("usage") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(given, dict) or message.get("model") == _NO_MODEL:
            continue
        nested = given.get("cache_creation")
        parts = nested if isinstance(nested, dict) else {}
        hour = _count(parts, "ephemeral_1h_input_tokens")
        # Older versions fill only one of the two fields.
        written = max(_count(given, "cache_creation_input_tokens"), hour + _count(parts, "ephemeral_5m_input_tokens"))
        fresh, output, cached = (_count(given, f"{kind}_tokens") for kind in ("input", "output", "cache_read_input"))
        tokens = Tokens(fresh, output, cached, written - hour, hour)
        given_id = message.get("id") or record.get("requestId") or record.get("uuid")
        id_ = string_or_empty(given_id) or f"{reader.path}:{reader.stats.bytes}"
        model = string_or_empty(message.get("model")) or UNKNOWN
        yield Reply(id_, _day(record), model, project_of(string_or_empty(record.get("cwd"))), tokens)


def _codex_replies(reader: LineReader) -> Iterator[Reply]:
    """The replies in a transcript of Codex. Its events have running totals; one with the last total repeats it."""
    project_of, model, cwd, last = cache(_project_of), UNKNOWN, "", -1
    for record in _records(reader, b'"payload"', b'"token_count"', b'"turn_context"', b'"session_meta"'):
        payload = record.get("payload")
        if not isinstance(payload, dict):
            continue
        if record.get("type") in ("turn_context", "session_meta"):
            model = string_or_empty(payload.get("model")) or model
            cwd = string_or_empty(payload.get("cwd")) or cwd
        info = payload.get("info")
        if payload.get("type") != "token_count" or not isinstance(info, dict):
            continue
        step, total = (info.get(key) for key in ("last_token_usage", "total_token_usage"))
        if not isinstance(step, dict) or not isinstance(total, dict) or _count(total, "total_tokens") == last:
            continue
        last = _count(total, "total_tokens")
        cached = _count(step, "cached_input_tokens")
        fresh = max(0, _count(step, "input_tokens") - cached)
        # A session that continues another one repeats its events, with their times.
        id_ = f"codex:{record.get('timestamp')}:{last}"
        yield Reply(id_, _day(record), model, project_of(cwd), Tokens(fresh, _count(step, "output_tokens"), cached))


def _records(reader: LineReader, always: bytes, *one_of: bytes) -> Iterator[dict[str, Any]]:
    """The records of the lines that contain `always` and one of the others; counts damaged lines."""
    for line in reader:
        if not is_whole(line):
            reader.stats.corrupt += 1
        elif always in line and any(needle in line for needle in one_of):
            try:
                record = decode(line)
            except ValueError:
                reader.stats.corrupt += 1
                continue
            if record:
                yield record


def _project_of(cwd: str) -> str:
    """The root of the project around a folder; the folder itself if it no longer exists."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        return UNKNOWN
    return find_root(cwd) if os.path.isdir(cwd) else cwd


def _count(given: dict[str, Any], key: str) -> int:
    value = given.get(key)
    return value if type(value) is int and 0 <= value <= _MAX_TOKENS else 0


def _day(record: dict[str, Any]) -> str:
    """The day of a record in the user's time zone."""
    try:
        return datetime.fromisoformat(string_or_empty(record.get("timestamp"))).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return UNKNOWN
