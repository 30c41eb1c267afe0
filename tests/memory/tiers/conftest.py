"""The databases that every test of the tiers runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

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
    return {"sqlite": _sqlite}


@pytest.fixture(params=sorted(engines()))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database; a test that uses it runs once for each engine."""
    with engines()[request.param](tmp_path) as opened:
        yield opened
