"""The vector index of a fleet grows with its table and is made from the start when it no longer fits."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from sage_code.store import fleet_index
from sage_code.store.fleet_table import fleet_schema
from sage_code.store.remote.address import Address

_DIM = 64


def _append(table: Address, rows: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal(rows * _DIM).astype(np.float32)
    schema = fleet_schema(_DIM)
    columns: list[pa.Array] = []
    for field in schema:
        if field.name == "vector":
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors), _DIM))
        elif field.name == "definitions":
            columns.append(pa.array(['["",[]]'] * rows))
        else:
            columns.append(pa.array([0] * rows if pa.types.is_integer(field.type) else ["word"] * rows, field.type))
    lance.write_dataset(pa.table(columns, schema=schema), table.uri, mode="append")


def _segments(table: Address) -> list[list[int]]:
    """The fragments of each segment of the vector index."""
    (index,) = (one for one in lance.dataset(table.uri).describe_indices() if one.field_names == ["vector"])
    return sorted(sorted(segment.fragment_ids) for segment in index.segments)


def test_new_rows_get_a_segment_until_there_are_too_many_or_too_many_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_index, "_LEAST_ROWS", 256)
    monkeypatch.setattr(fleet_index, "_MOST_SEGMENTS", 3)
    table = Address(str(tmp_path / "fleet.lance"))
    assert fleet_index.is_indexed(table)  # there is none
    seen = []
    for seed, rows in enumerate((300, 20, 20, 20, 20, 1_100)):
        _append(table, rows, seed)
        assert not fleet_index.is_indexed(table)
        fleet_index.index_fleet(table)
        assert fleet_index.is_indexed(table)
        seen.append(len(_segments(table)))
    # The fourth makes it from the start since there are three already, the last since it has four times the rows.
    assert seen == [1, 2, 3, 1, 2, 1]
    assert sorted(number for segment in _segments(table) for number in segment) == [0, 1, 2, 3, 4, 5]
    vector = lance.dataset(table.uri).take([310], columns=["vector"])["vector"][0].values.to_numpy()
    near = {"column": "vector", "q": vector, "k": 1, "nprobes": 40, "refine_factor": 4, "metric": "cosine"}
    found = lance.dataset(table.uri).scanner(columns=["number"], nearest=near, with_row_address=True).to_table()
    assert found["_rowaddr"].to_pylist() == [(1 << 32) + 10]


def test_statistics_of_another_number_of_rows_are_made_again(tmp_path: Path) -> None:
    table = Address(str(tmp_path / "fleet.lance"))
    _append(table, 10, 1)
    fleet_index.index_fleet(table)
    lance.dataset(table.uri).delete("number = 0 AND _rowid < 4")
    assert not fleet_index.is_indexed(table)
    fleet_index.index_fleet(table)
    assert fleet_index.is_indexed(table)
    assert fleet_index.read_statistics(table, _DIM).rows == lance.dataset(table.uri).count_rows() < 10
