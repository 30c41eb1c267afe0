"""The embedded engine: one SQLite file of the user's, with full text in it and a matrix of vectors beside it.

Any number of processes may read while one writes (WAL). A writer takes the lock at the start of its transaction and
waits for another one for at most `_PATIENCE_S`. The files are the user's alone (0600).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from sage_code.errors import Busy, FormatTooNew, SageError, StoreError, explain
from sage_code.files.locks import locked
from sage_code.files.private import make_private
from sage_code.memory.tiers.engines import sqlite_words
from sage_code.memory.tiers.engines.protocol import Kind, Part, Transaction
from sage_code.memory.tiers.engines.sqlite_schema import MIGRATIONS
from sage_code.memory.tiers.engines.sqlite_transaction import SqliteTransaction
from sage_code.paths import sage_home

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.sqlite_vectors import SqliteVectors
    from sage_code.memory.tiers.values import Scope

_PATIENCE_S = 30.0
# Idle connections that are kept for the next reader.
_KEPT_CONNECTIONS = 8
_PRIVATE = 0o600
_OTHERS = 0o077
# Of each connection; a search has one.
_CACHE_KIB = 64 * 1024
# Pages in the log before it is moved into the database (32 MB). It matters little: 1,000,000 messages were indexed with
# 16,500 a second, with SQLite's own 1,000 pages 15,100 (one run each); 100,000 messages equally fast.
_LOG_PAGES = 8_192
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_POLL_S = 0.05
# Shorter than any transaction, so that the process that has just written does not come back before a waiting one looks.
_TURN_POLL_S = 0.002


class SqliteEngine:
    """See `protocol.Engine`."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._idle: list[sqlite3.Connection] = []
        self._guard = Lock()
        self._process = os.getpid()
        self._opened_vectors: SqliteVectors | None = None
        try:
            _make_private_file(self.path)
        except OSError as error:
            raise explain(error) from error
        with self._connected() as connection:
            self._migrate(connection)

    @property
    def uri(self) -> str:
        """See `protocol.Engine`."""
        return self.path

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """See `protocol.Engine`."""
        with self._connected() as connection:
            connection.execute("BEGIN")
            try:
                yield SqliteTransaction(connection)
            finally:
                connection.rollback()
        self._repair_vectors()

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """See `protocol.Engine`."""
        with self._connected() as connection:
            with self._turn():
                connection.execute("BEGIN IMMEDIATE")
            rows = SqliteTransaction(connection)
            try:
                yield rows
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            for step in rows.after_commit:
                with contextlib.suppress(OSError):
                    step()
        self._repair_vectors()

    def add_words(self, rows: Transaction, kind: Kind, words: Sequence[tuple[int, str]]) -> None:
        """See `protocol.Engine`."""
        sqlite_words.add(rows, kind, words)

    def words_of(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> dict[int, str]:
        """See `protocol.Engine`."""
        return sqlite_words.stored(rows, kind, sequences)

    def frequencies(self, rows: Transaction, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
        """See `protocol.Engine`."""
        return sqlite_words.frequencies(rows, kind, terms)

    def with_words(
        self, rows: Transaction, kind: Kind, weights: Mapping[str, float], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        """See `protocol.Engine`."""
        return sqlite_words.best(rows, kind, weights, scope, limit)

    def add_vectors(self, rows: Transaction, kind: Kind, parts: Sequence[Part], vectors: NDArray[np.float32]) -> None:
        """See `protocol.Engine`."""
        self._vectors.add(_own(rows), kind, parts, vectors)

    def nearest(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        """See `protocol.Engine`."""
        return self._vectors.nearest(_own(rows), kind, vector, scope, limit)

    def cosines(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], sequences: Sequence[int]
    ) -> dict[int, float]:
        """See `protocol.Engine`."""
        return self._vectors.cosines(_own(rows), kind, vector, sequences)

    def remove(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> None:
        """See `protocol.Engine`."""
        sqlite_words.remove(rows, kind, sequences)
        self._vectors.remove(_own(rows), kind, sequences)

    def use_model(self, name: str, dim: int) -> bool:
        """See `protocol.Engine`."""
        with self.reading() as rows:
            answer = self._vectors.use_model(rows, name, dim, may_write=False)
        if answer is None:
            with self.writing() as rows:
                answer = self._vectors.use_model(rows, name, dim, may_write=True)
        return bool(answer)

    @contextmanager
    def leading(self, job: str) -> Iterator[Callable[[], bool]]:
        """See `protocol.Engine`."""
        with contextlib.ExitStack() as held:
            leads = False

            def ask() -> bool:
                nonlocal leads
                if not leads:
                    with contextlib.suppress(Busy):
                        held.enter_context(locked(f"{self.path}-{job}", timeout_s=-1))
                        leads = True
                return leads

            yield ask

    def maintain(self) -> None:
        """See `protocol.Engine`."""
        for kind in sqlite_words.KINDS:
            merging = True
            while merging:
                with self.writing() as rows:
                    merging = sqlite_words.merge(rows, kind)

    def erase(self) -> None:
        """See `protocol.Engine`."""
        with self.writing() as rows:
            for kind in sqlite_words.KINDS:
                # Deleted words stay in the segments of the full text until these are merged into one.
                rows.run(f"INSERT INTO {kind}_words ({kind}_words) VALUES ('optimize')")
            self._vectors.tidy(rows)
        self._empty_log()

    def verify(self) -> list[str]:
        """See `protocol.Engine`."""
        from sage_code.memory.tiers.engines.sqlite_checks import problems  # lazy: rarely needed

        try:
            with self.writing() as rows:
                return problems(rows, os.path.getsize(self.path)) or self._vectors.problems(rows)
        except StoreError as error:
            return [error.message]

    def size(self) -> int:
        """See `protocol.Engine`."""
        from sage_code.memory.tiers.engines.sqlite_vectors import folder_of  # lazy: NumPy

        paths = [self.path + ending for ending in ("", "-wal", "-shm")]
        with contextlib.suppress(OSError):
            paths += [entry.path for entry in os.scandir(folder_of(self.path))]
        total = 0
        for path in paths:
            with contextlib.suppress(OSError):
                total += os.stat(path).st_size
        return total

    def close(self) -> None:
        """See `protocol.Engine`."""
        with self._guard:
            idle, self._idle = self._idle, []
            vectors, self._opened_vectors = self._opened_vectors, None
        if self._process == os.getpid():
            for connection in idle:
                connection.close()
        if vectors is not None:
            vectors.close()

    @property
    def _vectors(self) -> SqliteVectors:
        from sage_code.memory.tiers.engines.sqlite_vectors import SqliteVectors, folder_of  # lazy: NumPy

        with self._guard:
            self._notice_fork()
            if self._opened_vectors is None:
                self._opened_vectors = SqliteVectors(folder_of(self.path))
            return self._opened_vectors

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the one that asks SQLite for its lock next.

        SQLite gives the lock to whoever asks at the right moment, which is mostly the process that has just released
        it: of 8 processes that wrote small transactions for 40 s, one waited for 13 s.
        """
        deadline = time.monotonic() + _PATIENCE_S
        with contextlib.ExitStack() as held:
            while True:
                try:
                    held.enter_context(locked(f"{self.path}-turn", timeout_s=-1))
                    break
                except Busy:
                    if time.monotonic() > deadline:
                        raise self._busy() from None
                    time.sleep(_TURN_POLL_S)
                except OSError as error:
                    raise explain(error) from error
            yield

    def _repair_vectors(self) -> None:
        """If a search has found files of vectors damaged, have every row embedded again."""
        vectors = self._opened_vectors
        if vectors is not None and vectors.damaged:
            vectors.damaged = False
            # Who cannot write here goes on without vectors.
            with contextlib.suppress(SageError), self.writing() as rows:
                vectors.drop(rows)

    def _empty_log(self) -> None:
        """Move everything from the log into the database, and make the log empty."""
        deadline = time.monotonic() + _PATIENCE_S
        with self._connected() as connection:
            while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    raise Busy(f"another process reads {self.path}", "run the command again when it has finished")
                time.sleep(_POLL_S)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses; errors of SQLite come out as errors of Sage."""
        connection: sqlite3.Connection | None = None
        sound = False
        try:
            connection = self._connection()
            yield connection
            sound = True
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except Exception:  # of the caller, whose transaction was rolled back
            sound = True
            raise
        finally:
            if connection is not None:
                self._give_back(connection, sound=sound)

    def _connection(self) -> sqlite3.Connection:
        """An idle connection, or a new one."""
        with self._guard:
            self._notice_fork()
            if self._idle:
                return self._idle.pop()
        connection = sqlite3.connect(
            self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False, cached_statements=64
        )
        for pragma in (
            "journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON",
            f"wal_autocheckpoint = {_LOG_PAGES}",
            f"cache_size = -{_CACHE_KIB}", "temp_store = MEMORY",
        ):  # fmt: skip
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _notice_fork(self) -> None:
        """Leave what was opened on the other side of a fork; a connection of SQLite must not be used here."""
        if self._process != os.getpid():
            _LEFT_BEHIND.extend(self._idle)
            self._idle, self._opened_vectors, self._process = [], None, os.getpid()

    def _give_back(self, connection: sqlite3.Connection, *, sound: bool) -> None:
        """Keep a connection for the next transaction; one that was interrupted is closed, which rolls it back."""
        with self._guard:
            if sound and not connection.in_transaction and len(self._idle) < _KEPT_CONNECTIONS:
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
                    for statement in MIGRATIONS[version].split(";\n"):
                        if statement.strip():
                            connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {version + 1}")
                connection.commit()
            except BaseException:
                connection.rollback()
                raise

    def _busy(self) -> Busy:
        return Busy(f"another process writes to {self.path}", "try again when it has finished")

    def _explained(self, error: sqlite3.Error) -> SageError:
        """An error of SQLite, with what to do about it."""
        said = str(error)
        if "locked" in said or "busy" in said:
            return self._busy()
        if "full" in said or "I/O error" in said:
            return StoreError(f"{self.path}: {said}", "free some space and try again; nothing was half-written")
        if "malformed" in said or "not a database" in said:
            return StoreError(f"{self.path} is damaged: {said}", "restore it from a backup, or move it away")
        return StoreError(f"{self.path}: {said}", "check that you may read and write there")


# Connections from before a fork: closing them here would release locks of the other process.
_LEFT_BEHIND: list[sqlite3.Connection] = []


def _make_private_file(path: str) -> None:
    """Create the database and its folder for the user alone. No link is followed: it may lead to somebody's file."""
    folder = os.path.dirname(path)
    # A folder of the user's own that others may enter keeps its mode: it may hold other things.
    if not os.path.isdir(folder) or os.path.commonpath((folder, sage_home())) == sage_home():
        make_private(folder)
    descriptor = os.open(path, _OPEN, _PRIVATE)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise StoreError(f"{path} is no file", "move it away, or set memory_uri to another path")
        if os.name != "nt" and found.st_mode & _OTHERS:
            os.fchmod(descriptor, _PRIVATE)
    finally:
        os.close(descriptor)


def _own(rows: Transaction) -> SqliteTransaction:
    assert isinstance(rows, SqliteTransaction)
    return rows
