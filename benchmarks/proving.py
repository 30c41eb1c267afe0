"""The expected index, the actual one, and the real `sage`: shared by `crash.py` and `concurrency.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sage_code.chunk.embedded_text import embedded_text
from sage_code.chunk.files import ChunkedFile, chunk_file
from sage_code.compiled.published import open_snapshot
from sage_code.compiled.symbols import SymbolWriter
from sage_code.discover.listing import list_files
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.index.manifest import file_key, load_manifest
from sage_code.languages.kinds import TABLES
from sage_code.store.rows import FileRows, text_hash
from sage_code.values import SourceFile

_SAGE = (sys.executable, "-m", "sage_cli.entry")


class Violation(AssertionError):  # noqa: N818 - reads as what it says
    """The index broke a promise."""


def demand(condition: object, promise: str) -> None:
    """Raise a `Violation` of `promise` unless `condition` holds."""
    if not condition:
        raise Violation(promise)


@dataclass(frozen=True, slots=True)
class State:
    """The content of an index: its symbol files byte for byte, and the store key and chunks of every file."""

    symbols: Mapping[str, bytes]
    keys: Mapping[str, str]
    chunks: Mapping[str, int]
    hashes: Mapping[str, tuple[str, ...]] = field(compare=False, default_factory=dict)  # of the chunks' texts, by key


def expected(root: Path) -> State:
    """The index that the folder should have, worked out from its files alone."""
    rows = [_rows(root, file) for file in list_files(str(root)) if isinstance(file, SourceFile)]
    with tempfile.TemporaryDirectory() as folder:
        writer = SymbolWriter(folder)
        for row in rows:
            writer.add(row)
        writer.finish(None, ())
        symbols = {table: Path(folder, f"{table}.json").read_bytes() for table in TABLES}
    return State(
        symbols,
        {row.path: row.key for row in rows},
        {row.path: len(row.chunks) for row in rows},
        {row.key: row.text_hashes for row in rows},
    )


def _rows(root: Path, file: SourceFile) -> FileRows:
    return _cut(root, file.path, file.size, file.mtime_ns)


@cache
def _cut(root: Path, path: str, size: int, mtime_ns: int) -> FileRows:
    cut = chunk_file(str(root), SourceFile(path, size, mtime_ns), DEFAULT_RULES)
    assert isinstance(cut, ChunkedFile), cut
    texts = tuple(map(embedded_text, cut.chunks))
    hashes = tuple(map(text_hash, texts))
    return FileRows(file_key(path, cut.content_hash), path, cut.language, cut.chunks, texts, hashes, np.empty((0, 0)))


def published(root: Path) -> State | None:
    """The content of the compiled files, with every array of every segment; None if there are none."""
    while True:
        found = open_snapshot(str(root))
        if found is None:
            return None
        generation, segments = found.generation, found.segments
        try:
            symbols = {table: Path(generation.folder, f"{table}.json").read_bytes() for table in TABLES}
            break
        except FileNotFoundError:  # two generations later
            continue
    keys: dict[str, str] = {}
    chunks: dict[str, int] = {}
    for ref, segment in zip(generation.segments, segments, strict=True):
        for array in segment.arrays.values():
            array.tobytes()
        counts = np.bincount(segment.arrays["chunk_file"], minlength=len(segment.paths)).tolist()
        for number, (path, key) in enumerate(zip(segment.paths, segment.keys, strict=True)):
            if number not in ref.dead:
                demand(path not in keys, f"{path} is alive twice")
                keys[path], chunks[path] = key, counts[number]
        demand(sum(counts) == segment.meta["chunks"], f"{ref.file} holds {segment.meta['chunks']} chunks")
    demand(generation.chunks == sum(chunks.values()), "the generation counts its chunks")
    return State(symbols, keys, chunks)


def remembered(root: Path) -> dict[str, str] | None:
    """The store keys that the manifest names, by path."""
    manifest = load_manifest(str(root))
    return None if manifest is None else {path: state.key for path, state in manifest.files.items()}


def command(*words: str | os.PathLike[str]) -> list[str]:
    """A command line of the real `sage`."""
    return [*_SAGE, *map(os.fspath, words)]


def sage(*words: str | os.PathLike[str], ok: tuple[int, ...] = (0,)) -> Any:
    """Run `sage ... --json`; returns the document that it prints."""
    done = subprocess.run(command(*words, "--json"), capture_output=True, text=True, timeout=120, check=False)
    demand(done.returncode in ok, f"sage {words[0]} ended with {done.returncode}: {done.stderr.strip()}")
    demand("Traceback" not in done.stderr, f"sage {words[0]} printed a traceback: {done.stderr}")
    return json.loads(done.stdout)


@contextmanager
def own_home() -> Iterator[Path]:
    """A scratch folder whose `home` is SAGE_HOME in the context."""
    with tempfile.TemporaryDirectory(prefix="sage-proof-") as folder:
        os.environ["SAGE_HOME"] = str(Path(folder, "home"))
        yield Path(folder)
