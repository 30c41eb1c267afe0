"""A machine with sessions of its own; `playing.py` is what the tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from playing import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A computer with its own home, Sage's home and Claude Code's folder; nothing runs on it afterwards."""
    made = Machine(tmp_path / "machine")
    yield made
    assert made.settle() == 0, "background processes are left"
