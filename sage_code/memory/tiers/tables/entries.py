"""Entries: what a task remembers (decisions, context, summaries, checkpoints), with a type and a priority.

An entry has any text as its id. In its row the id is a UUID: the entry's own if it is one, else one that is made from
the agent and the id, so that two agents may use the same id. Such an id is kept in the metadata, under `ID_KEY`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID, uuid5

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, marks, moment, nested, texts
from sage_code.memory.tiers.values import now

ID_KEY = "$id"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COLUMNS = (
    "id, type, content, priority, tokens, created_at, updated_at, session_id, task_id, tags, metadata, is_summarized,"
    " summary_of"
)
# Rows that a search through contents reads at once.
_PAGE = 500
# The most values that go into one statement; SQLite's own limit is 32,766.
_AT_ONCE = 10_000


class MemoryType(StrEnum):
    """What an entry is."""

    CONVERSATION = "conversation"  # what was said
    DECISION = "decision"  # what was decided
    CONTEXT = "context"  # what the task needs to know
    SUMMARY = "summary"  # stands for other entries
    CHECKPOINT = "checkpoint"  # the state of a session, to go back to
    ARTIFACT = "artifact"  # what was made


class MemoryPriority(IntEnum):
    """How long an entry is kept; a higher number longer."""

    EPHEMERAL = 10  # discarded first
    LOW = 30  # nice to have
    NORMAL = 50  # the standard
    HIGH = 70  # should be kept
    CRITICAL = 90  # must be kept
    PERMANENT = 100  # never discarded


@dataclass
class MemoryEntry:
    """A single memory. Times are in UTC; a time without a zone is local."""

    id: str
    type: MemoryType
    content: str
    priority: MemoryPriority = MemoryPriority.NORMAL
    tokens: int = 0  # 0: counted when it is stored
    created_at: datetime = field(default_factory=now)
    updated_at: datetime = field(default_factory=now)
    session_id: str | None = None
    task_id: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    is_summarized: bool = False  # a summary stands for it
    summary_of: list[str] = field(default_factory=list)  # the ids of the entries that this summary stands for


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries of an agent are wanted; None and empty fields want all."""

    type: MemoryType | None = None
    session_id: str | None = None
    task_id: str | None = None
    tags: tuple[str, ...] = ()  # all of them
    min_priority: int | None = None
    max_priority: int | None = None
    text: str = ""  # each of its words is in the content, in any case
    since: datetime | None = None
    include_summarized: bool = True


def row_id(agent_id: str, entry_id: str) -> str:
    """The id of an entry's row."""
    return entry_id if _UUID.fullmatch(entry_id) else str(uuid5(UUID(agent_id), entry_id))


def insert_entry(rows: Transaction, agent_id: str, entry: MemoryEntry) -> bool:
    """Store a new entry; False if there is one with its id."""
    changed = rows.run(
        f"INSERT INTO entries ({_COLUMNS}, agent_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO NOTHING",
        (*_values(agent_id, entry), agent_id),
    )
    return changed == 1


def replace_entry(rows: Transaction, agent_id: str, entry: MemoryEntry, known: datetime) -> bool:
    """Replace an entry that was updated last at the `known` time; False if there is none."""
    id_, *values = _values(agent_id, entry)
    names = ", ".join(f"{name} = ?" for name in _COLUMNS.split(", ")[1:])
    changed = rows.run(
        f"UPDATE entries SET {names} WHERE agent_id = ? AND id = ? AND updated_at = ?", (*values, agent_id, id_, known)
    )
    return changed == 1


def mark_summarized(rows: Transaction, agent_id: str, ids: Sequence[str], value: bool, when: datetime) -> int:
    """Say whether a summary stands for these entries; returns of how many that was not known yet."""
    changed = 0
    keys = [row_id(agent_id, id_) for id_ in ids]
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        changed += rows.run(
            "UPDATE entries SET is_summarized = ?, updated_at = ?"
            f" WHERE agent_id = ? AND is_summarized = ? AND id IN ({marks(some)})",
            (value, when, agent_id, not value, *some),
        )
    return changed


def entry_with_id(rows: Transaction, agent_id: str, entry_id: str) -> MemoryEntry | None:
    """The entry of an agent with this id."""
    return entries_with_ids(rows, agent_id, [entry_id]).get(entry_id)


