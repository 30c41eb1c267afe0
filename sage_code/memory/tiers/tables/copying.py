"""Reads and writes whole tables, agent by agent and in batches, and gives rows a digest that is equal in every engine.

Numbers that an engine gives (of agents and sessions, sequences of messages) differ between databases, so they are not
copied: a row names its agent and its session by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, microseconds, moment, nested, texts
from sage_code.memory.tiers.tables.summaries import set_metadata

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table of rows that belong to an agent: its columns with their kinds, and how rows are read in order."""

    name: str
    columns: Mapping[str, str]  # a kind for each: text, time, list, json, id, bool
    key: str  # unique in the agent, in the order in which rows are read
    conflict: str  # what makes a row the same
    newer: str = ""  # the column that grows when a row is changed; empty: rows never change


_TIMES = {"created_at": "time", "updated_at": "time"}
TABLES = (
    Table(
        "blocks",
        {"id": "id", "label": "text", "description": "text", "value": "text", "char_limit": "text",
         "read_only": "bool", "version": "text", **_TIMES},
        "label",
        "agent_id, label",
        "version",
    ),
    Table(
        "block_history",
        {"label": "text", "version": "text", "value": "text", "action": "text", "edited_at": "time"},
        "label, version",
        "agent_id, label, version",
    ),
    Table(
        "sessions",
        {"id": "text", "project": "text", "channel": "text", "title": "text", "source": "text", "started_at": "time",
         "last_at": "time", "messages": "text", "state": "json"},
        "number",
        "agent_id, id",
        "last_at",
    ),
    Table(
        "passages",
        {"id": "id", "content": "text", "tags": "list", "project": "text", "code_refs": "json", "created_at": "time"},
        "sequence",
        "id",
    ),
    Table(
        "entries",
        {"id": "id", "type": "text", "content": "text", "priority": "text", "tokens": "text", "session_id": "text",
         "task_id": "text", "tags": "list", "metadata": "json", "is_summarized": "bool", "summary_of": "list",
         **_TIMES},
        "id",
        "id",
        "updated_at",
    ),
    Table(
        "channels",
        {"name": "text", "waiting": "text", "dirty_at": "time", "seen_id": "text", "changed_at": "time"},
        "name",
        "agent_id, name",
        "changed_at",
    ),
    Table(
        "channel_summaries",
        {"channel": "text", "kind": "text", "version": "text", "summary": "json", "messages": "text",
         "made_at": "time"},
        "channel, kind, version",
        "agent_id, channel, kind, version",
    ),
    Table(
        "profiles",
        {"participant": "text", "forgotten_at": "time", "changed_at": "time"},
        "participant",
        "agent_id, participant",
        "changed_at",
    ),
    Table(
        "profile_facts",
        {"id": "text", "participant": "text", "text": "text", "message_id": "text", "said_at": "time", "score": "text",
         "subject": "text", "retired_by": "text", "changed_at": "time"},
        "id",
        "agent_id, id",
        "changed_at",
    ),
)  # fmt: skip
# Copied after the messages: what was read and is not there yet would never be read again.
IMPORTS = Table(
    "imports", {"path": "text", "cursor": "json", "done_at": "time"}, "path", "agent_id, path", "done_at"
)  # fmt: skip
# A message names its session by the session's id; everything else is as in the other tables.
MESSAGES = Table(
    "messages",
    {"id": "id", "role": "text", "created_at": "time", "speaker": "text", "tool_name": "text", "tokens": "text",
     "metadata": "json", "content": "text"},
    "sequence",
    "id",
)  # fmt: skip
_READ: Mapping[str, Callable[[Any], Any]] = {
    "text": lambda value: value,
    "time": moment,
    "list": texts,
    "json": nested,
    "id": str,
    "bool": bool,
}


