"""The indexes of the fleet's table: meanings (IVF_RQ), words (full text), filters; and statistics about its words.

`index_fleet` makes what is missing, adds new rows to what is there, and may be called as often as one likes; nothing is
done for a table that has it all. A table without any index is searched by reading all of it. Statistics are taken from
a sample, so they cost the same for any number of rows.

New rows get a vector index of their own beside the older ones: where Lance joins them, it also joins small partitions,
down to a single one that every search reads whole. What has become too many or too large is made from the start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isqrt
from typing import Any, Literal

import lance
import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from sage_code.store.fleet_table import unpack_definitions
from sage_code.store.remote.address import Address
from sage_code.text.lexemes import lexemes

# Below this a vector index saves nothing: all rows are compared in a few milliseconds.
_LEAST_ROWS = 20_000
# Training of the partitions: vectors for each, and rounds. More of either takes minutes at ten million rows and moved
# recall by less than 0.01 at a hundred thousand.
_TRAINED, _ROUNDS = 64, 12
# The vector index is made from the start when there are so many of them, since a search asks each, or when the table
# has so many times the rows that the partitions were made for: they would be twice as large as they should be.
_MOST_SEGMENTS, _OUTGROWN = 16, 4
_FILTERED = ("repository", "owner", "language")
# Rows of the sample, in so many places of the table, and rows of it whose vectors and lengths are kept.
_SAMPLE, _PLACES, _KEPT = 200_000, 50, 2_048
_COLUMNS = {
    "rows": pa.int64(), "sampled": pa.int64(), "words": pa.binary(), "documents": pa.binary(),
    "lengths": pa.string(), "vectors": pa.binary(),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FleetStatistics:
    """What is usual in the table: how many chunks have a word, how long the fields are, and some vectors."""

    rows: int = 0
    sampled: int = 0
    documents: dict[str, int] = field(default_factory=dict)  # by stem, how many rows of the sample
    lengths: dict[str, float] = field(default_factory=dict)  # by field, the mean
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))

    def holding(self, stemmed: str) -> int:
        """How many rows of the table have a word, by the sample."""
        return round(self.documents.get(stemmed, 1) * self.rows / max(self.sampled, 1))


def statistics_of(table: Address) -> Address:
    """Where the statistics of a table are."""
    return Address(table.uri.removesuffix(".lance") + "_statistics.lance", table.options)


def index_fleet(table: Address) -> None:
    """Make or extend the indexes and the statistics of the table."""
    dataset = lance.dataset(table.uri, storage_options=table.options)
    rows = dataset.count_rows()
    if not rows or is_indexed(table):
        return
    known = {column for index in dataset.describe_indices() for column in index.field_names}
    if others := [one.name for one in dataset.describe_indices() if one.field_names != ["vector"]]:
        dataset.optimize.optimize_indices(index_names=others)
    _index_vectors(dataset, rows)
    if "words" not in known:
        dataset.create_scalar_index(
            "words", "INVERTED", base_tokenizer="whitespace", lower_case=False, stem=False, remove_stop_words=False,
            ascii_folding=False, max_token_length=None,
        )  # fmt: skip
    for column in _FILTERED:
        if column not in known:
            dataset.create_scalar_index(column, "BITMAP")
    _write_statistics(statistics_of(table), sample(dataset))


def is_indexed(table: Address) -> bool:
    """Whether the indexes and the statistics have all rows; of a table that is not there there is nothing to index."""
    dataset = _opened(table)
    if dataset is None or not (rows := dataset.count_rows()):
        return True
    wanted = {"words", *_FILTERED} | ({"vector"} if rows >= _LEAST_ROWS else set())
    covered = {index.field_names[0]: _fragments(index) for index in dataset.describe_indices()}
    present = {fragment.fragment_id for fragment in dataset.get_fragments()}
    if not wanted <= set(covered) or any(present - fragments for fragments in covered.values()):
        return False
    kept = _opened(statistics_of(table))
    return kept is not None and bool(kept.to_table(columns=["rows"])["rows"][0].as_py() == rows)


def _opened(table: Address) -> Any:
    """The newest version of a table, None if there is none."""
    try:
        return lance.dataset(table.uri, storage_options=table.options)
    except (ValueError, FileNotFoundError) as error:
        if "not found" in str(error).lower():
            return None
        raise


def _fragments(index: Any) -> set[int]:
    return {number for segment in index.segments for number in segment.fragment_ids}


def _index_vectors(dataset: Any, rows: int) -> None:
    """Make the vector index, from the start or for the new rows."""
    found = next((one for one in dataset.describe_indices() if one.field_names == ["vector"]), None)
    if found is None and rows < _LEAST_ROWS:
        return
    if found is not None and not _is_outgrown(dataset, found, rows):
        dataset.optimize.optimize_indices(index_names=[found.name], num_indices_to_merge=0)
        return
    dataset.create_index(
        "vector", "IVF_RQ", metric="cosine", num_partitions=isqrt(rows), num_bits=1, sample_rate=_TRAINED,
        max_iters=_ROUNDS, replace=True,
    )  # fmt: skip


def _is_outgrown(dataset: Any, index: Any, rows: int) -> bool:
    """Whether the index has many segments, or the largest of them few rows against the table."""
    sizes = {fragment.fragment_id: fragment.count_rows() for fragment in dataset.get_fragments()}
    largest = max(sum(sizes.get(number, 0) for number in segment.fragment_ids) for segment in index.segments)
    return len(index.segments) >= _MOST_SEGMENTS or rows > _OUTGROWN * largest


def sample(dataset: Any) -> FleetStatistics:
    """Statistics of some rows: all of a small table, stretches of a large one."""
    rows: int = dataset.count_rows()
    size, places = min(rows, _SAMPLE), _PLACES if rows > _SAMPLE else 1
    stretch, step = size // places, rows // places
    counted: Counter[str] = Counter()
    for place in range(places):
        for batch in dataset.scanner(columns=["words"], offset=place * step, limit=stretch).to_batches():
            for text in batch.column("words").to_pylist():
                counted.update(set(text.split(" ")))
    # Few documents of each place, so that no repository decides alone.
    each = max(_KEPT // places, 1)
    tables = [
        dataset.scanner(columns=_LENGTHS, offset=place * step, limit=each).to_table() for place in range(places)
    ]  # fmt: skip
    kept = pa.concat_tables(tables)
    flat = kept["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    sampled = stretch * places
    often = {word: count for word, count in counted.items() if count > 1 or sampled == rows}
    return FleetStatistics(rows, sampled, often, _lengths(kept), flat.reshape(kept.num_rows, -1))


_LENGTHS = ["path", "qualname", "text", "length", "definitions", "vector"]


def _lengths(rows: pa.Table) -> dict[str, float]:
    """The mean number of words in each field."""
    sums = dict.fromkeys(("body", "name", "doc", "path"), 0)
    for row in rows.drop_columns(["vector"]).to_pylist():
        docstring, symbols = unpack_definitions(row["definitions"])
        names = dict.fromkeys((row["qualname"], *(one.name for one in symbols)))
        docs = dict.fromkeys((docstring, *(one.docstring for one in symbols)))
        sums["body"] += len(lexemes(row["text"][len(row["text"]) - row["length"] :]))
        sums["name"] += len(lexemes(" ".join(names)))
        sums["doc"] += len(lexemes("\n".join(docs)))
        sums["path"] += len(lexemes(row["path"]))
    return {name: max(total / max(rows.num_rows, 1), 1.0) for name, total in sums.items()}


def _write_statistics(where: Address, found: FleetStatistics) -> None:
    """Put them in the place of the older ones, as one row."""
    row = {
        "rows": found.rows,
        "sampled": found.sampled,
        "words": "\n".join(found.documents).encode(),
        "documents": np.array(list(found.documents.values()), "<u4").tobytes(),
        "lengths": orjson.dumps(found.lengths).decode(),
        "vectors": found.vectors.astype("<f4").tobytes(),
    }
    table = pa.Table.from_pylist([row], schema=pa.schema(_COLUMNS.items()))
    mode: Literal["create", "overwrite"] = "create" if _opened(where) is None else "overwrite"
    lance.write_dataset(table, where.uri, mode=mode, storage_options=where.options)


def read_statistics(table: Address, dim: int) -> FleetStatistics:
    """The statistics of a table as they were last written; of a table that has none, they are taken now."""
    kept = _opened(statistics_of(table))
    if kept is None:
        return sample(lance.dataset(table.uri, storage_options=table.options))
    row = kept.to_table().to_pylist()[0]
    words = row["words"].decode().split("\n") if row["words"] else []
    documents = dict(zip(words, np.frombuffer(row["documents"], "<u4").tolist(), strict=True))
    vectors = np.frombuffer(row["vectors"], "<f4").reshape(-1, dim)
    return FleetStatistics(row["rows"], row["sampled"], documents, orjson.loads(row["lengths"]), vectors)
