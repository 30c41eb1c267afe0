"""`sage admin` makes damaged rows and files again, and removes unused ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sage_code.index.registry import _path as registry_path
from sage_code.paths import codebase_dir, manifest_path
from sage_code.store.lance import Store

Answer = Callable[..., dict]
OpenStore = Callable[[], Store]


def _lose_file(store: Store) -> None:
    store._files.delete("path = 'server.py'")


def _lose_texts(store: Store) -> None:
    store._chunks.delete("path = 'server.py'")


def _double_files(store: Store) -> None:
    store._files.append(store._files.read(store._files.schema.names))


def _double_texts(store: Store) -> None:
    store._chunks.append(store._chunks.read(store._chunks.schema.names))


def _spoil_vectors(store: Store) -> None:
    rows = store._chunks.read(store._chunks.schema.names, "path = 'server.py'")
    store._chunks.delete("path = 'server.py'")
    flat = pa.array(np.full(len(rows) * store.dim, np.inf, np.float32))  # LanceDB itself refuses a NaN
    column_number = rows.schema.get_field_index("vector")
    spoiled = pa.FixedSizeListArray.from_arrays(flat, store.dim)
    store._chunks.append(rows.set_column(column_number, rows.schema.field(column_number), spoiled))


def _replaced(table: Any, column: str, change: Callable[[Any], Any]) -> None:
    rows = table.read(table.schema.names, "path = 'server.py'")
    table.delete("path = 'server.py'")
    column_number = rows.schema.get_field_index(column)
    values = pa.array([change(value) for value in rows[column].to_pylist()], rows.schema.field(column_number).type)
    table.append(rows.set_column(column_number, rows.schema.field(column_number), values))


def _turn_vectors_round(store: Store) -> None:
    _replaced(store._chunks, "vector", lambda vector: [-number for number in vector])  # of the right length, and wrong


def _change_texts(store: Store) -> None:
    _replaced(store._chunks, "text", lambda text: text.replace("port", "part").replace("host", "hast"))


def _change_hashes(store: Store) -> None:
    _replaced(store._chunks, "text_hash", lambda digest: f"zz {digest[3:]}")


def _flip_a_byte_of_layouts(store: Store) -> None:
    _replaced(store._files, "layout", lambda layout: layout[:-9] + bytes([layout[-9] ^ 4]) + layout[-8:])


def _cut_layouts(store: Store) -> None:
    _replaced(store._files, "layout", lambda layout: layout[:6])


def _change_languages(store: Store) -> None:
    _replaced(store._files, "language", lambda _: "pythom")


def _lose_half_of_a_hash(store: Store) -> None:
    _replaced(store._files, "texts", lambda texts: texts[:-5])


_DAMAGED = [
    _turn_vectors_round, _change_texts, _change_hashes, _flip_a_byte_of_layouts, _cut_layouts, _change_languages,
    _lose_half_of_a_hash,
]  # fmt: skip


@pytest.mark.parametrize("damage", _DAMAGED[1:])  # a vector that is merely wrong only `verify` can tell
def test_index_reads_damaged_rows_again_from_the_files(
    sample: Path, answer: Answer, open_store: OpenStore, damage: Callable[[Store], None]
) -> None:
    answer("index", sample)
    before = [answer("grep", name, "--path", sample)["matches"] for name in ("Server.start", "connect")]
    damage(open_store())
    shutil.rmtree(codebase_dir(str(sample)))  # everything comes from the store, as far as it is sound
    assert answer("index", sample)["files_indexed"] == 2
    assert [answer("grep", name, "--path", sample)["matches"] for name in ("Server.start", "connect")] == before
    assert answer("search", "open the port", "--project", sample)["results"][0]["file"] == "server.py"


@pytest.mark.parametrize("damage", [_lose_file, _lose_texts, _double_files, _double_texts, _spoil_vectors, *_DAMAGED])
def test_verify_mends_rows(
    sample: Path, answer: Answer, open_store: OpenStore, damage: Callable[[Store], None]
) -> None:
    first = answer("index", sample)
    damage(open_store())
    checked = answer("admin", "verify", sample, "--check", code=2)
    assert (checked["clean"], checked["mended"]) == (False, False)
    assert any(finding.startswith("server.py") for finding in checked["findings"]), checked
    assert answer("admin", "verify", sample)["mended"]
    assert answer("admin", "verify", sample, "--check") == {
        "root": str(sample), "files": 2, "rows": first["chunks_created"],
        "findings": [], "clean": True, "mended": False,
    }  # fmt: skip
    assert answer("index", sample)["chunks_created"] == 0


def test_compact_keeps_what_others_use_and_gives_the_rest_back(
    tmp_path: Path, answer: Answer, open_store: OpenStore, write: Callable[..., Path], many_files: dict[str, str]
) -> None:
    one, two = write(tmp_path / "one", many_files), write(tmp_path / "two", many_files)
    (two / "package" / "module_1.py").write_text("def only_in_two():\n    pass\n")
    for root in (one, two):
        answer("index", root)
    for path in (one / "package").glob("module_1*.py"):
        path.unlink()
    answer("index", one)
    assert answer("admin", "compact", one)["rows_deleted"] == 10  # module_1 as it was in one; the others are in two
    for path in (two / "package").glob("module_2*.py"):
        path.unlink()
    answer("index", two)
    for path in (one / "package").glob("module_2*.py"):
        path.unlink()
    answer("index", one)
    report = answer("admin", "compact", one)
    assert report["rows_deleted"] == 110
    assert report["bytes_after"] < report["bytes_before"] * 0.9
    for root in (one, two):
        assert answer("admin", "verify", root, "--check")["clean"]
        assert answer("index", root)["chunks_created"] == 0


@pytest.mark.parametrize("lost", ["manifest", "registry"])
def test_compact_never_takes_damage_for_leave_to_delete(
    sample: Path, answer: Answer, open_store: OpenStore, lost: str
) -> None:
    answer("index", sample)
    rows = open_store().count()
    Path(manifest_path(str(sample)) if lost == "manifest" else registry_path()).write_text("garbage")
    answer("admin", "compact", sample, code=0 if lost == "manifest" else 2)
    assert open_store().count() == rows
    assert answer("index", sample)["chunks_created"] == 0
    assert [entry["root"] for entry in answer("projects", "list")["projects"]] == [str(sample)]


def test_forget_removes_what_nobody_else_uses(
    sample: Path, tmp_path: Path, answer: Answer, open_store: OpenStore
) -> None:
    copy = Path(shutil.copytree(sample, tmp_path / "copy"))
    (copy / "more.py").write_text("def more():\n    return 'more'\n")
    rows = answer("index", sample)["chunks_created"]
    answer("index", copy)
    assert answer("projects", "forget", copy)["rows_deleted"] == 1
    assert open_store().count() == rows
    assert not Path(codebase_dir(str(copy))).exists()
    assert (copy / "more.py").exists()
    assert answer("admin", "verify", sample, "--check")["clean"]
    assert answer("projects", "forget", sample.name)["rows_deleted"] == rows
    assert answer("projects", "list", code=1)["projects"] == []
    assert answer("projects", "forget", sample, code=2)["error"]["code"] == "usage"


def test_a_project_whose_folder_is_gone_can_be_forgotten(sample: Path, answer: Answer, open_store: OpenStore) -> None:
    answer("index", sample)
    shutil.rmtree(sample)
    answer("projects", "forget", sample)
    assert answer("projects", "list", code=1)["projects"] == []
    assert not sample.exists()


def test_rebuild_embeddings_embeds_everything_again(sample: Path, answer: Answer, open_store: OpenStore) -> None:
    first = answer("index", sample)
    assert answer("admin", "rebuild-embeddings", sample)["chunks_created"] == first["chunks_created"]
    assert open_store().count() == first["chunks_created"]
    assert answer("admin", "verify", sample, "--check")["clean"]
