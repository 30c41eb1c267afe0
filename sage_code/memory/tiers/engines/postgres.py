"""The team's engine: a PostgreSQL server with pgvector, shared by any number of processes and users.

A reader sees one state of the database (repeatable read); a writer locks the agent whose rows it changes. Connections
come from a pool that notices when the server was away. The modules beside this one do the parts: `postgres_driver`
connections and errors, `postgres_migrating` tables, `postgres_words` and `postgres_vectors` the two indexes,
`postgres_upkeep` what keeps a database small, fast and sound.
"""
# ruff: noqa: D102 - the protocol says what the methods are for

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from sage_code.errors import Busy, ConfigError, StoreError
from sage_code.memory.tiers.engines import postgres_upkeep as upkeep
from sage_code.memory.tiers.engines import postgres_vectors as vectors_of
from sage_code.memory.tiers.engines import postgres_words as words_in
from sage_code.memory.tiers.engines.postgres_driver import (
    LOCK_PATIENCE_S,
    address_of,
    connected,
    copy_lines,
    explained,
    is_lost,
    load_driver,
    new_pool,
)
from sage_code.memory.tiers.engines.postgres_facts import Facts, facts_of
from sage_code.memory.tiers.engines.postgres_leading import Leader
from sage_code.memory.tiers.engines.postgres_migrating import migrate
from sage_code.memory.tiers.engines.postgres_values import (
    adapted,
    copied,
    objects,
    statement,
    translated,
    whole_insert,
)
from sage_code.memory.tiers.engines.protocol import Kind, Part, Row, Transaction

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.postgres_driver import Connection, Pool
    from sage_code.memory.tiers.values import Scope

_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# Rows of one INSERT; it is a few megabytes of JSON at most, unless messages are long.
_ROWS_AT_ONCE = 1_000
_SEQUENCES = (
    "SELECT string_agg(nextval(pg_get_serial_sequence(%s, 'sequence'))::text, ',') FROM generate_series(1, %s::int)"
)
# How long a caller waits for the pool before the server is asked whether it is there at all.
_POOL_PATIENCE_S = 1.0


class PostgresTransaction:
    """A transaction on one connection; see `protocol.Transaction`."""

    def __init__(self, connection: Connection, *, sees_one_state: bool = False) -> None:
        self.connection = connection
        self._sees_one_state = sees_one_state
        self._facts: dict[tuple[Kind, Scope], Facts] = {}
        self._counted: dict[Kind, dict[str, int]] = {}

    def facts(self, kind: Kind, scope: Scope) -> Facts:
        """What a search has to know; asked once if the answer cannot change in this transaction."""
        found = self._facts.get((kind, scope))
        if found is None:
            found = facts_of(self.connection, kind, scope)
            if self._sees_one_state:
                self._facts[kind, scope] = found
        return found

    def model(self) -> tuple[str, int] | None:
        """The model that made the vectors."""
        return next((one.model for one in self._facts.values()), None) or vectors_of.model_of(self.connection)

    def counted(self, kind: Kind) -> dict[str, int]:
        """In how many rows words are, as far as that was asked for and cannot change in this transaction."""
        return self._counted.setdefault(kind, {}) if self._sees_one_state else {}

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self._executed(sql, values).fetchall()

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        return self._executed(sql, values).fetchone()

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        return self._executed(sql, values).rowcount

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with self.connection.cursor() as cursor:
            if (insert := whole_insert(sql)) is None:
                cursor.executemany(translated(sql).encode(), map(adapted, rows))
                return
            rest = iter(rows)
            while some := list(islice(rest, _ROWS_AT_ONCE)):
                cursor.execute(insert[1], (objects(insert[0], some),))

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[int]:
        # The sequences are taken first: then COPY, which returns nothing, can store the rows, in half of the server's
        # time of an INSERT.
        given = list(rows)
        taken = self.connection.execute(_SEQUENCES, (table, len(given))).fetchone()
        sequences = [int(number) for number in taken[0].split(",")] if taken is not None and taken[0] else []
        lines = (f"{sequence}\t{copied(row)}" for sequence, row in zip(sequences, given, strict=True))
        names = ", ".join(("sequence", *columns))
        copy_lines(self.connection, f"COPY {table} ({names}) FROM STDIN", lines)
        return sequences

    def lock_agent(self, agent_id: str) -> None:
        self.connection.execute("SELECT 1 FROM agents WHERE id = %s FOR UPDATE", (agent_id,))

    def _executed(self, sql: str, values: Sequence[object]) -> psycopg.Cursor[Row]:
        shared = statement(sql)
        return self.connection.execute(shared.text, shared.values(values))


