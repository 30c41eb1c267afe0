"""A segment gives back what was written: chunk table, strings, postings, and vectors up to rounding."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sage_code.compiled.merge import merge
from sage_code.compiled.segment import FIELDS, Segment
from sage_code.compiled.segment_builder import SegmentBuilder, quantise
from sage_code.errors import IndexCorrupt
from sage_code.store.rows import FileRows
from sage_code.text.lexemes import lexemes
from sage_code.values import Chunk

DIM = 4
KINDS = ("function", "class", "method", "module", "constant", "type", "fallback")
words = st.text(st.sampled_from("abAB_1éß .\n"), max_size=30)
finite = st.floats(-10, 10, width=32)


@st.composite
def _files(draw: st.DrawFn) -> list[FileRows]:
    files = []
    for number in range(draw(st.integers(0, 4))):
        chunks = tuple(
            Chunk(
                draw(st.sampled_from(KINDS)),
                "n",
                draw(words),
                2 * line + 1,
                2 * line + 2,
                draw(words),
                draw(words),
                draw(words),
            )
            for line in range(draw(st.integers(1, 4)))
        )
        vectors = draw(arrays(np.float32, (len(chunks), DIM), elements=finite))
        language = draw(st.sampled_from(["python", "go"]))
        path = f"{draw(words.filter(bool))}/{number}"
        files.append(
            FileRows(f"key{number}", path, language, chunks, ("",) * len(chunks), ("h",) * len(chunks), vectors)
        )
    return files


def _found(segment: Segment, field: str, term: str) -> list[tuple[int, int]]:
    row = segment.terms.find(term)
    if row is None:
        return []
    documents, often = segment.postings(row).get(field, (np.empty(0), np.empty(0)))
    return list(zip(documents.tolist(), often.tolist(), strict=True))


def _written(files: list[FileRows], folder: str, name: str = "one.seg") -> Segment:
    builder = SegmentBuilder("model", DIM)
    for file in files:
        builder.add(file)
    assert len(builder) == sum(len(file.chunks) for file in files)
    path = str(Path(folder, name))
    builder.write(path)
    return Segment.open(path)


@given(_files())
def test_what_is_written_is_read(files: list[FileRows]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        segment = _written(files, folder)
        assert segment.paths == [file.path for file in files]
        assert segment.keys == [file.key for file in files]
        assert (segment.meta["files"], segment.meta["model"], segment.meta["dim"]) == (len(files), "model", DIM)
        rows = [(number, file, chunk) for number, file in enumerate(files) for chunk in file.chunks]
        assert segment.meta["chunks"] == segment.chunks_outside(set()) == len(rows)
        for row, (number, file, chunk) in enumerate(rows):
            assert segment.arrays["chunk_file"][row] == number
            lines = (segment.arrays["chunk_start"][row], segment.arrays["chunk_end"][row])
            assert lines == (chunk.start_line, chunk.end_line)
            assert (segment.kind(row), segment.language(row)) == (chunk.kind, file.language)
            assert segment.string("names", row) == chunk.qualname
            assert segment.string("signatures", row) == chunk.signature
        for number, file in enumerate(files):
            assert segment.chunks_outside({number}) == len(rows) - len(file.chunks)


@given(_files())
def test_postings_equal_a_naive_count(files: list[FileRows]) -> None:
    chunks = [(file, chunk) for file in files for chunk in file.chunks]
    counted = {
        "body": [Counter(lexemes(chunk.text)) for _, chunk in chunks],
        "name": [Counter(lexemes(chunk.qualname)) for _, chunk in chunks],
        "doc": [Counter(lexemes(chunk.docstring)) for _, chunk in chunks],
        "path": [Counter(lexemes(file.path)) for file in files],
    }
    assert tuple(counted) == FIELDS
    with tempfile.TemporaryDirectory() as folder:
        segment = _written(files, folder)
        for field, documents in counted.items():
            assert segment.arrays[f"{field}_lengths"].tolist() == [counts.total() for counts in documents]
            for term in {term for counts in documents for term in counts} | {"absent", ""}:
                expected = [(number, counts[term]) for number, counts in enumerate(documents) if term in counts]
                assert _found(segment, field, term) == expected


@given(_files(), st.integers(0, 4), st.integers(0, 4))
def test_a_merge_equals_one_segment_of_all_files(files: list[FileRows], one: int, other: int) -> None:
    borders = [0, *sorted((min(one, len(files)), min(other, len(files)))), len(files)]
    with tempfile.TemporaryDirectory() as folder:
        whole = _written(files, folder)
        parts = [_written(files[start:end], folder, f"{start}-{end}.seg") for start, end in pairwise(borders)]
        merge(parts, f"{folder}/merged.seg")
        merged = Segment.open(f"{folder}/merged.seg")
    assert merged.meta == whole.meta
    assert merged.arrays.keys() == whole.arrays.keys()
    for name, array in whole.arrays.items():
        assert merged.arrays[name].dtype == array.dtype, name
        assert np.array_equal(merged.arrays[name], array), name


def test_a_count_beyond_a_byte_stays_at_its_limit(tmp_path: Path) -> None:
    chunk = Chunk("function", "f", "f", 1, 1, "", "", "again " * 1000)
    rows = FileRows("k", "p", "go", (chunk,), ("",), ("h",), np.ones((1, DIM), np.float32))
    segment = _written([rows], str(tmp_path))
    assert _found(segment, "body", "again") == [(0, 255)]


@pytest.mark.filterwarnings("error")
@given(arrays(np.float32, st.tuples(st.integers(0, 5), st.just(DIM)), elements=finite))
@example(np.array([[0, 0, 0, 0], [1e-45, 0, 0, 0], [-1e-37, 0, 0, 1e-38]], np.float32))
def test_a_quantised_vector_is_off_by_half_a_step_at_most(vectors: NDArray[np.float32]) -> None:
    quantised, scales = quantise(vectors)
    assert quantised.dtype == np.int8
    assert (np.abs(quantised * scales[:, None] - vectors) <= scales[:, None] * 0.501).all()
    telling = np.abs(vectors).max(axis=1, initial=0) > 1e-30
    assert (np.abs(quantised).max(axis=1, initial=0)[telling] == 127).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"garbage" * 20,
        lambda data: data[: len(data) // 3],
        lambda data: data.replace(b'"arrays":{', b'"arrays":[', 1),
        lambda data: data.replace(b"|i1", b"|O1", 1),
    ],
    ids=["empty", "foreign", "cut off", "broken header", "objects"],
)
def test_a_damaged_segment_raises_index_corrupt(
    tmp_path: Path, rows_of: Callable[..., FileRows], damage: Callable[[bytes], bytes]
) -> None:
    _written([rows_of("a.py", "def f():\n    return 1\n", DIM)], str(tmp_path))
    path = tmp_path / "one.seg"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(IndexCorrupt, match=r"one\.seg is damaged"):
        Segment.open(str(path))