def pages(rows: Transaction, table: Table, agent_id: str) -> Iterator[list[list[Any]]]:
    """All rows of an agent in a table, a batch at a time, as plain values in the order of the columns.

    A row of `messages` ends with the id of its session.
    """
    session = table.name == "messages"
    columns = ", ".join(f"r.{name}" for name in table.columns) + (", s.id" if session else "")
    source = f"{table.name} r" + (" JOIN sessions s ON s.number = r.session" if session else "")
    keys = [f"r.{name}" for name in table.key.split(", ")]
    after: list[object] = []
    while True:
        later = f" AND ({', '.join(keys)}) > ({', '.join('?' * len(keys))})" if after else ""
        found = rows.all(
            f"SELECT {columns}, {', '.join(keys)} FROM {source} WHERE r.agent_id = ?{later}"
            f" ORDER BY {', '.join(keys)} LIMIT {BATCH}",
            [agent_id, *after],
        )
        if found:
            yield [_plain(table, row[: -len(keys)]) for row in found]
        if len(found) < BATCH:
            return
        after = [str(value) if table.columns.get(table.key) == "id" else value for value in found[-1][-len(keys) :]]


def insert(rows: Transaction, table: Table, agent_id: str, batch: Sequence[Sequence[Any]]) -> None:
    """Store rows of an agent that are not there yet, and those that have changed since they were copied."""
    columns = ", ".join(table.columns)
    marks = ", ".join("?" * (len(table.columns) + 1))
    action = "NOTHING"
    if table.newer:
        changes = ", ".join(f"{name} = excluded.{name}" for name in table.columns)
        action = (
            f"UPDATE SET {changes} WHERE {table.name}.agent_id = excluded.agent_id"
            f" AND {table.name}.{table.newer} <= excluded.{table.newer}"
        )
    rows.many(
        f"INSERT INTO {table.name} (agent_id, {columns}) VALUES ({marks}) ON CONFLICT ({table.conflict}) DO {action}",
        ((agent_id, *_adapted(table, row)) for row in batch),
    )


def insert_of_sessions(
    rows: Transaction, agent_id: str, batch: Sequence[Sequence[Any]], numbers: Mapping[str, int]
) -> list[tuple[int, str]]:
    """Store messages that are not there yet; returns their sequences and texts. `numbers` are those of sessions.

    What a summary stands for is brought up to date.
    """
    ids = [row[0] for row in batch]
    marks = ", ".join("?" * len(ids))
    known = {str(row[0]) for row in rows.all(f"SELECT id FROM messages WHERE id IN ({marks})", ids)}
    new = [row for row in batch if row[0] not in known]
    sequences = rows.insert(
        "messages",
        ("agent_id", "session", *MESSAGES.columns),
        ((agent_id, numbers[row[-1]], *_adapted(MESSAGES, row[:-1])) for row in new),
    )
    names = list(MESSAGES.columns)
    for row in batch:  # the only messages that change: a summary notes what it stands for, and that it was undone
        if row[0] in known and row[names.index("role")] == "summary":
            set_metadata(rows, agent_id, row[0], row[names.index("metadata")])
    return [(sequence, row[names.index("content")]) for sequence, row in zip(sequences, new, strict=True)]


def digest(row: Sequence[Any]) -> int:
    """A number for the content of a row, the same in every engine. The digest of a table is the sum over its rows,
    so that their order does not matter."""
    plain = [microseconds(value) if hasattr(value, "astimezone") else value for value in row]
    text = json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int(xxhash.xxh3_128_intdigest(text.encode()))


def _plain(table: Table, row: Row) -> list[Any]:
    kinds = [*table.columns.values(), "text"][: len(row)]
    return [None if value is None else _READ[kind](value) for kind, value in zip(kinds, row, strict=True)]


def _adapted(table: Table, row: Sequence[Any]) -> list[object]:
    kinds = table.columns.values()
    return [
        Json(value) if kind == "json" and value is not None else value for kind, value in zip(kinds, row, strict=True)
    ]
