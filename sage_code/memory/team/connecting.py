"""Connections to a team's database: a pool, transactions in the name of a person, and tries after a lost connection.

A transaction that is repeated after a lost connection must be one that may run twice; every write of a team's memory
is, since it names an operation that is stored once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from sage_code.errors import Busy, StoreError
from sage_code.memory.tiers.engines.postgres_driver import (
    Address,
    address_of,
    connected,
    explained,
    is_lost,
    load_driver,
    new_pool,
)

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.postgres_driver import Connection, Pool

SETTING = "team_database_url"
# A server that restarts is back within seconds. A person who waits is not kept longer than this.
PATIENCE_S = 6.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
# A merge between two statements takes milliseconds; a client that hangs gives the item back after this.
_IDLE_LIMIT = "15s"
_POOL_PATIENCE_S = 15.0
# A person waits for this before a command goes on without the server.
_PROBE_PATIENCE_S = 4
_Value = TypeVar("_Value")


class Unreachable(StoreError):  # noqa: N818 - says what is wrong
    """The server of the team cannot be reached now; edits wait in the replica."""


class TeamDatabase:
    """A team's database; safe to share between threads."""

    def __init__(self, uri: str, *, patience_s: float = PATIENCE_S) -> None:
        load_driver(SETTING)
        self.address: Address = address_of(uri, SETTING)
        self._patience_s = patience_s
        self._guard = Lock()

    @cached_property
    def _pool(self) -> Pool:
        return new_pool(self.address)

    def close(self) -> None:
        """Close the connections."""
        with self._guard:
            if "_pool" in self.__dict__:
                self._pool.close()
                del self.__dict__["_pool"]

    @property
    def user(self) -> str:
        """The role that the address names; empty if it leaves that to the environment."""
        from psycopg.conninfo import conninfo_to_dict

        return str(conninfo_to_dict(self.address.text).get("user") or "")

    @contextmanager
    def alone(self, patience_s: int = _PROBE_PATIENCE_S) -> Iterator[Connection]:
        """A connection for the administrator's statements."""
        import psycopg

        try:
            with connected(self.address, patience_s) as connection:
                yield connection
        except psycopg.Error as error:
            raise self._meaning(error) from error

    def probe(self) -> None:
        """Unreachable if the server does not answer within seconds, StoreError if it refuses this user."""
        with self.alone():
            return

    def run(self, work: Callable[[Connection], _Value], member: str = "") -> _Value:
        """Do something in one transaction, as `member` if one is given. After a lost connection it is tried again."""
        import psycopg
        import psycopg_pool

        until = time.monotonic() + self._patience_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return self._once(work, member)
            except (psycopg.Error, psycopg_pool.PoolTimeout) as error:
                meaning = self._meaning(error)
                is_gone = isinstance(meaning, Unreachable | Busy)
                if not is_gone or time.monotonic() + pause > until:
                    raise meaning from error
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _once(self, work: Callable[[Connection], _Value], member: str) -> _Value:
        """One try of `run`, in a transaction that gives its locks back soon if this process hangs."""
        from psycopg import sql

        with self._guard:
            pool = self._pool
        with pool.connection(timeout=min(_POOL_PATIENCE_S, max(self._patience_s, 1.0))) as connection:
            with connection.transaction():
                connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{_IDLE_LIMIT}'".encode())
                if member:
                    connection.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(member)))
                return work(connection)

    def _meaning(self, error: Exception) -> StoreError | Busy:
        """What an error means to the caller."""
        import psycopg_pool

        meaning = explained(error, self.address)
        starting = getattr(error, "sqlstate", None) == "57P03" or "starting or stopping" in meaning.message
        if isinstance(error, psycopg_pool.PoolTimeout) or is_lost(error) or starting:
            if "refuses this user" in meaning.message or "no such database" in meaning.message:
                return StoreError(meaning.message, meaning.hint)
            said = (
                meaning.message if not isinstance(error, psycopg_pool.PoolTimeout) else f"{self.address.shown}: {error}"
            )
            return Unreachable(said, "the edits wait here; `sage team sync` sends them when the server is back")
        return meaning if isinstance(meaning, StoreError | Busy) else StoreError(meaning.message, meaning.hint)
