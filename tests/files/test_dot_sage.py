"""A project's `.sage/`: who may read it, and what git sees of it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.settings.loading import set_value


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(sample: Path) -> Path:
    _git(sample, "init", "-q")
    _git(sample, "add", "-A")
    _git(sample, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    return sample


def test_indexing_a_foreign_repository_leaves_git_status_clean(repository: Path) -> None:
    Project.open(repository).index()
    assert _git(repository, "status", "--porcelain", "--untracked-files=all") == ""


@pytest.mark.parametrize("what", ["core", "setting", "checkpoint"])
def test_gitignore_stops_ignoring_itself_when_something_is_shared(repository: Path, what: str, sage: Any) -> None:
    project = Project.open(repository)
    project.index()
    if what == "core":
        project.mark_core("server.py", "Listens.")
    elif what == "setting":
        set_value("max_file_bytes", "100000", "project", str(repository))
    else:
        assert sage("checkpoint", "save", "-t", "Kafka keeps the order.", "--project", str(repository)).code == 0
    seen = _git(repository, "status", "--porcelain", "--untracked-files=all").split()
    assert ".sage/.gitignore" in seen
    assert not [path for path in seen if "codebase" in path or "local" in path]
    assert len([path for path in seen if path.startswith(".sage/")]) == 2


def test_a_gitignore_of_the_team_is_left_alone(repository: Path) -> None:
    (repository / ".sage").mkdir()
    (repository / ".sage" / ".gitignore").write_text("codebase/\nlocal/\nmine\n")
    project = Project.open(repository)
    project.index()
    project.mark_core("server.py")
    assert (repository / ".sage" / ".gitignore").read_text() == "codebase/\nlocal/\nmine\n"


def _open_to_others(folder: Path) -> list[str]:
    """The files below a folder that other users can read."""
    found = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if stat.S_IMODE(os.lstat(Path(parent, name)).st_mode) & 0o077]
        found += [os.path.join(parent, name) for name in folders]
        found += [path for name in files if os.lstat(path := os.path.join(parent, name)).st_mode & 0o077]
    return found


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_store_exports_and_compiled_files_are_private(
    sample: Path, sage_home: Path, tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        project = Project.open(sample)
        project.index()
        project.export_index(tmp_path / "a.sageindex")
        project.mark_core("server.py", "Listens.")
        (sample / "new.py").write_text("def new():\n    return 1\n")
        project.index()
    finally:
        os.umask(before)
    assert stat.S_IMODE(sage_home.stat().st_mode) == 0o700
    assert _open_to_others(sage_home) == []
    assert not [path for path in (sage_home / "codebase" / "lancedb").rglob("*") if path.stat().st_mode & 0o077]
    assert stat.S_IMODE((tmp_path / "a.sageindex").stat().st_mode) == 0o600
    shared = {str(sample / ".sage" / name) for name in (".gitignore", "core.md")}
    assert set(_open_to_others(sample / ".sage")) == shared
    assert (sample / ".sage").stat().st_mode & 0o055 == 0o055 & ~umask
    compiled = [path for path in (sample / ".sage" / "codebase").rglob("*") if not path.is_symlink()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in compiled if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in compiled if path.is_dir()} == {0o700}


def test_modes_of_an_older_sage_are_mended_by_the_next_index(sample: Path, sage_home: Path) -> None:
    project = Project.open(sample)
    project.index()
    for folder in (sage_home, sample / ".sage"):
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
    (sample / ".sage" / "codebase" / "outside").symlink_to(sample / "server.py")
    mode = (sample / "server.py").stat().st_mode
    project.index()
    assert _open_to_others(sage_home) == []
    assert _open_to_others(sample / ".sage") == [str(sample / ".sage" / ".gitignore")]
    assert (sample / "server.py").stat().st_mode == mode
    lance = [path for path in (sage_home / "codebase").rglob("*") if path.is_file()]
    assert not any(path.stat().st_mode & 0o077 for path in lance)
