"""Readers get one generation each, even if others are published meanwhile."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from sage_code.compiled.generation import GenerationWriter
from sage_code.compiled.lookup import open_symbols
from sage_code.compiled.published import current
from sage_code.lookup.map import project_map
from sage_code.lookup.similar import VectorSnapshot
from sage_code.parse.reference_codec import References, encode
from sage_code.search.snapshot import SearchSnapshot
from sage_code.store.rows import FileRows
from sage_code.values import Reference
from sage_code.xref.compiled_graph import CompiledGraph

DIM = 8
FILES = 4
VERSIONS = 3
SECONDS = 4.0


def _publish(root: str, rows: Sequence[FileRows]) -> None:
    with GenerationWriter(root, "model", DIM, None, set()) as writer:
        for file in rows:
            writer.add(file)
        writer.publish()


def _publish_on_and_on(root: str, versions: Sequence[Sequence[FileRows]], ended: Event) -> None:
    number = 0
    while not ended.is_set():
        number += 1
        _publish(root, versions[number % len(versions)])


def _version(name: str) -> str:
    return name.rpartition("_")[2]


def _of_symbols(root: str) -> set[str]:
    return {_version(symbol["name"]) for symbol in open_symbols(root).all()}


def _of_search(root: str) -> set[str]:
    snapshot = SearchSnapshot(root)
    names = [snapshot.qualname(chunk) for chunk in range(snapshot.chunks)]
    assert len(snapshot.chunk_centrality) == snapshot.chunks
    assert all(snapshot.opened.symbols.find(name) for name in names if name)
    return {_version(name) for name in names if name}


def _of_graph(root: str) -> set[str]:
    graph = CompiledGraph(root)
    names = [symbol.name for file in graph.files() for symbol in graph.file_symbols(file)]
    assert all(graph.definitions(name) and graph.references(name) for name in names)
    return {_version(name) for name in names}


def _of_map(root: str) -> set[str]:
    return {_version(entry.qualname) for entry in project_map(root).entries}


def _of_similar(root: str) -> set[str]:
    return {_version(one.chunk.qualname) for one in VectorSnapshot(root).nearest("f0.py", 1, 10)}


READERS: dict[str, Callable[[str], set[str]]] = {
    "grep": _of_symbols, "search": _of_search, "refs": _of_graph, "map": _of_map, "similar": _of_similar
}  # fmt: skip


def test_no_reader_mixes_generations_while_others_are_published(
    tmp_path: Path, rows_of: Callable[..., FileRows]
) -> None:
    root = str(tmp_path)
    versions = []
    for version in "abc"[:VERSIONS]:
        rows = []
        for number in range(FILES):
            file = rows_of(f"f{number}.py", f"def made{number}_{version}():\n    return {number}\n")
            called = Reference("call", f"made{(number + 1) % FILES}_{version}", "", 2, "", f"made{number}_{version}")
            rows.append(replace(file, references=encode(References.of([called]))))
        versions.append(rows)
    _publish(root, versions[0])
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else None)
    ended = context.Event()
    publisher = context.Process(target=_publish_on_and_on, args=(root, versions, ended))
    publisher.start()
    seen, generations = set(), set()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for name, read in READERS.items():
                found = read(root)
                assert len(found) == 1, f"{name} read {found}"
                seen |= found
            if (published := current(root)) is not None:
                generations.add(published.name)
    finally:
        ended.set()
        publisher.join(30)
    assert publisher.exitcode == 0
    assert len(seen) == VERSIONS
    assert len(generations) > VERSIONS


def test_a_snapshot_stays_readable_when_its_generation_is_gone(
    tmp_path: Path, rows_of: Callable[..., FileRows]
) -> None:
    root = str(tmp_path)
    _publish(root, [rows_of("f0.py", "def made_a():\n    return 1\n")])
    snapshot, graph = SearchSnapshot(root), CompiledGraph(root)
    for _ in range(3):
        _publish(root, [rows_of("f0.py", "def made_b():\n    return 1\n")])
    assert not Path(snapshot.generation.folder).exists()
    assert snapshot.qualname(0) == "made_a"
    assert [one.symbol.name for one in graph.definitions("made_a")] == ["made_a"]
    with pytest.raises(StopIteration):
        next(iter(graph.references("made_b")))
