"""The embedded engine: one SQLite file of the user's, with full text in it and a matrix of vectors beside it.

Any number of processes may read while one writes (WAL). A writer takes the lock at the start of its transaction and
waits for another one for at most `_PATIENCE_S`. The files are the user's alone (0600).
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from sage_code.errors import Busy, FormatTooNew, SageError, StoreError, explain
from sage_code.files.private import make_private
from sage_code.memory.tiers.engines.protocol import Json, Kind, Part, Row, marks, microseconds
from sage_code.memory.tiers.engines.scoping import conditions
from sage_code.memory.tiers.engines.sqlite_schema import MIGRATIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.vector_files import VectorFiles
    from sage_code.memory.tiers.values import Scope

_PATIENCE_S = 30.0
# Idle connections that are kept for the next reader.
_KEPT_CONNECTIONS = 8
_PRIVATE = 0o600
_CACHE_KIB = 16 * 1024


class _Transaction:
    """A transaction on one connection; see `protocol.Transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(sql, _adapted(values)).fetchall()

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        row: Row | None = self._connection.execute(sql, _adapted(values)).fetchone()
        return row

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        return self._connection.execute(sql, _adapted(values)).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(sql, map(_adapted, rows))

    def lock_agent(self, agent_id: str) -> None:  # noqa: ARG002 - a writer has the whole database
        """Nothing to do: one transaction writes at a time."""


class SqliteEngine:
    """See `protocol.Engine`."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._idle: list[sqlite3.Connection] = []
        self._guard = Lock()
        self._process = os.getpid()
        self._vectors: dict[Kind, VectorFiles] = {}
        self._model: tuple[str, int] | None = None
        try:
            make_private(os.path.dirname(self.path))
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), _PRIVATE)
            os.close(descriptor)
        except OSError as error:
            raise explain(error) from error
        with self._connected() as connection:
            self._migrate(connection)

    @property
    def uri(self) -> str:
        return self.path

    @contextmanager
    def reading(self) -> Iterator[_Transaction]:
        with self._connected() as connection:
            connection.execute("BEGIN")
            try:
                yield _Transaction(connection)
            finally:
                connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[_Transaction]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield _Transaction(connection)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses; errors of SQLite come out as errors of Sage."""
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connection()
            yield connection
        except sqlite3.Error as error:
            if connection is not None:
                connection.close()
                connection = None
            raise self._explained(error) from error
        finally:
            if connection is not None:
                self._give_back(connection)

    def _connection(self) -> sqlite3.Connection:
        with self._guard:
            if self._process != os.getpid():  # a connection must not be used on the other side of a fork
                self._idle, self._vectors, self._process = [], {}, os.getpid()
            if self._idle:
                return self._idle.pop()
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        for pragma in (
            "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON",
            f"cache_size = -{_CACHE_KIB}", "temp_store = MEMORY",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._guard:
            if len(self._idle) < _KEPT_CONNECTIONS and self._process == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the tables up to date, in one transaction for each step."""
        while True:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version > len(MIGRATIONS):
                raise FormatTooNew(f"{self.path} was written by a newer Sage", "update Sage; nothing was changed")
            if version == len(MIGRATIONS):
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                # Another process may have been faster.
                if int(connection.execute("PRAGMA user_version").fetchone()[0]) == version:
                    for statement in MIGRATIONS[version].split(";"):
                        if statement.strip():
                            connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {version + 1}")
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def _explained(self, error: sqlite3.Error) -> SageError:
        said = str(error)
        if "locked" in said or "busy" in said:
            return Busy(f"another process writes to {self.path}", "try again when it has finished")
        if "full" in said or "I/O error" in said:
            return StoreError(f"{self.path}: {said}", "free some space and try again; nothing was half-written")
        if "malformed" in said or "not a database" in said:
            return StoreError(f"{self.path} is damaged: {said}", "restore it from a backup, or move it away")
        return StoreError(f"{self.path}: {said}", "check that you may read and write there")


def _adapted(values: Sequence[object]) -> list[Any]:
    return [_ADAPTERS[type(value)](value) if type(value) in _ADAPTERS else value for value in values]


_ADAPTERS: Mapping[type, Any] = {
    datetime: microseconds,
    tuple: lambda value: json.dumps(list(value), ensure_ascii=False),
    Json: lambda value: json.dumps(value.value, ensure_ascii=False, separators=(",", ":")),
}
