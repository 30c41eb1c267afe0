"""What every test runs under: a home of its own, and none of the developer's `SAGE_*` variables."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def sage_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary HOME and SAGE_HOME; the real ones are never touched. The latter does not exist yet."""
    for variable in os.environ:
        if variable.startswith("SAGE_"):
            monkeypatch.delenv(variable)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("SAGE_HOME", str(home / ".sage"))
    return home / ".sage"
