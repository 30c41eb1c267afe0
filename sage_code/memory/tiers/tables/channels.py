"""Channels: streams of messages, how many of them wait for a summary, and the summaries that were made.

A session belongs to the channel that it names, else to that of its project, else to `MAIN`. What is stored in it makes
the channel dirty in the same transaction, so no message is missed. `seen_id` is the last message, in the order of
storing, that a summary has read; a channel without it has read nothing, or what it has read was forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, marks, moment, nested
from sage_code.memory.tiers.tables.messages import COLUMNS, FROM, message_of
from sage_code.memory.tiers.values import Message

MAIN = "main"
# What a summary is made of: tool calls and older summaries are not talk.
SAID = ("user", "assistant")
Kind: TypeAlias = Literal["rolling", "profile"]
_COLUMNS = "name, waiting, dirty_at, seen_id, changed_at"
# The most values that go into one statement; SQLite's own limit is 32,766.
_AT_ONCE = 10_000
_NAME = f"CASE WHEN s.channel <> '' THEN s.channel WHEN s.project <> '' THEN s.project ELSE '{MAIN}' END"
_TALK = f"r.role IN ({', '.join(repr(role) for role in SAID)})"


@dataclass(frozen=True, slots=True)
class Channel:
    """A stream of messages."""

    name: str
    waiting: int = 0  # messages since the last summary
    dirty_at: datetime | None = None  # when the first of them was stored
    seen_id: str = ""
    changed_at: datetime | None = None
    sessions: int = 0
    messages: int = 0
    last_at: datetime | None = None  # of the newest message


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A version of a channel's rolling summary or profile; `summary` is a `StructuredSummary` as JSON."""

    channel: str
    kind: Kind
    version: int
    summary: Mapping[str, Any]
    messages: int  # that it was made from, with those of the versions before
    made_at: datetime


def channel_name(channel: str, project: str) -> str:
    """The channel of a session that names these."""
    return channel or project or MAIN


def add_waiting(rows: Transaction, agent_id: str, name: str, count: int, when: datetime) -> None:
    """Note messages that were stored in a channel."""
    rows.run(
        f"INSERT INTO channels (agent_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, name) DO UPDATE"
        " SET waiting = channels.waiting + excluded.waiting,"
        " dirty_at = coalesce(channels.dirty_at, excluded.dirty_at), changed_at = excluded.changed_at",
        (agent_id, name, count, when, "", when),
    )


def channel_of(rows: Transaction, agent_id: str, name: str) -> Channel | None:
    """The channel of this name, without the counts of its sessions."""
    found = rows.one(f"SELECT {_COLUMNS} FROM channels WHERE agent_id = ? AND name = ?", (agent_id, name))
    return None if found is None else _channel(found)


def channels_of(rows: Transaction, agent_id: str, limit: int = 1_000_000) -> list[Channel]:
    """All channels of an agent, the last used first."""
    found = rows.all(
        f"SELECT {_NAME} AS named, count(*), sum(s.messages), max(s.last_at) FROM sessions s"
        " WHERE s.agent_id = ? AND s.messages > 0 AND s.source <> 'summary' GROUP BY named"
        " ORDER BY max(s.last_at) DESC, named LIMIT ?",
        (agent_id, limit),
    )
    known = {row[0]: row for row in rows.all(f"SELECT {_COLUMNS} FROM channels WHERE agent_id = ?", (agent_id,))}
    return [
        _channel(known.get(name, (name, 0, None, "", None)), sessions, int(messages), moment(last))
        for name, sessions, messages, last in found
    ]


def due_channels(
    rows: Transaction, agent_id: str, *, least: int, before: datetime, after: datetime, limit: int
) -> list[Channel]:
    """The channels with at least so many waiting messages, or whose first one waits since before a time, longest first.

    A time later than `after` is in the future: the clock was set back, and the channel is due too.
    """
    found = rows.all(
        f"SELECT {_COLUMNS} FROM channels WHERE agent_id = ? AND dirty_at IS NOT NULL"
        " AND (waiting >= ? OR dirty_at <= ? OR dirty_at > ?) ORDER BY dirty_at, name LIMIT ?",
        (agent_id, least, before, after, limit),
    )
    return [_channel(row) for row in found]


def dirty_channels(rows: Transaction, agent_id: str, limit: int) -> list[Channel]:
    """The channels in which messages wait for a summary, longest first."""
    found = rows.all(
        f"SELECT {_COLUMNS} FROM channels WHERE agent_id = ? AND dirty_at IS NOT NULL AND waiting > 0"
        " ORDER BY dirty_at, name LIMIT ?",
        (agent_id, limit),
    )
    return [_channel(row) for row in found]


