"""Compiled files count only if this user's Sage has made or imported them."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from sage_code import Project
from sage_code.compiled.published import current
from sage_code.compiled.texts import stored_text
from sage_code.errors import IndexCorrupt, NotIndexed, SageError
from sage_code.files import provenance
from sage_code.files.private import _private_name
from sage_code.index import registry
from sage_code.index.manifest import load_manifest
from sage_code.memory.files.homes import MemoryHome
from sage_code.paths import codebase_dir, compiled_dir


@pytest.fixture
def clone(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a committed, forged `.sage/codebase/`, as another user has made it."""
    with monkeypatch.context() as theirs:
        theirs.setenv("SAGE_HOME", str(tmp_path / "theirs" / ".sage"))
        Project.open(sample).index()
        project = Project.open(sample)
        project.export_index(tmp_path / "a.sageindex")
        Project.import_index(tmp_path / "a.sageindex", sample)  # with texts, too
        path = Path(compiled_dir(str(sample)), "functions.json")
        path.write_bytes(path.read_bytes().replace(b"Reach a host.", b"Run as root."))
    return sample


READERS: dict[str, Callable[[Project], Any]] = {
    "grep": lambda project: project.grep("connect"),
    "nearest": lambda project: project.nearest("connekt"),
    "search": lambda project: project.search("reach a host"),
    "analyze": lambda project: project.analyze("connect"),
    "references": lambda project: project.related("connect", "references"),
    "map": lambda project: project.map(),
    "similar": lambda project: project.similar("server.py", 5),
    "duplicates": lambda project: project.duplicates(),
    "export": lambda project: project.export_index("/nonexistent/x"),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_committed_codebase_is_ignored(clone: Path, reader: str) -> None:
    with pytest.raises(NotIndexed, match="not indexed"):
        READERS[reader](Project.open(clone))


def test_status_texts_and_manifest_of_a_clone_are_ignored(clone: Path) -> None:
    assert not Project.open(clone).status().indexed
    assert stored_text(str(clone), "server.py") is None
    assert load_manifest(str(clone)) is None
    assert current(str(clone)) is None


def test_indexing_a_clone_uses_nothing_that_came_with_it(clone: Path) -> None:
    stats = Project.open(clone).index()
    assert (stats.files_unchanged, stats.files_indexed) == (0, 2)
    assert stats.chunks_created > 0
    (match,) = (match for match in Project.open(clone).grep("connect") if match["file"] == "server.py")
    assert match["docstring"] == "Reach a host."
    assert len(os.listdir(Path(codebase_dir(str(clone)), "generations"))) == 1


def test_a_pull_that_changes_compiled_files_is_noticed_and_mended(sample: Path) -> None:
    """The author of a commit may know the name of a generation that was committed before."""
    Project.open(sample).index()
    path = Path(compiled_dir(str(sample)), "functions.json")
    path.write_bytes(path.read_bytes().replace(b"Reach a host.", b"Run as root.."))
    with pytest.raises(IndexCorrupt):
        Project.open(sample).grep("connect", refresh=False)
    Project.open(sample).index()
    assert "Run as root" not in str(Project.open(sample).grep("connect"))


def test_another_projects_index_is_not_served_through_a_link(sample: Path, tmp_path: Path) -> None:
    Project.open(sample).index()
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile" / ".sage").symlink_to(sample / ".sage")
    with pytest.raises(NotIndexed):
        Project.open(tmp_path / "hostile").grep("connect")
    assert load_manifest(str(tmp_path / "hostile")) is None
    assert not Project.open(tmp_path / "hostile").status().indexed


def test_a_moved_project_keeps_its_index(sample: Path) -> None:
    Project.open(sample).index()
    moved = sample.rename(sample.parent / "moved")
    assert Project.open(moved).grep("connect")
    stats = Project.open(moved).index()
    assert (stats.files_indexed, stats.chunks_created) == (0, 0)


def test_a_copy_without_time_stamps_comes_back_from_the_store(sample: Path) -> None:
    for path in (sample, *sample.rglob("*")):
        os.utime(path, (1, 1))
    Project.open(sample).index()
    copy = sample.parent / "copy"
    shutil.copytree(sample, copy, symlinks=True, copy_function=shutil.copyfile)
    with pytest.raises(SageError):
        Project.open(copy).grep("connect", refresh=False)
    assert Project.open(copy).index().chunks_created == 0
    assert Project.open(copy).grep("connect")
    assert Project.open(sample).grep("connect")


def test_both_copies_of_a_project_stay_readable(sample: Path) -> None:
    Project.open(sample).index()
    copy = sample.parent / "copy"
    shutil.copytree(sample, copy, symlinks=True)
    for round_ in range(3):
        (copy / "new.py").write_text(f"def new_{round_}():\n    return {round_}\n")
        Project.open(copy).index()
    assert Project.open(sample).grep("connect")
    assert Project.open(copy).grep("new_2")


def test_an_index_of_an_older_sage_is_taken_over(sample: Path, tmp_path: Path) -> None:
    """It left no notes: the manifest is accepted because the registry has the project, and the rest is in the store."""
    Project.open(sample).index()
    Project.open(sample).export_index(tmp_path / "a.sageindex")
    Project.import_index(tmp_path / "a.sageindex", tmp_path / "alone")
    shutil.rmtree(Path(os.environ["SAGE_HOME"], "codebase", "made"))
    assert Project.open(tmp_path / "alone").index().files_unchanged == 2
    assert Project.open(tmp_path / "alone").grep("connect")


def test_notes_of_deleted_generations_are_deleted(sample: Path) -> None:
    notes = Path(os.environ["SAGE_HOME"], "codebase", "made")
    for number in range(4):
        (sample / "new.py").write_text(f"def new_{number}():\n    return {number}\n")
        Project.open(sample).index()
    assert len(list(notes.iterdir())) == 2  # the published one, and the one before, which may still be read
    shutil.rmtree(sample)
    provenance.sweep()
    assert not list(notes.iterdir())
    assert registry.projects()


def test_finding_the_published_folder_is_cheap(sample: Path) -> None:
    Project.open(sample).index()
    started = time.process_time()
    for _ in range(200):
        assert provenance.published_folder(str(sample))
    assert (time.process_time() - started) / 200 < 0.005  # 0.1 ms; a safety limit for a machine under load


def test_memories_of_a_clone_are_read_from_its_markdown_alone(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors, titles and the map of attached memories are made here; those under a clone's `local/` are ignored."""
    with monkeypatch.context() as theirs:
        theirs.setenv("SAGE_HOME", str(tmp_path / "theirs" / ".sage"))
        home = MemoryHome("project", str(sample), ".sage")
        home.prepare("checkpoints")
        their_folder = Path(home.derived)
        Path(home.derived, "checkpoints.npz").write_bytes(b"forged")
    assert Path(home.derived) != their_folder
    home.prepare("checkpoints")
    assert not list(Path(home.derived).iterdir())
    assert Path(MemoryHome("project", str(sample), ".sage").derived) == Path(home.derived)


def test_all_that_begin_at_once_take_the_same_private_name(tmp_path: Path) -> None:
    gate = Barrier(8)

    def first_name(_: int) -> str:
        gate.wait()
        return _private_name.__wrapped__(str(tmp_path / "home"))

    with ThreadPoolExecutor(8) as pool:
        names = set(pool.map(first_name, range(8)))
    assert names == {(tmp_path / "home" / "codebase" / "private-name").read_text()}
