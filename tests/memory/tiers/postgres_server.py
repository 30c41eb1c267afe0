"""A real PostgreSQL server for the tests: one for each process of pytest, a fresh database for each test.

The starter is the one of the benchmarks. A database is a copy of one in which the tables are made already.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

_STARTER = Path(__file__).resolve().parents[3] / "benchmarks" / "postgres.py"
_TEMPLATE = "sage_template"
# Nothing of a test has to survive a power failure.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "60"}


def starter() -> ModuleType:
    """`benchmarks/postgres.py`, which is no module of a package."""
    name = "sage_benchmarks_postgres"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _STARTER)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


class PostgresServer:
    """A running server that gives every test a database."""

    def __init__(self, running: Any) -> None:
        self.running = running
        self._numbers = itertools.count(1)
        self._has_template = False

    def run(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the administrator."""
        import psycopg

        with psycopg.connect(self.running.uri(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> str:
        """The name of a new database without tables."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return name

    def fresh(self) -> str:
        """The name of a new database with the tables of this Sage."""
        if not self._has_template:
            from sage_code.memory.tiers.engines.postgres import PostgresEngine

            self.run(f"CREATE DATABASE {_TEMPLATE}")
            PostgresEngine(self.uri(_TEMPLATE)).close()
            self._has_template = True
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")
        return name

    def drop(self, name: str) -> None:
        """Delete a database, whoever still uses it."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def uri(self, database: str, user: str = "postgres", password: str = "") -> str:
        """The address of a database."""
        uri: str = self.running.uri(database, user, password)
        return uri


@contextmanager
def running_server(folder: Path, **settings: str) -> Iterator[PostgresServer]:
    """A running server; it is stopped also after a failure."""
    with starter().started(folder, **{**FAST, **settings}) as running:
        yield PostgresServer(running)
