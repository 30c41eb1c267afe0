"""Automatic compaction: the store stays small through many small edits with readers, and keeps what is used."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.files.locks import locked
from sage_code.index import auto_compaction, registry
from sage_code.index.auto_compaction import compact_if_crowded
from sage_code.index.status import folder_bytes
from sage_code.index.upkeep import verify_project
from sage_code.paths import codebase_dir
from sage_code.settings.loading import Settings
from sage_code.store.lance import Store, store_uri, use_lock
from sage_code.store.rows import FileRows

MakeRows = Callable[..., FileRows]
DIM = 8
_PAUSE = "def pause(seconds):\n    return seconds * {}\n"


def _files(folder: str) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


@pytest.fixture
def store() -> Store:
    return Store(store_uri(""), "model", DIM)


def _edit(store: Store, rows_of: MakeRows, numbers: range) -> list[FileRows]:
    """Versions of one file, added one after another as runs do."""
    versions = [rows_of("a.py", _PAUSE.format(number)) for number in numbers]
    for version in versions:
        with locked(use_lock(store.uri), shared=True):
            store.add([version])
        assert compact_if_crowded(store) == ""
    return versions


def test_the_store_does_not_grow_with_the_square_of_small_edits(store: Store, rows_of: MakeRows) -> None:
    _edit(store, rows_of, range(60))
    files, size = _files(store.uri), folder_bytes(store.uri)
    versions = _edit(store, rows_of, range(60, 180))
    assert _files(store.uri) < 1.5 * files + 20
    assert folder_bytes(store.uri) < 2 * size
    # The last rows are there, although the store was compacted meanwhile.
    kept = [version.key for version in versions[-20:]]
    assert store.existing(kept) == set(kept)
    assert [file.path for file in Store(store.uri, "model", DIM).read(kept)] == ["a.py"] * 20
    assert not store.check().bad_files | store.check().bad_texts


def test_an_indexed_project_stays_small_while_others_read_it(tmp_path: Path, write: Callable[..., Path]) -> None:
    root = write(tmp_path / "tiny", {f"m{n}.py": _PAUSE.format(n) for n in range(5)})
    project = Project.open(root)
    project.index()
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                assert Project.open(root).search("pause", refresh=False, everywhere=True).results
                Project.open(root).export_index(tmp_path / "archive")
                verify_project(str(root), Settings(), mend=False)
            except BaseException as error:
                failures.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            (root / f"m{number % 5}.py").write_text(_PAUSE.format(1_000 + number))
            assert project.index().files_indexed == 1
            if number == 20:
                store, compiled = folder_bytes(store_uri("")), folder_bytes(codebase_dir(str(root)))
    finally:
        done.set()
        reader.join()
    assert not failures
    (root / "m0.py").write_text(_PAUSE.format(2_000))  # now no other process keeps the run from compacting
    project.index()
    assert _files(store_uri("")) < 150
    assert folder_bytes(store_uri("")) < 3 * store
    assert folder_bytes(codebase_dir(str(root))) < 3 * compiled
    assert verify_project(str(root), Settings(), mend=False).clean


def test_compaction_never_happens_beside_a_reader(store: Store, rows_of: MakeRows) -> None:
    for number in range(40):
        store.add([rows_of("a.py", _PAUSE.format(number))])
    before = _files(store.uri)
    with locked(use_lock(store.uri), shared=True):
        assert store.is_crowded()
        assert compact_if_crowded(store) == ""
        assert _files(store.uri) == before
    assert compact_if_crowded(store) == ""
    assert _files(store.uri) < 20
    assert not store.is_crowded()


def test_unused_versions_go_oldest_first_and_a_few_stay(
    store: Store, rows_of: MakeRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_compaction, "_SPARE_FILES", 10)
    versions = [rows_of("a.py", _PAUSE.format(number)) for number in range(40)]
    for version in versions:
        store.add([version])
    compact_if_crowded(store)
    assert store.keys_by_age() == [version.key for version in versions[-10:]]
    for number in range(100, 140):  # compaction keeps the order of what it brings together
        store.add([rows_of("b.py", _PAUSE.format(number))])
    compact_if_crowded(store)
    assert store.keys_by_age() == [rows_of("b.py", _PAUSE.format(number)).key for number in range(130, 140)]
    assert store.count() == 10


def test_what_a_project_uses_is_never_dropped(
    tmp_path: Path, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auto_compaction, "_SPARE_FILES", 0)
    monkeypatch.setattr(auto_compaction, "_SPARE_SHARE", 0)
    one, two = (write(tmp_path / name, {f"{name}.py": _PAUSE.format(name)}) for name in ("one", "two"))
    Project.open(one).index()
    for number in range(30):
        (two / "two.py").write_text(_PAUSE.format(number))
        Project.open(two).index()
    for root in (one, two):
        assert verify_project(str(root), Settings(), mend=False).clean
    entry = registry.load()[0]
    assert Store(store_uri(""), entry.model, entry.dim).count_files() < 30


@pytest.mark.parametrize("trouble", ["absent", "damaged"])
def test_nothing_is_dropped_when_it_is_not_known_who_uses_it(
    trouble: str, store: Store, rows_of: MakeRows, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(auto_compaction, "_SPARE_FILES", 0)
    now = "2999-01-01T00:00:00+00:00"
    registry.record(registry.ProjectEntry(str(tmp_path / "unmounted"), "x", "model", DIM, "", 1, 1, now))
    if trouble == "damaged":
        Path(registry._path()).write_text("{")
    for number in range(40):
        store.add([rows_of("a.py", _PAUSE.format(number))])
    compact_if_crowded(store)
    assert store.count_files() == 40
    assert not store.is_crowded()
