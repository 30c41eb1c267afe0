"""The store reads what was added, adds nothing twice, and deletes only what it should."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from sage_code.errors import StoreError
from sage_code.store.lance import Store, StoreCheck, damaged_tables, files_table, table_name
from sage_code.store.rows import FileRows

MakeRows = Callable[..., FileRows]
DIM = 8


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "lancedb")


@pytest.fixture
def files(rows_of: MakeRows) -> list[FileRows]:
    """Names and texts full of quotes; one file of a single chunk, others of many."""
    head = "def say():\n    '''\"quoted\" it's 💡'''\n"
    bodies = ["".join(f"    x = {line} * {number}\n" for line in range(300 * number)) for number in range(4)]
    return [rows_of(f"it's/{number} é.py", head + body) for number, body in enumerate(bodies)]


def _assert_same(found: FileRows, expected: FileRows) -> None:
    for field in fields(FileRows):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        assert np.array_equal(mine, theirs) if field.name == "vectors" else mine == theirs


def _clean(files: list[FileRows]) -> StoreCheck:
    return StoreCheck({file.key: len(file.chunks) for file in files}, set(), set())


def test_what_is_added_is_read(uri: str, files: list[FileRows]) -> None:
    assert len(files[3].chunks) > 3
    assert Store(uri, "model", DIM).add(files) == sum(len(file.chunks) for file in files)
    store = Store(uri, "model", DIM)
    assert store.count() == sum(len(file.chunks) for file in files)
    found = {file.key: file for file in store.read([file.key for file in files] + ["absent"])}
    assert found.keys() == {file.key for file in files}
    for file in files:
        _assert_same(found[file.key], file)


def test_nothing_is_added_twice(uri: str, files: list[FileRows]) -> None:
    first, rest = files[:2], files[2:]
    store = Store(uri, "model", DIM)
    store.add(first)
    rows = store.count()
    assert store.add(first) == 0
    assert Store(uri, "model", DIM).add([*first, first[0]]) == 0
    # A handle that has committed something of its own still sees what was there before it.
    late = Store(uri, "model", DIM)
    late.add(rest[:1])
    assert late.add(first) == 0
    assert late.add([rest[1], rest[1]]) == len(rest[1].chunks)
    # And an older handle sees what others have added since.
    assert store.add(rest) == 0
    assert store.count() == rows + sum(len(file.chunks) for file in rest)
    assert store.check() == _clean(files)


def test_writers_at_the_same_time_add_nothing_twice(uri: str, files: list[FileRows]) -> None:
    Store(uri, "model", DIM)
    start = threading.Barrier(4)

    def add() -> None:
        store = Store(uri, "model", DIM)
        start.wait()
        for file in files:
            store.add([file])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Store(uri, "model", DIM).check() == _clean(files)


def test_existing_names_those_that_are_there(uri: str, files: list[FileRows]) -> None:
    store = Store(uri, "model", DIM)
    store.add(files[:2])
    there = {file.key for file in files[:2]}
    assert store.existing([file.key for file in files]) == there
    assert store.existing([*there, *(f"{number:032x}" for number in range(2000))]) == there
    assert store.existing([]) == set()


def test_deleted_rows_are_gone_and_the_others_stay(uri: str, files: list[FileRows]) -> None:
    store = Store(uri, "model", DIM)
    store.add(files)
    store.delete([files[1].key])
    assert store.existing([file.key for file in files]) == {file.key for file in files} - {files[1].key}
    store.delete([])
    assert store.sweep() == len(files[1].chunks)
    assert store.sweep() == 0
    assert store.add([files[1]]) == len(files[1].chunks)
    store.compact()
    assert store.count() == sum(len(file.chunks) for file in files)


def test_vectors_are_found_by_the_hash_of_their_text(uri: str, files: list[FileRows]) -> None:
    Store(uri, "model", DIM).add(files)
    store = Store(uri, "model", DIM)
    wanted = files[2]
    found = store.vectors([*wanted.text_hashes, "0" * 32])
    assert found.keys() == set(wanted.text_hashes)
    for digest, vector in zip(wanted.text_hashes, wanted.vectors, strict=True):
        assert np.array_equal(found[digest], vector)


def test_a_text_that_several_files_share_is_stored_once(uri: str, rows_of: MakeRows) -> None:
    body = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(40))
    old, moved = rows_of("a.py", body), rows_of("b.py", body)
    new = rows_of("a.py", body.replace("return 17", "return 71"))
    store = Store(uri, "model", DIM)
    assert store.add([old, moved]) == len(old.chunks)
    assert 0 < store.add([new]) < len(new.chunks)
    for file in store.read([old.key, moved.key, new.key]):
        _assert_same(file, {"b.py": moved}.get(file.path, old if file.key == old.key else new))
    store.delete([old.key])
    assert store.sweep() == 0
    store.delete([moved.key])
    assert store.sweep() > 0
    assert store.check() == _clean([new])


def test_a_file_without_one_of_its_texts_is_completed(uri: str, files: list[FileRows]) -> None:
    store = Store(uri, "model", DIM)
    store.add(files)
    store.delete([], [files[3].text_hashes[1]])
    store = Store(uri, "model", DIM)
    assert store.check().texts[files[3].key] == len(files[3].chunks) - 1
    assert {file.key for file in store.read([file.key for file in files])} == {file.key for file in files[:3]}
    assert store.add([files[3]]) == 1
    assert store.check() == _clean(files)


@pytest.mark.parametrize("figure", [np.inf, np.nan])
def test_a_vector_that_is_no_number_is_refused_or_reported(uri: str, files: list[FileRows], figure: float) -> None:
    store = Store(uri, "model", DIM)
    broken = files[3].vectors.copy()
    broken[-1, 0] = figure
    store.add([files[0]])
    try:
        store.add([replace(files[3], vectors=broken)])
    except StoreError:  # Lance may refuse a NaN by itself
        assert store.existing([files[3].key]) == set()
    else:
        assert store.check().bad_files == {files[3].key}
        assert store.check().bad_texts == {files[3].text_hashes[-1]}
        found = Store(uri, "model", DIM).vectors(files[3].text_hashes)
        assert found.keys() == set(files[3].text_hashes[:-1])


def test_each_model_has_its_table(uri: str, rows_of: MakeRows) -> None:
    one, other = Store(uri, "model", DIM), Store(uri, "org/model", 4)
    one.add([rows_of("a.py", "x = 1\n", DIM)])
    assert other.count() == 0
    assert sorted(one.tables()) == sorted([one.table, other.table])
    one.drop_table(other.table)
    assert one.tables() == [one.table]


def test_table_names_are_plain_and_never_collide() -> None:
    names = [table_name(model, 4) for model in ("a/b", "a-b", "a_b", "A-B", "a b", "é" * 99)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").replace("_", "").isalnum() and len(name) < 80 for name in names)


def test_a_damaged_table_is_an_error_with_a_way_out(uri: str, files: list[FileRows]) -> None:
    store = Store(uri, "model", DIM)
    store.add(files)
    assert damaged_tables(uri) == []
    for manifest in Path(uri, f"{store.table}.lance", "_versions").iterdir():
        manifest.write_bytes(b"rubbish")
    with pytest.raises(StoreError) as caught:
        Store(uri, "model", DIM).count()
    assert "sage admin verify" in caught.value.hint
    assert damaged_tables(uri) == [store.table]


def test_tables_of_lancedb_are_read_and_it_reads_ours(uri: str, files: list[FileRows], tmp_path: Path) -> None:
    import lancedb

    store = Store(uri, "model", DIM)
    store.add(files)
    theirs = lancedb.connect(tmp_path / "old")
    for table in (store.table, files_table(store.table)):
        rows = lancedb.connect(uri).open_table(table).to_arrow()
        theirs.create_table(table, rows.slice(0, 1)).add(rows.slice(1))
    old = Store(str(tmp_path / "old"), "model", DIM)
    assert old.add(files) == 0
    assert old.check() == _clean(files)
    for file in old.read([files[3].key]):
        _assert_same(file, files[3])
    old.delete([files[0].key])
    old.sweep()
    old.compact(deleted=True)
    assert theirs.open_table(files_table(store.table)).count_rows() == len(files) - 1
