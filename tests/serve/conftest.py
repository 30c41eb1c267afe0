"""Fixtures for the tests of the server for many users."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from serving import Serving

from sage_code import Project
from sage_code.serving import users


@pytest.fixture
def tokens(sample: Path, tmp_path: Path) -> dict[str, str]:
    """Two indexed projects, and users with different rights."""
    other = tmp_path / "secret-project"
    other.mkdir()
    (other / "vault.py").write_text("def reach_the_vault(host):\n    return host\n")
    Project(str(sample)).index()
    Project(str(other)).index()
    made = {
        "reader": ("search", str(sample)),
        "writer": ("search,memory:read,memory:write", str(sample)),
        "indexer": ("search,index", str(sample)),
        "admin": ("admin", ""),
    }
    return {
        name: users.add(name, scopes.split(","), [project] if project else [])[1]
        for name, (scopes, project) in made.items()
    }


@pytest.fixture
def serving(tokens: dict[str, str], sample: Path) -> Iterator[Serving]:
    """A server for them."""
    running = Serving(sample)
    yield running
    running.end()
