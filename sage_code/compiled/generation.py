"""Generations: each change of the index is a new folder of compiled files, published in one step.

`segments.json` in it lists the segments of the search snapshot and the dead files of each. An unchanged segment is a
hard link to the file of the older generation, so a small change costs little, and an old generation is removed by
deleting its folder. Readers resolve the link once; their generation is kept until two more are published.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Collection, Sequence
from typing import Any, Self

import orjson

from sage_code.chunk.words import FileWords
from sage_code.compiled.centrality import centrality
from sage_code.compiled.inventory import (
    CENTRALITY_FILE,
    FORMAT,
    INDEX_FILE,
    TEXTS_FILE,
    checksum,
    damaged,
    digest,
    encoded,
)
from sage_code.compiled.merge import merge
from sage_code.compiled.published import Generation, Mark, SegmentRef
from sage_code.compiled.sections import write_sections
from sage_code.compiled.segment import Segment
from sage_code.compiled.segment_builder import SegmentBuilder
from sage_code.compiled.symbols import SymbolWriter
from sage_code.compiled.texts import TextWriter
from sage_code.files.atomic import publish, remove
from sage_code.files.private import FOLDER, close
from sage_code.files.provenance import NAME_BYTES, note, published_folder
from sage_code.languages.kinds import TABLES
from sage_code.paths import compiled_dir, generations_dir
from sage_code.store.rows import FileRows

# Chunks in a segment while indexing from scratch: what a run holds in memory for the snapshot (about 30 MB).
_SEGMENT_CHUNKS = 8_192
# The segments of a run are merged up to this size: a search pays for each, a merge for its postings in memory (120 MB).
_MERGED_CHUNKS = 262_144
# More small segments than this are written again as one, since a search pays for each.
_MAX_SMALL_SEGMENTS = 8
_SMALL_CHUNKS = 4_096


class GenerationWriter:
    """Builds the next generation beside the current one. A context manager: without `publish` nothing is kept."""

    def __init__(
        self,
        root: str,
        model: str,
        dim: int,
        base: Generation | None,
        dropped: set[str],
        *,
        keep_texts: bool = False,
    ) -> None:
        """`dropped` are paths whose old versions are dead. `keep_texts` stores the text of every file too, for an index
        that must answer without the files; it has no `base`."""
        self._root, self._model, self._dim = root, model, dim
        self._base, self._dropped = base, dropped
        number = int(base.name.partition("-")[0]) + 1 if base else 1
        self.name = f"{number:06d}-{secrets.token_hex(NAME_BYTES)}"
        self._home = generations_dir(root)
        self._folder = os.path.join(self._home, f"{self.name}.tmp")
        os.makedirs(self._folder, FOLDER)
        self._symbols = SymbolWriter(self._folder)
        self._texts = TextWriter(self._folder) if keep_texts and base is None else None
        self._builder = SegmentBuilder(model, dim)
        self._refs: list[SegmentRef] = []
        self._rewritten: frozenset[str] = frozenset()
        self.removed: list[str] = []  # the generations that `publish` has deleted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._texts is not None:
            self._texts.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def crowded(self, secret: Collection[str] = ()) -> list[str]:
        """Store keys of the files in segments that are to be written again: there are too many small ones, most of a
        segment is dead, or it holds a file of `secret`, whose words must not stay on the disk."""
        if self._base is None:
            return []
        alive = {ref.file: self._alive(ref) for ref in self._base.segments}
        with_secrets = {
            ref.file for ref in self._base.segments if not set(self._base.open_segment(ref).paths).isdisjoint(secret)
        }
        chosen = [name for name, (_, chunks, total) in alive.items() if chunks * 2 < total or name in with_secrets]
        small = [name for name, (_, chunks, _) in alive.items() if chunks < _SMALL_CHUNKS]
        if len(small) > _MAX_SMALL_SEGMENTS:
            chosen = list({*chosen, *small})
        self._rewritten = frozenset(chosen)
        return [key for name in chosen for key in alive[name][0]]

    def keep_crowded(self) -> None:
        """Do not write segments again after all: the store does not have their rows."""
        self._rewritten = frozenset()

    def _alive(self, ref: SegmentRef) -> tuple[list[str], int, int]:
        """The keys of a segment's living files, how many chunks those have, and how many all files have."""
        assert self._base is not None
        segment = self._base.open_segment(ref)
        dead = self._dead(segment, ref)
        keys = [key for number, key in enumerate(segment.keys) if number not in dead]
        return keys, segment.chunks_outside(dead), segment.meta["chunks"]

    def _dead(self, segment: Segment, ref: SegmentRef) -> set[int]:
        return set(ref.dead) | {number for number, path in enumerate(segment.paths) if path in self._dropped}

    def add(self, file: FileRows, words: FileWords | None = None, *, symbols: bool = True) -> None:
        """Take one file; `symbols=False` if its symbols are listed already. `words` are split already, if given."""
        if symbols:
            self._symbols.add(file)
        if self._texts is not None:
            self._texts.add(file)
        self._builder.add(file, words)
        if len(self._builder) >= _SEGMENT_CHUNKS:
            self._flush()

    def publish(self) -> dict[str, int]:
        """Finish the folder and point the project's `compiled` at it; returns the symbols in each file."""
        if len(self._builder):
            self._flush()
        self._merge()
        if self._base is not None:
            for ref in self._base.segments:
                if ref.file not in self._rewritten:
                    self._carry_over(ref)
        counts = self._symbols.finish(self._base.folder if self._base else None, self._dropped)
        self._write_centrality()
        self._finish()
        return counts

    def publish_made(self, segments: Sequence[SegmentRef], fill: Callable[[str], None]) -> None:
        """Publish files that were made elsewhere: `fill` writes them into the folder that it is given."""
        self._symbols.finish(None, set())
        self._refs = list(segments)
        fill(self._folder)
        self._finish()

    def _finish(self) -> None:
        """List the files of the folder and point the project's `compiled` at it."""
        files = [f"{table}.json" for table in TABLES] + [ref.file for ref in self._refs] + [CENTRALITY_FILE]
        if self._texts is not None:
            self._texts.finish()
            files.append(TEXTS_FILE)
        index: dict[str, Any] = {
            "format": FORMAT,
            "generation": self.name,
            "model": self._model,
            "dim": self._dim,
            "segments": [ref._asdict() for ref in self._refs],
            "files": {name: tuple(self._mark(name)) for name in files},
        }
        with open(os.path.join(self._folder, INDEX_FILE), "wb") as file:
            file.write(encoded(orjson.dumps(index)))
        final = os.path.join(self._home, self.name)
        close(self._folder)
        os.rename(self._folder, final)
        note(self._root, self.name, final)
        before = published_folder(self._root)
        publish(compiled_dir(self._root), final)
        self._remove_all_but(final, before)

    def _write_centrality(self) -> None:
        """Count over all segments, so that the counts do not depend on how files are divided among them."""
        segments = [Segment.open(os.path.join(self._folder, ref.file)) for ref in self._refs]
        found = centrality([(segment, ref.dead) for segment, ref in zip(segments, self._refs, strict=True)])
        write_sections(os.path.join(self._folder, CENTRALITY_FILE), {}, found)

    def _mark(self, name: str) -> Mark:
        path = os.path.join(self._folder, name)
        known = self._base.files.get(name) if self._base and name.endswith(".seg") else None
        facts = os.stat(path)
        xxh3, crc32 = (known.xxh3, known.crc32) if known else (digest(path), checksum(path))
        return Mark(facts.st_size, xxh3, facts.st_mtime_ns, crc32)

    def _flush(self) -> None:
        name = f"{self.name}-{len(self._refs)}.seg"
        chunks = len(self._builder)
        self._builder.write(os.path.join(self._folder, name))
        self._refs.append(SegmentRef(name, (), chunks))
        self._builder = SegmentBuilder(self._model, self._dim)

    def _merge(self) -> None:
        """Merge the segments of this run in groups of at most `_MERGED_CHUNKS` chunks."""
        written, self._refs = self._refs, []
        group: list[SegmentRef] = []
        for ref in written:
            if sum(member.live_chunks for member in group) + ref.live_chunks > _MERGED_CHUNKS:
                self._merge_group(group)
                group = []
            group.append(ref)
        self._merge_group(group)

    def _merge_group(self, group: list[SegmentRef]) -> None:
        if len(group) < 2:
            self._refs += group
            return
        paths = [os.path.join(self._folder, ref.file) for ref in group]
        name = f"{self.name}-m{len(self._refs)}.seg"
        merge([Segment.open(path) for path in paths], os.path.join(self._folder, name))
        for path in paths:
            os.remove(path)
        self._refs.append(SegmentRef(name, (), sum(ref.live_chunks for ref in group)))

    def _carry_over(self, ref: SegmentRef) -> None:
        """Take a segment of the base with its dead files marked; one whose files are all dead is left out."""
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

    def _remove_all_but(self, *kept: str | None) -> None:
        # The caller holds the project's lock, so no other process is writing an unfinished folder.
        for entry in os.listdir(self._home):
            folder = os.path.join(self._home, entry)
            if folder not in kept:
                remove(folder)
                self.removed.append(entry)


def check(generation: Generation | None) -> list[str]:
    """A message for each file of a generation that is not what was written; reads all of them."""
    if generation is None:
        return ["the compiled index is missing or incomplete"]
    return [f"{path} is damaged" for path in damaged(generation.folder, dict(generation.files))]
