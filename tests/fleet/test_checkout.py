from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from sage_code.discover.rules import discover_rules
from sage_code.errors import StoreError
from sage_code.fleet import checkout, roster
from sage_code.settings.loading import load_settings


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A git repository with five files."""
    folder = tmp_path / "origin"
    (folder / "src").mkdir(parents=True)
    for number in range(5):
        (folder / "src" / f"m{number}.py").write_text(f"def f{number}():\n    return {number}\n")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder)
    return folder


def _git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def _commit(folder: Path) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--allow-empty", "-m", "change")


def _files(one: roster.Repository) -> list[str]:
    found = checkout.check_out(one, checkout.current_commit(one), discover_rules(load_settings(None)), "")
    return sorted(file.path for file in found.files)


def test_a_commit_of_too_many_files_is_refused_before_it_is_checked_out(
    origin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = roster.repository(origin.as_uri())
    monkeypatch.setattr(checkout, "_MAX_FILES", 4)
    with pytest.raises(StoreError, match="more than 4 files"):
        _files(one)
    assert not os.path.exists(os.path.join(checkout.clone_folder(one), "src"))
    monkeypatch.setattr(checkout, "_MAX_FILES", 5)
    assert len(_files(one)) == 5


def test_a_commit_of_too_many_bytes_is_refused(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "_MAX_TREE_BYTES", 20)
    with pytest.raises(StoreError, match="more than"):
        _files(roster.repository(origin.as_uri()))


def test_a_pack_that_is_too_large_ends_the_fetch(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (origin / "large.bin").write_bytes(bytes(value * 7 % 251 for value in range(200_000)) * 3)
    _commit(origin)
    monkeypatch.setattr(checkout, "_MAX_PACK_BYTES", 100)
    with pytest.raises(StoreError):
        _files(roster.repository(origin.as_uri()))


def test_git_that_takes_too_long_ends_with_its_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "slow_ssh"
    helper.write_text("#!/bin/sh\nexec sleep 61.5\n")
    helper.chmod(0o700)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(helper))
    monkeypatch.setattr(checkout, "_ASK_S", 0.5)
    with pytest.raises(StoreError, match="took longer"):
        checkout.current_commit(roster.repository("git@git.example.org:team/api.git"))
    until = time.monotonic() + 5
    while _sleeping() and time.monotonic() < until:
        time.sleep(0.05)
    assert not _sleeping()


def _sleeping() -> bool:
    return any(one.info["cmdline"] == ["sleep", "61.5"] for one in psutil.process_iter(["cmdline"]))


def test_a_clone_with_many_packs_or_a_broken_one_is_made_again(origin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkout, "_MOST_PACKS", 2)
    monkeypatch.setitem(os.environ, "GIT_CONFIG_GLOBAL", os.devnull)
    one = roster.repository(origin.as_uri())
    packs = Path(checkout.clone_folder(one)) / ".git" / "objects" / "pack"
    for number in range(2):
        (origin / "src" / "m0.py").write_text(f"def f0():\n    return {number + 100}\n")
        _commit(origin)
        assert len(_files(one)) == 5
        packs.mkdir(exist_ok=True)
        (packs / "tmp_pack_left").write_text("of a git that was killed")
    (origin / "src" / "m0.py").unlink()
    _commit(origin)
    assert len(_files(one)) == 4
    assert not (packs / "tmp_pack_left").exists()


def test_the_clones_of_removed_repositories_go(origin: Path) -> None:
    one = roster.repository(origin.as_uri())
    _files(one)
    assert os.path.isdir(checkout.clone_folder(one))
    checkout.drop_clones([one, roster.repository(str(origin))])
    assert not os.path.exists(checkout.clone_folder(one))
    assert origin.is_dir()
