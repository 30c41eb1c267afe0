"""What every test runs under: a home of its own, and none of the developer's `SAGE_*` variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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


class Outcome(NamedTuple):
    """What a command line gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def sage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the `sage` command in this process, from its entry to its exit code."""
    from sage_cli.entry import main

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sage", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A small project: two languages, one name in both, something to skip."""
    root = tmp_path / "sample"
    (root / "web").mkdir(parents=True)
    (root / "server.py").write_text(
        '''"""Serves."""

LIMIT = 10


class Server:
    """Listens and answers."""

    def start(self, port: int) -> None:
        """Open the port."""
        self.port = port

    def stop(self):
        self.port = None


def connect(host, retries=3):
    """Reach a host."""
    return [host] * retries
'''
    )
    (root / "web" / "client.ts").write_text(
        "export interface Options { url: string }\n\nexport function connect(options: Options): string {\n"
        "  return options.url;\n}\n"
    )
    (root / "logo.bin").write_bytes(bytes(range(256)) * 8)
    return root