def names_of(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> list[str]:
    """The channels that these messages are in, by name."""
    names: set[str] = set()
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        found = rows.all(
            f"SELECT DISTINCT {_NAME} FROM {FROM} WHERE r.agent_id = ? AND r.sequence IN ({marks(some)})",
            (agent_id, *some),
        )
        names.update(row[0] for row in found)
    return sorted(names)


def first_dirty(rows: Transaction, agent_id: str) -> datetime | None:
    """Since when the channel waits that waits longest."""
    found = rows.one("SELECT min(dirty_at) FROM channels WHERE agent_id = ? AND dirty_at IS NOT NULL", (agent_id,))
    return None if found is None or found[0] is None else moment(found[0])


def unseen_messages(rows: Transaction, agent_id: str, channel: Channel, limit: int) -> list[Message]:
    """What was said in a channel since its last summary, in the order of storing: the last `limit` messages of it."""
    seen = rows.one(
        "SELECT sequence FROM messages WHERE agent_id = ? AND id = ?", (agent_id, channel.seen_id or _NO_ID)
    )
    found = _said(rows, agent_id, channel.name, " AND r.sequence > ?", (seen[0] if seen else 0,), limit)
    return found[::-1]


def earlier_messages(rows: Transaction, agent_id: str, name: str, before: int, limit: int) -> list[Message]:
    """What was said in a channel before a sequence: the last `limit` messages of it, in the order of storing."""
    return _said(rows, agent_id, name, " AND r.sequence < ?", (before,), limit)[::-1]


def last_messages(rows: Transaction, agent_id: str, name: str, limit: int) -> list[Message]:
    """What was said last in a channel, oldest first by its time."""
    where, values = _of_channel(name)
    sessions = rows.all(
        f"SELECT s.number FROM sessions s WHERE s.agent_id = ? AND {where} ORDER BY s.last_at DESC LIMIT ?",
        (agent_id, *values, limit),
    )
    found: list[Message] = []
    numbers = [row[0] for row in sessions]
    for start in range(0, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        sql = (
            f"SELECT {COLUMNS} FROM {FROM} WHERE r.agent_id = ? AND r.session IN ({marks(some)}) AND {_TALK}"
            " ORDER BY r.created_at DESC, r.sequence DESC LIMIT ?"
        )
        found += [message_of(row) for row in rows.all(sql, (agent_id, *some, limit))]
    return sorted(found, key=lambda one: (one.created_at, one.sequence))[-limit:]


def mark_seen(rows: Transaction, agent_id: str, name: str, seen_id: str, when: datetime) -> int:
    """Note the last message that a summary has read; returns how many wait behind it."""
    seen = rows.one("SELECT sequence FROM messages WHERE agent_id = ? AND id = ?", (agent_id, seen_id))
    where, values = _of_channel(name)
    found = rows.one(
        f"SELECT count(*) FROM {FROM} WHERE r.agent_id = ? AND s.agent_id = ? AND {where} AND {_TALK}"
        " AND r.sequence > ?",
        (agent_id, agent_id, *values, seen[0] if seen else 0),
    )
    waiting = int(found[0]) if found else 0
    rows.run(
        "UPDATE channels SET waiting = ?, dirty_at = ?, seen_id = ?, changed_at = ? WHERE agent_id = ? AND name = ?",
        (waiting, when if waiting else None, seen_id, when, agent_id, name),
    )
    return waiting


def summaries_of(rows: Transaction, agent_id: str, name: str, kind: Kind, limit: int = 1) -> list[StoredSummary]:
    """The newest versions of a summary, newest first."""
    found = rows.all(
        "SELECT channel, kind, version, summary, messages, made_at FROM channel_summaries"
        " WHERE agent_id = ? AND channel = ? AND kind = ? ORDER BY version DESC LIMIT ?",
        (agent_id, name, kind, limit),
    )
    return [
        StoredSummary(channel, of, version, nested(summary), messages, moment(made))
        for channel, of, version, summary, messages, made in found
    ]


def add_summary(rows: Transaction, agent_id: str, new: StoredSummary, kept: int) -> bool:
    """Store the next version; False if it is there already. Versions beyond the newest `kept` ones are deleted."""
    added = rows.run(
        "INSERT INTO channel_summaries (agent_id, channel, kind, version, summary, messages, made_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, channel, kind, version) DO NOTHING",
        (agent_id, new.channel, new.kind, new.version, Json(dict(new.summary)), new.messages, new.made_at),
    )
    rows.run(
        "DELETE FROM channel_summaries WHERE agent_id = ? AND channel = ? AND kind = ? AND version <= ?",
        (agent_id, new.channel, new.kind, new.version - kept),
    )
    return added > 0


def forget_summaries(rows: Transaction, agent_id: str, sequences: Sequence[int], when: datetime) -> None:
    """Delete all summaries of the channels that these messages are in, before the messages are deleted.

    What is left of such a channel waits to be read again, from its beginning.
    """
    for name in names_of(rows, agent_id, sequences):
        rows.run("DELETE FROM channel_summaries WHERE agent_id = ? AND channel = ?", (agent_id, name))
        rows.run(
            "UPDATE channels SET seen_id = '', waiting = waiting + 1, dirty_at = coalesce(dirty_at, ?), changed_at = ?"
            " WHERE agent_id = ? AND name = ?",
            (when, when, agent_id, name),
        )


# An id that no message has: PostgreSQL compares UUIDs, and an empty text is none.
_NO_ID = "00000000-0000-0000-0000-000000000000"


def _of_channel(name: str) -> tuple[str, list[object]]:
    """Which sessions `s` belong to a channel."""
    if name == MAIN:
        return "(s.channel = ? OR (s.channel = '' AND s.project IN ('', ?)))", [name, name]
    return "(s.channel = ? OR (s.channel = '' AND s.project = ?))", [name, name]


def _said(
    rows: Transaction, agent_id: str, name: str, more: str, values: tuple[object, ...], limit: int
) -> list[Message]:
    """What was said in a channel, newest first in the order of storing."""
    where, own = _of_channel(name)
    sql = (
        f"SELECT {COLUMNS} FROM {FROM} WHERE r.agent_id = ? AND s.agent_id = ? AND {where} AND {_TALK}{more}"
        " ORDER BY r.sequence DESC LIMIT ?"
    )
    return [message_of(row) for row in rows.all(sql, (agent_id, agent_id, *own, *values, limit))]


def _channel(row: Row, sessions: int = 0, messages: int = 0, last_at: datetime | None = None) -> Channel:
    name, waiting, dirty, seen, changed = row
    times = [None if value is None else moment(value) for value in (dirty, changed)]
    return Channel(name, waiting, times[0], seen, times[1], sessions, messages, last_at)
