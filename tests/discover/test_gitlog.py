"""The last commits: authors and files, nothing executed, and no answer where there is no history."""

from __future__ import annotations

import itertools
import os
import subprocess
from pathlib import Path

import pytest

from sage_code.discover.gitlog import Commit, recent_commits

_NUMBERS = itertools.count()


def _commit(root: Path, author: str, *files: str) -> None:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{author} {next(_NUMBERS)}")
    _git(root, "add", "-A")
    _git(root, "-c", f"user.name={author}", "-c", "user.email=a@b", "commit", "-qm", "a\n\nmessage")


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q", "p")
    return tmp_path / "p"


def test_authors_and_files(root: Path) -> None:
    assert recent_commits(str(root)) == []  # no commit yet
    _commit(root, "Ana", "a.py", "src/b c.py")
    _commit(root, "Bén", "src/b c.py", "é.py")
    newest = Commit("Bén", ("src/b c.py", "é.py"))
    assert recent_commits(str(root)) == [newest, Commit("Ana", ("a.py", "src/b c.py"))]
    assert recent_commits(str(root), 1) == [newest]
    assert recent_commits(str(root / "src")) == [Commit("Bén", ("b c.py",)), Commit("Ana", ("b c.py",))]


def test_no_history_no_commits(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(root, "Ana", "a.py")
    _commit(root, "Ana", "b.py")
    _git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    assert recent_commits(str(tmp_path / "shallow")) == []
    (tmp_path / "plain").mkdir()
    assert recent_commits(str(tmp_path / "plain")) == []
    monkeypatch.setenv("PATH", str(tmp_path))
    assert recent_commits(str(root)) == []


def test_nothing_of_the_repository_is_executed(root: Path, tmp_path: Path) -> None:
    _commit(root, "Ana", "a.py")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\nexit 0\n")
    trap.chmod(0o755)
    os.mkfifo(root / ".mailmap")
    (root / ".gitattributes").write_text("*.py diff=trap\n")
    for setting in (
        "core.pager", "pager.log", "core.fsmonitor", "gpg.program", "diff.external", "diff.trap.textconv",
        "diff.trap.command", "core.sshCommand", "core.hooksPath", "alias.log",
    ):  # fmt: skip
        _git(root, "config", setting, str(trap))
    _git(root, "config", "log.showSignature", "true")
    _git(root, "config", "mailmap.file", str(root / ".mailmap"))
    _git(root, "config", "diff.orderFile", str(root / ".mailmap"))
    assert recent_commits(str(root)) == [Commit("Ana", ("a.py",))]
    assert not (tmp_path / "sprung").exists()


def test_a_git_that_hangs_or_floods_is_ended(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _commit(root, "Ana", "a.py")
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = programs / "git"
    fake.write_text("#!/bin/sh\nprintf '\\002Ana\\0\\na.py\\0\\002Ben\\0\\nb'\nexec /bin/sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr("sage_code.discover.gitlog.MAX_SECONDS", 0.5)
    assert recent_commits(str(root)) == [Commit("Ana", ("a.py",)), Commit("Ben", ())]
    fake.write_text("#!/bin/sh\nexec /usr/bin/yes\n")
    monkeypatch.setattr("sage_code.discover.gitlog.MAX_BYTES", 100_000)
    assert recent_commits(str(root)) == []
