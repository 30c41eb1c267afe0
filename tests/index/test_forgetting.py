"""`sage projects forget` removes the data of one project and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.errors import MemoryDamaged, UsageError
from sage_code.files.contained import remove_contained
from sage_code.index import registry
from sage_code.index.upkeep import compact_store, forget_project
from sage_code.memory.files.homes import MemoryHome


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _grep_bytes(folder: Path, text: bytes) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]


@pytest.mark.parametrize("linked", [".sage", ".sage/codebase"])
def test_forget_never_follows_a_link(sample: Path, tmp_path: Path, sage_home: Path, linked: str, sage: Any) -> None:
    """A pull replaces `.sage` by a link to the user's own: the store of all projects stays."""
    other = tmp_path / "other"
    shutil.copytree(sample, other)
    Project.open(sample).index()
    Project.open(other).index()
    if linked == ".sage":
        shutil.rmtree(other / ".sage")
        (other / ".sage").symlink_to(sage_home)
    else:
        shutil.rmtree(other / ".sage" / "codebase")
        (other / ".sage" / "codebase").symlink_to(sage_home / "codebase")
    before = _files(sage_home / "codebase" / "lancedb")
    outcome = sage("projects", "forget", str(other))
    assert outcome.code == 0
    assert (sage_home / "codebase" / "projects.json").exists()
    assert before.keys() & _files(sage_home / "codebase" / "lancedb").keys()
    assert Project.open(sample).search("reach a host").results
    assert Project.open(sample).index(full=True).chunks_created == 0
    assert [entry.root for entry in registry.projects()] == [str(sample)]


def test_forget_by_a_name_that_two_have_refuses_and_lists(sample: Path, tmp_path: Path, sage: Any, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    other = tmp_path / "deeper" / "sample"
    shutil.copytree(sample, other)
    Project.open(sample).index()
    Project.open(other).index()
    monkeypatch.chdir(tmp_path)  # where `sample` is a folder, too
    refused = sage("projects", "forget", "sample")
    assert refused.code == 2
    assert str(sample) in refused.err
    assert str(other) in refused.err
    assert len(registry.projects()) == 2
    assert sage("projects", "forget", "./sample").code == 0
    assert [entry.root for entry in registry.projects()] == [str(other)]


def test_what_is_forgotten_is_gone_from_the_store_at_once(sample: Path, sage_home: Path, sage: Any) -> None:
    (sample / "secret.py").write_text("def xylophone_marmalade():\n    return 'quixotic_zephyr'\n")
    Project.open(sample).index()
    assert _grep_bytes(sage_home, b"quixotic_zephyr")
    outcome = sage("projects", "forget", str(sample))
    assert "compact" not in outcome.out
    assert not _grep_bytes(sage_home, b"quixotic_zephyr")
    assert not _grep_bytes(sage_home, str(sample).encode())


def test_what_waits_for_compact_is_said_to(sample: Path, sage_home: Path, sage: Any) -> None:
    (sample / "secret.py").write_text("def xylophone_marmalade():\n    return 'quixotic_zephyr'\n")
    Project.open(sample).index()
    (sample / "secret.py").write_text("def nothing():\n    return None\n")
    Project.open(sample).index()
    outcome = sage("projects", "forget", str(sample))
    assert "sage admin compact" in outcome.out
    compact_store(Project.open(sample).settings)
    assert not _grep_bytes(sage_home, b"quixotic_zephyr")


def test_forgetting_a_project_that_is_gone_says_that_its_rows_wait(sample: Path) -> None:
    Project.open(sample).index()
    shutil.rmtree(sample)
    assert forget_project(str(sample)).waits


def test_nothing_stays_behind_in_dot_sage(sample: Path, sage: Any) -> None:
    project = Project.open(sample)
    project.index()
    sage("projects", "forget", str(sample))
    assert not (sample / ".sage").exists()
    project.index()
    project.mark_core("server.py", "Listens.")
    sage("projects", "forget", str(sample))
    assert sorted(path.name for path in (sample / ".sage").iterdir()) == [".gitignore", "core.md"]
    assert project.index().files_indexed == 2


def test_removing_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (tmp_path / "outside" / "kept").write_text("x")
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "real" / "inner").symlink_to(tmp_path / "outside")
    (root / "link").symlink_to(tmp_path / "outside")
    assert not remove_contained(str(root), "link/kept")
    assert not remove_contained(str(root), "link/deep")
    assert not remove_contained(str(root), "real/nothing")
    assert remove_contained(str(root), "link")
    assert remove_contained(str(root), "real")
    assert (tmp_path / "outside" / "kept").exists()
    assert (tmp_path / "outside" / "deep").exists()
    with pytest.raises(PermissionError):
        remove_contained(str(root), "../outside/kept")


def test_memories_are_not_deleted_through_a_link(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_text("x")
    (sample / ".sage").mkdir()
    (sample / ".sage" / "knowledge").symlink_to(tmp_path / "outside")
    with pytest.raises(MemoryDamaged, match="cannot be deleted"):
        MemoryHome("project", str(sample), ".sage").remove("knowledge/a.md")
    assert (tmp_path / "outside" / "a.md").exists()


def test_an_unknown_name_is_refused(sage_home: Path) -> None:
    with pytest.raises(UsageError, match="no project"):
        forget_project("nothing")
    assert not sage_home.exists()
