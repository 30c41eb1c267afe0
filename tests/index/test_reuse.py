"""Nothing is embedded twice: worktrees, renames, branches, and compiled files that were deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.discover import reading
from sage_code.index import manifest
from sage_code.index.manifest import load_manifest
from sage_code.index.status import folder_bytes
from sage_code.index.upkeep import compact_store
from sage_code.paths import codebase_dir, compiled_dir, generations_dir
from sage_code.settings.loading import Settings
from sage_code.store.lance import Store, store_uri

Answer = Callable[..., dict]


@pytest.fixture
def repository(
    tmp_path: Path, write: Callable[..., Path], many_files: dict[str, str], git: Callable[..., None]
) -> Path:
    root = write(tmp_path / "repository", many_files)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_a_second_worktree_adds_next_to_nothing(
    repository: Path, tmp_path: Path, answer: Answer, git: Callable[..., None], open_store: Callable[[], Store]
) -> None:
    first = answer("index", repository)
    rows, taken = open_store().count(), folder_bytes(store_uri(""))
    git(repository, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "feature")
    with (tmp_path / "second" / "package" / "module_3.py").open("a") as file:
        file.write("def only_here(values):\n    return sum(value * 31 for value in values if value > 1_000_000)\n" * 4)
    second = answer("index", tmp_path / "second")
    assert 1 <= second["chunks_created"] <= 2
    assert second["chunks_created"] + second["chunks_reused"] == pytest.approx(first["chunks_created"], abs=2)
    assert open_store().count() - rows == second["chunks_created"]
    growth = folder_bytes(store_uri("")) / taken - 1
    assert growth < 0.10, f"the store grew by {growth:.1%}"
    compact_store(Settings())
    for root in (repository, tmp_path / "second"):
        assert answer("admin", "verify", root, "--check")["clean"]


def test_a_rename_embeds_nothing(repository: Path, answer: Answer, finds: Callable[..., list[str]]) -> None:
    answer("index", repository)
    (repository / "package").rename(repository / "moved")
    (repository / "moved" / "module_0.py").rename(repository / "other_name.py")
    stats = answer("index", repository)
    assert (stats["chunks_created"], stats["files_indexed"], stats["files_removed"]) == (0, 40, 40)
    assert finds(repository, "work_0_1") == ["other_name.py"]
    assert finds(repository, "work_9_1") == ["moved/module_9.py"]


def test_a_changed_file_is_read_once(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Project.open(repository).index()
    for path in repository.rglob("*.py"):
        os.utime(path, (1, 1))
    Project.open(repository).index()
    (repository / "package" / "module_3.py").write_text("def changed():\n    return 3\n")
    (repository / "package" / "new.py").write_text("def new():\n    return 4\n")
    read = reading.read_contained
    paths = []

    def counted(root: bytes, path: bytes, limit: int) -> bytes:
        paths.append(path.decode())
        return read(root, path, limit)

    monkeypatch.setattr(reading, "read_contained", counted)
    assert Project.open(repository).index().files_indexed == 2
    assert sorted(paths) == ["package/module_3.py", "package/new.py"]


def test_a_branch_that_was_seen_embeds_nothing(
    repository: Path, answer: Answer, git: Callable[..., None], finds: Callable[..., list[str]]
) -> None:
    answer("index", repository)
    git(repository, "checkout", "-qb", "feature")
    for number in range(10):
        path = repository / "package" / f"module_{number}.py"
        path.write_text(path.read_text().replace(f"work_{number}_", f"task_{number}_"))
    assert answer("index", repository)["chunks_created"] == 100
    git(repository, "commit", "-qam", "second")
    for branch, name in (("main", "work_4_2"), ("feature", "task_4_2")):
        git(repository, "checkout", "-q", branch)
        stats = answer("index", repository)
        assert (stats["chunks_created"], stats["files_indexed"]) == (0, 10)
        assert finds(repository, name) == ["package/module_4.py"]


@pytest.mark.parametrize("lost", [compiled_dir, generations_dir, codebase_dir])
def test_deleted_compiled_files_come_back_from_the_store(
    repository: Path, answer: Answer, lost: Callable[[str], str]
) -> None:
    answer("index", repository)
    before = _symbol_files(repository)
    folder = Path(lost(str(repository)))
    folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)
    stats = answer("index", repository)
    assert stats["chunks_created"] == 0
    assert _symbol_files(repository) == before
    assert answer("admin", "verify", repository, "--check")["clean"]


def _symbol_files(root: Path) -> dict[str, bytes]:
    files = Path(compiled_dir(str(root))).glob("*s.json")
    return {path.name: path.read_bytes() for path in files if path.name != "segments.json"}


def test_another_chunker_cuts_everything_again_and_embeds_nothing_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index made by an older Sage is brought up to date by the next run, although no file has changed."""
    (tmp_path / "a.py").write_text("def first():\n    return 1\n")
    project = Project.open(tmp_path)
    project.index()
    monkeypatch.setattr("sage_code.index.manifest.CHUNKER_VERSION", 99)
    again = project.index()
    assert (again.chunks_created, again.files_unchanged) == (0, 1)
    kept = load_manifest(str(tmp_path))
    assert kept is not None
    assert manifest.is_of_this_chunker(kept)
    assert [match["name"] for match in project.grep("first")] == ["first"]
