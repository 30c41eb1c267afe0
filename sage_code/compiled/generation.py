"""Generations: each change of the index is a new folder of compiled files, published in one step.

`segments.json` in it names the segments of the search snapshot and the files in them that are dead. Segments that
did not change are hard links into the older generation, so a small change costs little, and an old generation goes
away by deleting its folder. Readers resolve the link once; the generation they hold stays for at least one more.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from typing import Any, Self

import orjson

from sage_code.atomic import publish
from sage_code.compiled.published import FORMAT, INDEX_FILE, Generation, SegmentRef, current
from sage_code.compiled.segment import Segment, SegmentBuilder
from sage_code.compiled.symbols import SymbolWriter
from sage_code.errors import IndexCorrupt
from sage_code.paths import compiled_dir, generations_dir
from sage_code.store.rows import FileRows

# Chunks in a segment while indexing from scratch: what a run holds in memory for the snapshot (about 30 MB).
_SEGMENT_CHUNKS = 8_192
# More small segments than this, and they are written anew as one; a search pays for each.
_MAX_SMALL_SEGMENTS = 8
_SMALL_CHUNKS = 4_096


class GenerationWriter:
    """Builds the next generation beside the current one. Use as a context manager: without `publish` nothing stays."""

    def __init__(self, root: str, model: str, dim: int, base: Generation | None, dropped: set[str]) -> None:
        self._root, self._model, self._dim = root, model, dim
        self._base, self._dropped = base, dropped
        number = int(base.name.partition("-")[0]) + 1 if base else 1
        self.name = f"{number:06d}-{secrets.token_hex(3)}"
        self._home = generations_dir(root)
        self._folder = os.path.join(self._home, f"{self.name}.tmp")
        os.makedirs(self._folder)
        self._symbols = SymbolWriter(self._folder)
        self._builder = SegmentBuilder(model, dim)
        self._refs: list[SegmentRef] = []
        self._rewritten: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def crowded(self) -> list[str]:
        """Store keys of the files in segments that should be written anew, now that one more comes."""
        if self._base is None:
            return []
        alive = {ref.file: self._alive(ref) for ref in self._base.segments}
        chosen = [name for name, (_, chunks, total) in alive.items() if chunks * 2 < total]
        small = [name for name, (_, chunks, _) in alive.items() if chunks < _SMALL_CHUNKS]
        if len(small) > _MAX_SMALL_SEGMENTS:
            chosen = list({*chosen, *small})
        self._rewritten = frozenset(chosen)
        return [key for name in chosen for key in alive[name][0]]

    def keep_crowded(self) -> None:
        """Leave the segments as they are after all: their rows are not to be had."""
        self._rewritten = frozenset()

    def _alive(self, ref: SegmentRef) -> tuple[list[str], int, int]:
        """Keys of the files of a segment that stay, their chunks, and all chunks."""
        assert self._base is not None
        segment = self._base.open_segment(ref)
        dead = self._dead(segment, ref)
        keys = [key for number, key in enumerate(segment.keys) if number not in dead]
        return keys, segment.chunks_outside(dead), segment.meta["chunks"]

    def _dead(self, segment: Segment, ref: SegmentRef) -> set[int]:
        return set(ref.dead) | {number for number, path in enumerate(segment.paths) if path in self._dropped}

    def add(self, file: FileRows, *, symbols: bool = True) -> None:
        """Take one file; `symbols=False` when its symbols are listed already."""
        if symbols:
            self._symbols.add(file)
        self._builder.add(file)
        if len(self._builder) >= _SEGMENT_CHUNKS:
            self._flush()

    def publish(self) -> dict[str, int]:
        """Finish the folder and point the project's `compiled` at it; returns the symbols in each file."""
        if len(self._builder):
            self._flush()
        if self._base is not None:
            for ref in self._base.segments:
                if ref.file not in self._rewritten:
                    self._carry_over(ref)
        counts = self._symbols.finish(self._base.folder if self._base else None, self._dropped)
        index: dict[str, Any] = {
            "format": FORMAT,
            "generation": self.name,
            "model": self._model,
            "dim": self._dim,
            "segments": [
                {"file": ref.file, "dead": list(ref.dead), "live_chunks": ref.live_chunks} for ref in self._refs
            ],
        }
        with open(os.path.join(self._folder, INDEX_FILE), "wb") as file:
            file.write(orjson.dumps(index))
        final = os.path.join(self._home, self.name)
        os.rename(self._folder, final)
        publish(compiled_dir(self._root), final)
        self._remove_old(final)
        return counts

    def _flush(self) -> None:
        name = f"{self.name}-{len(self._refs)}.seg"
        chunks = len(self._builder)
        self._builder.write(os.path.join(self._folder, name))
        self._refs.append(SegmentRef(name, (), chunks))
        self._builder = SegmentBuilder(self._model, self._dim)

    def _carry_over(self, ref: SegmentRef) -> None:
        assert self._base is not None
        segment = self._base.open_segment(ref)
        dead = self._dead(segment, ref)
        if len(dead) == len(segment.paths):
            return
        source, target = os.path.join(self._base.folder, ref.file), os.path.join(self._folder, ref.file)
        try:
            os.link(source, target)
        except OSError:  # a file system without hard links
            shutil.copyfile(source, target)
        self._refs.append(SegmentRef(ref.file, tuple(sorted(dead)), segment.chunks_outside(dead)))

    def _remove_old(self, final: str) -> None:
        keep = {final, self._base.folder if self._base else ""}
        for entry in os.listdir(self._home):
            folder = os.path.join(self._home, entry)
            if folder not in keep:
                # Whoever indexes holds the project's lock, so an unfinished folder belongs to nobody alive.
                with contextlib.suppress(OSError):
                    shutil.rmtree(folder)


def check(root: str) -> list[str]:
    """Damage in the published generation, in words; reads every segment's header and arrays."""
    generation = current(root)
    if generation is None:
        return ["the compiled index is missing or incomplete"]
    findings = []
    for ref in generation.segments:
        try:
            segment = generation.open_segment(ref)
            if segment.chunks_outside(set(ref.dead)) != ref.live_chunks:
                findings.append(f"{ref.file} holds another number of chunks than {INDEX_FILE} says")
        except IndexCorrupt as error:
            findings.append(error.message)
    return findings
