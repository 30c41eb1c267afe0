"""How much is used what a file defines: against a count in plain Python, merged or not, and after a change."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sage_code.compiled.generation import GenerationWriter
from sage_code.compiled.merge import merge
from sage_code.compiled.published import current, open_snapshot
from sage_code.compiled.segment import Segment
from sage_code.compiled.segment_builder import SegmentBuilder
from sage_code.reference_codec import References, decode, encode
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
        files.append(FileRows(f"k{number}", f"{number}.py", "python", chunks, hashes, vectors, encode(references)))
    return files


def _expected(files: list[FileRows]) -> tuple[list[float], list[int]]:
    users, definers = defaultdict(set), defaultdict(set)
    for number, file in enumerate(files):
        for chunk in file.chunks:
            definers[chunk.symbols[0].name].add(number)
    for number, file in enumerate(files):
        for reference in _references(file):
            if reference.kind != "import":
                users[reference.name].add(number)
    uses, file_users = [], []
    for number, file in enumerate(files):
        names = [chunk.symbols[0].name for chunk in file.chunks]
        uses += [len(users[name] - {number}) / len(definers[name]) for name in names]
        telling = [users[name] for name in names if len(definers[name]) <= 3]
        file_users.append(len(set().union(*telling) - {number}))
    return uses, file_users


def _references(file: FileRows) -> list[Reference]:
    return list(References(decode(file.references))) if file.references else []


def _written(files: list[FileRows], path: Path) -> Segment:
    builder = SegmentBuilder("model", DIM)
    for file in files:
        builder.add(file)
    builder.write(str(path))
    return Segment.open(str(path))


@given(_projects(), st.integers(0, 6))
def test_users_are_counted_as_by_hand(files: list[FileRows], cut: int) -> None:
    uses, users = _expected(files)
    with tempfile.TemporaryDirectory() as folder:
        whole = _written(files, Path(folder, "whole.seg"))
        np.testing.assert_allclose(whole.arrays["chunk_uses"], uses, rtol=1e-6)
        assert whole.arrays["file_users"].tolist() == users
        parts = [
            _written(part, Path(folder, f"{len(part)}-{at}.seg")) for at, part in enumerate((files[:cut], files[cut:]))
        ]
        merge(parts, str(Path(folder, "merged.seg")))
        merged = Segment.open(str(Path(folder, "merged.seg")))
        np.testing.assert_allclose(merged.arrays["chunk_uses"], uses, rtol=1e-6)
        assert merged.arrays["file_users"].tolist() == users


def test_a_changed_file_keeps_its_users(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    call = encode(References.of([Reference("call", "take", "", 1, "", "work")]))
    with GenerationWriter(root, "model", 8, None, set()) as writer:
        writer.add(rows_of("pool.py", "def take(n):\n    return n\n"))
        for path in ("a.py", "b.py"):
            writer.add(replace(rows_of(path, "def work():\n    return take(1)\n"), references=call))
        writer.publish()
    with GenerationWriter(root, "model", 8, current(root), {"pool.py"}) as writer:
        writer.add(rows_of("pool.py", "def take(n):\n    return n + 1\n\n\ndef give(n):\n    return n\n"))
        writer.publish()
    found = open_snapshot(root)
    assert found is not None
    changed = next(segment for segment in found[1] if segment.paths == ["pool.py"])
    assert changed.arrays["file_users"].tolist() == [2]
    assert changed.fame(0).uses == {"take": 2.0}
