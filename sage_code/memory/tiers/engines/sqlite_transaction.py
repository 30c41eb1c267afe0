"""A transaction on one connection of SQLite, and how the values of the tiers go into its columns."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sage_code.memory.tiers.engines.protocol import Json, Row, microseconds


class SqliteTransaction:
    """See `protocol.Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        # What has to be done to files when the rows are committed; it may fail, `erase` does it again.
        self.after_commit: list[Callable[[], None]] = []

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""
        return self._connection.execute(sql, _adapted(values)).fetchall()

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """The first row of a query."""
        cursor = self._connection.execute(sql, _adapted(values))
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; returns how many rows it changed."""
        return self._connection.execute(sql, _adapted(values)).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each of the rows."""
        self._connection.executemany(sql, map(_adapted, rows))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[int]:
        """See `protocol.Transaction`. No other transaction writes, so the next sequences are known."""
        last = self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
        first = int(last[0]) + 1 if last is not None else 1
        given = [(sequence, *_adapted(row)) for sequence, row in enumerate(rows, first)]
        names = ", ".join(columns)
        self._connection.executemany(
            f"INSERT INTO {table} (sequence, {names}) VALUES (?{', ?' * len(columns)})",
            given,
        )
        return [row[0] for row in given]

    def lock_agent(self, agent_id: str) -> None:
        """Nothing to do: one transaction writes at a time."""


def _adapted(values: Sequence[object]) -> Sequence[Any]:
    for value in values:
        if type(value) in _ADAPTERS:
            return [_ADAPTERS[type(value)](value) if type(value) in _ADAPTERS else value for value in values]
    return values


_ADAPTERS: Mapping[type, Any] = {
    datetime: microseconds,
    tuple: lambda value: json.dumps(list(value), ensure_ascii=False),
    Json: lambda value: json.dumps(value.value, ensure_ascii=False, separators=(",", ":")),
}
