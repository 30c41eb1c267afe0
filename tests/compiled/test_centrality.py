"""Centrality equals a count in plain Python, in one segment or several, and after a change."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sage_code.compiled.centrality import centrality
from sage_code.compiled.generation import GenerationWriter
from sage_code.compiled.merge import merge
from sage_code.compiled.published import current
from sage_code.compiled.segment import Segment
from sage_code.compiled.segment_builder import SegmentBuilder
from sage_code.parse.reference_codec import References, decode, encode
from sage_code.search.snapshot import SearchSnapshot
from sage_code.store.rows import FileRows
from sage_code.values import Chunk, Reference, Symbol

NAMES = st.sampled_from(["parse", "run", "Pool", "close"])
DIM = 2
MakeRows = Callable[..., FileRows]


def _symbol(name: str, line: int) -> Symbol:
    return Symbol("function", name, name, line, line, line, f"def {name}()")


@st.composite
def _projects(draw: st.DrawFn) -> list[FileRows]:
    files = []
    for number in range(draw(st.integers(1, 6))):
        chunks = tuple(
            Chunk("function", "n", f"{number}.{line}", line, line, "", "", "x", (_symbol(draw(NAMES), line),))
            for line in range(1, draw(st.integers(2, 4)))
        )
        used = draw(st.lists(st.tuples(NAMES, st.sampled_from(["call", "use", "import"])), max_size=5))
        references = References.of(Reference(kind, name, "", 1, "", "") for name, kind in used)
        vectors = np.zeros((len(chunks), DIM), np.float32)
        hashes = ("h",) * len(chunks)
        files.append(
            FileRows(f"k{number}", f"{number}.py", "python", chunks, hashes, hashes, vectors, encode(references))
        )
    return files


def _expected(files: list[FileRows]) -> tuple[list[float], list[int]]:
    referrers, definers = defaultdict(set), defaultdict(set)
    for number, file in enumerate(files):
        for chunk in file.chunks:
            definers[chunk.symbols[0].name].add(number)
    for number, file in enumerate(files):
        for reference in _references(file):
            if reference.kind != "import":
                referrers[reference.name].add(number)
    of_chunks, of_files = [], []
    for number, file in enumerate(files):
        names = [chunk.symbols[0].name for chunk in file.chunks]
        of_chunks += [len(referrers[name] - {number}) / len(definers[name]) for name in names]
        telling = [referrers[name] for name in names if len(definers[name]) <= 3]
        of_files.append(len(set().union(*telling) - {number}))
    return of_chunks, of_files


def _references(file: FileRows) -> list[Reference]:
    return list(References(decode(file.references))) if file.references else []


def _written(files: list[FileRows], path: Path) -> Segment:
    builder = SegmentBuilder("model", DIM)
    for file in files:
        builder.add(file)
    builder.write(str(path))
    return Segment.open(str(path))


@given(_projects(), st.integers(0, 6), st.integers(0, 5))
def test_centrality_equals_a_plain_count_in_one_segment_or_several(files: list[FileRows], cut: int, dead: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        halves = (files[:cut], files[cut:])
        parts = [_written(half, Path(folder, f"{number}.seg")) for number, half in enumerate(halves)]
        merge(parts, str(Path(folder, "merged.seg")))
        merged = Segment.open(str(Path(folder, "merged.seg")))
        alive = np.arange(len(files)) != dead
        gone = [{number for number, lives in enumerate(half) if not lives} for half in (alive[:cut], alive[cut:])]
        of_chunks, of_files = _expected([file for file, lives in zip(files, alive, strict=True) if lives])
        for found in (
            centrality([(merged, set(np.flatnonzero(~alive).tolist()))]),
            centrality(list(zip(parts, gone, strict=True))),
        ):
            np.testing.assert_array_equal(
                found["chunk_uses"][alive[merged.arrays["chunk_file"]]], np.float32(of_chunks)
            )
            assert found["file_users"][alive].tolist() == of_files


def test_dead_files_do_not_count(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    call = encode(References.of([Reference("call", "take", "", 1, "", "work")]))
    with GenerationWriter(root, "model", 8, None, set()) as writer:
        writer.add(rows_of("pool.py", "def take(n):\n    return n\n"))
        for path in ("a.py", "b.py"):
            writer.add(replace(rows_of(path, "def work():\n    return take(1)\n"), references=call))
        writer.publish()
    with GenerationWriter(root, "model", 8, current(root), {"pool.py", "b.py"}) as writer:
        writer.add(rows_of("pool.py", "def take(n):\n    return n + 1\n"))
        writer.publish()
    found = SearchSnapshot(root)
    pool = found.file_numbers["pool.py"]
    assert found.file_centrality[pool] == 1  # `b.py` is gone
    assert found.chunk_centrality[found.first_chunk[pool]] == 1.0
