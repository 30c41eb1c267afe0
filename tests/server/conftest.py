"""Fixtures for the tests of the server; `talking.py` is what they share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sage_mcp import opening, projects, tooling

sys.path.insert(0, str(Path(__file__).parent))
from talking import HttpServer


@pytest.fixture(autouse=True)
def fresh_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget everything about earlier clients, and the project of the developer's agent."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    monkeypatch.setattr(tooling, "_openings", opening.Openings())
    for memory in (projects._folders, projects._open, projects.background._runs):
        memory.clear()


@pytest.fixture
def http_server(sample: Path) -> Iterator[HttpServer]:
    """A server over HTTP in the sample project."""
    running = HttpServer(sample)
    yield running
    running.end()
