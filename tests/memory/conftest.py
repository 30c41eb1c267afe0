"""A project with a `.sage/` of its own, and the databases that tests of the tiers and of channels run on."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tiers"))  # `postgres_server.py` and `made_ids.py` are there
from postgres_server import PostgresServer, running_server

from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.engines.sqlite import SqliteEngine


@contextmanager
def _sqlite(folder: Path) -> Iterator[Engine]:
    opened = SqliteEngine(str(folder / "memory" / "memory.db"))
    try:
        yield opened
    finally:
        opened.close()


def engines() -> Mapping[str, Callable[[Path], AbstractContextManager[Engine]]]:
    """Opens an empty database of each engine, by its name; the folder is the test's own. A new engine is added here."""
    return {"postgres": _postgres, "sqlite": _sqlite}


@contextmanager
def _postgres(_folder: Path) -> Iterator[Engine]:
    from sage_code.memory.tiers.engines.postgres import PostgresEngine

    server = _servers[0]
    name = server.fresh()
    opened = PostgresEngine(server.uri(name))
    try:
        yield opened
    finally:
        opened.close()
        server.drop(name)


# The server of this process of pytest, while it runs.
_servers: list[PostgresServer] = []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, in a folder that the user `nobody` may reach; it is started for the first test that
    needs it."""
    with tempfile.TemporaryDirectory(prefix="sage-pg-") as folder:
        with running_server(Path(folder)) as server:
            _servers.append(server)
            yield server
            _servers.clear()


@pytest.fixture(params=sorted(engines()))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database; a test that uses it runs once for each engine."""
    if request.param == "postgres":
        request.getfixturevalue("postgres")
    with engines()[request.param](tmp_path) as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project that keeps its memories itself."""
    folder = tmp_path / "payments-api"
    (folder / ".sage").mkdir(parents=True)
    return folder
