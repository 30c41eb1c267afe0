"""A clean git and a small project to try things on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

GitCommand = Callable[..., str]
AsUser = Callable[[Path], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def _clean_git(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither the user's settings nor an outer repository may reach a test."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def git() -> GitCommand:
    def run(folder: Path, *arguments: str) -> str:
        settings = ["user.name=t", "user.email=t@example.org", "protocol.file.allow=always", "init.defaultBranch=main"]
        command = ["git", "-C", str(folder), *(word for setting in settings for word in ("-c", setting)), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run
