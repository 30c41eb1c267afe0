"""A project with a `.sage/` of its own, and the memory that it sees."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project that keeps its memories itself."""
    folder = tmp_path / "payments-api"
    (folder / ".sage").mkdir(parents=True)
    return folder
