"""A clean git and a small project to try things on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


@pytest.fixture
def write() -> Callable[[Path, dict[str, str | bytes]], Path]:
    """Fills a folder; the values are the contents of the files."""

    def fill(root: Path, files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return fill


@pytest.fixture
def as_ordinary_user() -> AsUser:
    """Permissions mean nothing to root: for a while the process is nobody, who owns the folder."""

    @contextmanager
    def drop(root: Path) -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        nobody = 65534
        for folder in (root, *root.rglob("*")):
            os.lchown(folder, nobody, nobody)
        for parent in root.parents[:-1]:
            if not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        os.setegid(nobody)
        os.seteuid(nobody)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return drop