class PostgresEngine:
    """See `protocol.Engine`."""

    def __init__(self, uri: str) -> None:
        load_driver()
        self._address = address_of(uri)
        self._guard = Lock()
        self._pool: Pool | None = None
        self._inherited: list[Pool] = []
        self._process = os.getpid()
        self._model: tuple[str, int] | None = None
        with self._alone() as connection:
            migrate(connection, self._address)
            self._model = vectors_of.model_of(connection)

    @property
    def uri(self) -> str:
        return self._address.shown

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        with self._begun(_READ) as connection:
            yield PostgresTransaction(connection, sees_one_state=True)

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        with self._begun(_WRITE) as connection:
            yield PostgresTransaction(connection)

    def add_words(self, rows: Transaction, kind: Kind, words: Sequence[tuple[int, str]]) -> None:
        words_in.add_words(_connection(rows), kind, words)

    def words_of(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> dict[int, str]:
        return words_in.words_of(_connection(rows), kind, sequences)

    def frequencies(self, rows: Transaction, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
        own = _own(rows)
        found = words_in.frequencies(own.connection, kind, terms)
        own.counted(kind).update(found)
        return found

    def with_words(
        self, rows: Transaction, kind: Kind, weights: Mapping[str, float], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        own = _own(rows)
        facts = own.facts(kind, scope)
        return words_in.with_words(own.connection, kind, weights, scope, limit, facts, own.counted(kind))

    def add_vectors(self, rows: Transaction, kind: Kind, parts: Sequence[Part], vectors: NDArray[np.float32]) -> None:
        connection = _connection(rows)
        self._check_model(vectors_of.model_of(connection, lock=True), vectors.shape[1])
        vectors_of.add_vectors(connection, kind, parts, vectors)

    def nearest(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        own = _own(rows)
        facts = own.facts(kind, scope)
        if facts.model is None:
            return []
        self._check_model(facts.model, vector.shape[-1])
        return vectors_of.nearest(own.connection, kind, vector, scope, limit, facts)

    def cosines(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], sequences: Sequence[int]
    ) -> dict[int, float]:
        own = _own(rows)
        model = own.model()
        if model is None:
            return {}
        self._check_model(model, vector.shape[-1])
        return vectors_of.cosines(own.connection, kind, vector, sequences)

    def remove(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> None:
        connection = _connection(rows)
        words_in.remove_words(connection, kind, sequences)
        if vectors_of.model_of(connection) is not None:
            vectors_of.remove_vectors(connection, kind, sequences)

    def use_model(self, name: str, dim: int) -> bool:
        with self.reading() as rows:
            changed = vectors_of.model_of(rows.connection) != (name, dim)
        if changed:
            with self._alone() as connection:
                changed = vectors_of.use_model(connection, name, dim)
        self._model = name, dim
        return changed

    @contextmanager
    def leading(self, job: str) -> Iterator[Callable[[], bool]]:
        leader = Leader(self._address, job)
        try:
            yield leader.ask
        finally:
            leader.close()

    def maintain(self) -> None:
        with self._alone() as connection:
            upkeep.maintain(connection)

    def erase(self) -> None:
        with self._alone() as connection:
            upkeep.erase(connection)

    def verify(self) -> list[str]:
        with self._alone() as connection:
            return upkeep.verify(connection)

    def size(self) -> int:
        with self._alone() as connection:
            return upkeep.size(connection)

    def close(self) -> None:
        with self._guard:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.close()

    def _check_model(self, stored: tuple[str, int] | None, dim: int) -> None:
        """Vectors of two models are never compared."""
        if stored != self._model or (stored is not None and stored[1] != dim):
            said = "no model" if stored is None else f"the model {stored[0]} with {stored[1]} dimensions"
            raise StoreError(
                f"{self.uri} has vectors of {said}, not of the one in use",
                "restart this process; let all processes that share the database use one embed_model",
            )

    @contextmanager
    def _begun(self, begin: bytes) -> Iterator[Connection]:
        """A connection of the pool in a transaction, which is committed unless the block raises."""
        import psycopg
        from psycopg.pq import TransactionStatus

        pool, connection = self._taken(begin)
        try:
            yield connection
            if connection.info.transaction_status == TransactionStatus.INERROR:
                raise StoreError(f"{self.uri}: a statement failed, so nothing of it was stored", "try again")
            connection.commit()
        except psycopg.Error as error:
            raise explained(error, self._address) from error
        finally:
            if connection.info.transaction_status != TransactionStatus.IDLE and not connection.broken:
                with self._forgiven():
                    connection.rollback()
            pool.putconn(connection)

    @contextmanager
    def _forgiven(self) -> Iterator[None]:
        """The pool throws a connection away that cannot be rolled back."""
        import psycopg

        try:
            yield
        except psycopg.Error:
            return

    def _taken(self, begin: bytes) -> tuple[Pool, Connection]:
        """A connection that has begun a transaction. If the server was away, the pool's connections are dead: all are
        looked at once, and a new one is made."""
        import psycopg

        for is_last in (False, True):
            pool, connection = self._waited_for()
            try:
                connection.execute(begin)
            except psycopg.Error as error:
                pool.putconn(connection)
                if is_last or not is_lost(error):
                    raise explained(error, self._address) from error
                pool.check()
            else:
                return pool, connection
        raise AssertionError("the second turn returns or raises")

    def _waited_for(self) -> tuple[Pool, Connection]:
        """A connection of the pool. The pool does not say why it has none: a connection of our own tells."""
        import psycopg
        import psycopg_pool

        pool = self._opened_pool()
        end = monotonic() + LOCK_PATIENCE_S
        while True:
            try:
                return pool, pool.getconn(timeout=_POOL_PATIENCE_S)
            except psycopg_pool.PoolTimeout:
                if monotonic() > end:
                    raise Busy(f"{self.uri}: all connections of this process are in use", "try again") from None
            except psycopg_pool.PoolClosed:
                raise StoreError(f"{self.uri} was closed", "open it again") from None
            try:
                connected(self._address).close()
            except psycopg.Error as error:
                raise explained(error, self._address) from error

    def _opened_pool(self) -> Pool:
        with self._guard:
            if self._process != os.getpid():  # a connection must not be used, nor closed, on the other side of a fork
                self._inherited += [self._pool] if self._pool is not None else []
                self._pool, self._process = None, os.getpid()
            if self._pool is None:
                self._pool = new_pool(self._address)
            return self._pool

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """A connection of its own, for what is no transaction, or a long one."""
        import psycopg

        try:
            with connected(self._address) as connection:
                yield connection
        except psycopg.Error as error:
            raise explained(error, self._address) from error


def _own(rows: Transaction) -> PostgresTransaction:
    if not isinstance(rows, PostgresTransaction):
        raise ConfigError("a transaction of another engine", "use the engine that began it")
    return rows


def _connection(rows: Transaction) -> Connection:
    return _own(rows).connection