def entries_with_ids(rows: Transaction, agent_id: str, ids: Sequence[str]) -> dict[str, MemoryEntry]:
    """The entries of an agent with these ids."""
    found: dict[str, MemoryEntry] = {}
    keys = [row_id(agent_id, id_) for id_ in ids]
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sql = f"SELECT {_COLUMNS} FROM entries WHERE agent_id = ? AND id IN ({marks(some)})"
        for row in rows.all(sql, (agent_id, *some)):
            entry = _entry(agent_id, row)
            found[entry.id] = entry
    return found


def entries_of(
    rows: Transaction, agent_id: str, wanted: EntryFilter, *, oldest_first: bool = False
) -> Iterator[MemoryEntry]:
    """The wanted entries of an agent by age, read page by page while the caller asks for more."""
    # Engines store tags differently and fold letters differently: both are compared here.
    words = wanted.text.casefold().split()
    tags = set(wanted.tags)
    condition, values = _condition(agent_id, wanted)
    order, sign = ("ASC", ">") if oldest_first else ("DESC", "<")
    after: tuple[object, ...] = ()
    while True:
        page = rows.all(
            f"SELECT {_COLUMNS} FROM entries WHERE {condition}"
            + (f" AND (created_at, id) {sign} (?, ?)" if after else "")
            + f" ORDER BY created_at {order}, id {order} LIMIT ?",
            (*values, *after, _PAGE),
        )
        for row in page:
            entry = _entry(agent_id, row)
            content = entry.content.casefold() if words else ""
            if tags <= set(entry.tags) and all(word in content for word in words):
                yield entry
        if len(page) < _PAGE:
            return
        after = (moment(page[-1][5]), str(page[-1][0]))


def count_tokens_of(rows: Transaction, agent_id: str, session_id: str | None = None) -> int:
    """The tokens of the entries that no summary stands for."""
    condition, values = _condition(agent_id, EntryFilter(session_id=session_id, include_summarized=False))
    found = rows.one(f"SELECT COALESCE(SUM(tokens), 0) FROM entries WHERE {condition}", values)
    return 0 if found is None else int(found[0])


def delete_entries(
    rows: Transaction, agent_id: str, ids: Sequence[str], *, max_priority: MemoryPriority = MemoryPriority.PERMANENT
) -> int:
    """Delete entries of an agent, but none above a priority; returns how many."""
    changed = 0
    keys = [row_id(agent_id, id_) for id_ in ids]
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        changed += rows.run(
            f"DELETE FROM entries WHERE agent_id = ? AND priority <= ? AND id IN ({marks(some)})",
            (agent_id, int(max_priority), *some),
        )
    return changed


def _condition(agent_id: str, wanted: EntryFilter) -> tuple[str, list[object]]:
    """What a filter asks of a row, and its values."""
    found: list[str] = ["agent_id = ?"]
    values: list[object] = [agent_id]
    for condition, value in (
        ("type = ?", None if wanted.type is None else wanted.type.value),
        ("session_id = ?", wanted.session_id),
        ("task_id = ?", wanted.task_id),
        ("priority >= ?", None if wanted.min_priority is None else int(wanted.min_priority)),
        ("priority <= ?", None if wanted.max_priority is None else int(wanted.max_priority)),
        ("created_at >= ?", wanted.since),
        ("is_summarized = ?", None if wanted.include_summarized else False),
    ):
        if value is not None:
            found.append(condition)
            values.append(value)
    return " AND ".join(found), values


def _values(agent_id: str, entry: MemoryEntry) -> tuple[object, ...]:
    id_ = row_id(agent_id, entry.id)
    metadata = entry.metadata if id_ == entry.id else {**entry.metadata, ID_KEY: entry.id}
    return (
        id_, entry.type.value, entry.content, int(entry.priority), entry.tokens, entry.created_at, entry.updated_at,
        entry.session_id, entry.task_id, tuple(entry.tags), Json(metadata), entry.is_summarized,
        tuple(entry.summary_of),
    )  # fmt: skip


def _entry(agent_id: str, row: Row) -> MemoryEntry:
    """The entry of a row, with the id that it was given."""
    id_, type_, content, priority, tokens, created, updated, session, task, tags, known, is_summarized, summary_of = row
    key = str(id_)
    metadata = dict(nested(known))
    named = metadata.get(ID_KEY)
    if isinstance(named, str) and named != key and row_id(agent_id, named) == key:
        del metadata[ID_KEY]
    else:
        named = key
    return MemoryEntry(
        named, MemoryType(type_), content, MemoryPriority(priority), tokens, moment(created), moment(updated), session,
        task, list(texts(tags)), metadata, bool(is_summarized), list(texts(summary_of)),
    )  # fmt: skip
