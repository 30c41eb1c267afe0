"""Opens a published generation for search, with all its segments as one: chunks and files are numbered through.

Reads mapped files: of one segment arrays are views of them, of several segments copies of small columns. Dead files
keep their numbers and are masked. A snapshot does not change when another generation is published.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.published import Generation, Snapshot, needed_snapshot
from sage_code.compiled.sections import Strings
from sage_code.compiled.segment import FILE_FIELDS, KINDS, Segment
from sage_code.values import Symbol

# Odd numbers without a pattern, with which hashes are mixed.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9))

# Names and paths that are kept (a few megabytes); then they are read again.
_KEPT_STRINGS = 32_768

# Files that stand for their folder.
_PACKAGE_FILES = frozenset({"__init__", "index", "mod", "lib", "init"})


class SearchSnapshot:
    """One published generation."""

    hides_paths = False

    def __init__(self, root: str, opened: Snapshot | None = None) -> None:
        """Opens what is published for `root`, unless `opened` is given."""
        self.root = root
        self.opened = opened or needed_snapshot(root)
        self.generation: Generation = self.opened.generation
        self.segments: list[Segment] = self.opened.segments
        self._dead = [ref.dead for ref in self.generation.segments]
        self.chunk_at = _starts([segment.meta["chunks"] for segment in self.segments])
        self.file_at = _starts([segment.meta["files"] for segment in self.segments])
        self.chunks, self.files = self.chunk_at[-1], self.file_at[-1]
        self._norms: dict[str, NDArray[np.float32]] = {}
        self._known_strings: dict[str, dict[int, str]] = {"names": {}, "paths": {}}

    def _column(self, name: str) -> NDArray[Any]:
        parts = [segment.arrays[name] for segment in self.segments]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.empty(0, np.uint32)

    @cached_property
    def chunk_file(self) -> NDArray[np.int64]:
        """The file of every chunk."""
        parts = [
            segment.arrays["chunk_file"].astype(np.int64) + start
            for segment, start in zip(self.segments, self.file_at, strict=False)
        ]
        return np.concatenate([np.empty(0, np.int64), *parts])

    @cached_property
    def first_chunk(self) -> NDArray[np.int64]:
        """The first chunk of every file, and where the last one ends; the chunks of a file follow each other."""
        return np.searchsorted(self.chunk_file, np.arange(self.files + 1))

    def chunks_of(self, files: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The chunks of `files`, file by file, and where those of each start."""
        first = self.first_chunk[files]
        counts = self.first_chunk[files + 1] - first
        starts = counts.cumsum() - counts
        chunks = np.arange(int(counts.sum()))
        chunks += np.repeat(first - starts, counts)
        return chunks, starts

    @cached_property
    def chunk_start(self) -> NDArray[np.uint32]:
        """The first line of every chunk."""
        return self._column("chunk_start")

    @cached_property
    def chunk_end(self) -> NDArray[np.uint32]:
        """The last line of every chunk."""
        return self._column("chunk_end")

    @cached_property
    def chunk_line(self) -> NDArray[np.uint32]:
        """The line of every chunk's name, or its first where it has none."""
        return self._column("chunk_line")

    @cached_property
    def chunk_kind(self) -> NDArray[np.uint8]:
        """The kind of every chunk, as a number of `KINDS`."""
        return self._column("chunk_kind")

    @cached_property
    def chunk_centrality(self) -> NDArray[np.float32]:
        """How many files use what every chunk defines."""
        return self.opened.centrality["chunk_uses"]

    @cached_property
    def file_centrality(self) -> NDArray[np.uint32]:
        """How many files use what every file defines."""
        return self.opened.centrality["file_users"]

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Which files are alive."""
        alive = np.ones(self.files, dtype=bool)
        for start, dead in zip(self.file_at, self._dead, strict=False):
            alive[[start + number for number in dead]] = False
        return alive

    @cached_property
    def chunk_alive(self) -> NDArray[np.bool_]:
        """Which chunks are of files that are alive."""
        return self.alive[self.chunk_file]

    @cached_property
    def file_hash(self) -> NDArray[np.uint64]:
        """The hash of every file's path: an order that does not depend on where a file is in the snapshot."""
        return self._column("file_hash")

    def chunk_order(self, chunks: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A number for each of `chunks`, as good as random, made only of its path and its number in its file."""
        files = self.chunk_file[chunks]
        number = (chunks - self.first_chunk[files]).astype(np.uint64)
        mixed: NDArray[np.uint64] = self.file_hash[files] + number * _MIX[0]
        mixed ^= mixed >> np.uint64(29)
        mixed *= _MIX[1]
        mixed ^= mixed >> np.uint64(32)
        return mixed

    @cached_property
    def file_numbers(self) -> dict[str, int]:
        """The files that are alive, by path."""
        alive = self.alive
        return {
            path: start + number
            for segment, start in zip(self.segments, self.file_at, strict=False)
            for number, path in enumerate(segment.paths)
            if alive[start + number]
        }

    def path(self, file: int) -> str:
        """The path of a file."""
        known = self._known_strings["paths"].get(file)
        if known is not None:
            return known
        segment, number = self._file(file)
        return segment.string("paths", number)

    def language(self, file: int) -> str:
        """The language of a file."""
        segment, number = self._file(file)
        return segment.file_language(number)

    def languages(self) -> list[str]:
        """The language of every file, by number."""
        return [
            segment.meta["languages"][number]
            for segment in self.segments
            for number in segment.arrays["file_language"].tolist()
        ]

    def qualname(self, chunk: int) -> str:
        """The qualified name of a chunk."""
        known = self._known_strings["names"].get(chunk)
        if known is not None:
            return known
        segment, number = self._chunk(chunk)
        return segment.string("names", number)

    def signature(self, chunk: int) -> str:
        """The signature of a chunk."""
        segment, number = self._chunk(chunk)
        return segment.string("signatures", number)

    def kind(self, chunk: int) -> str:
        """The kind of a chunk."""
        return KINDS[int(self.chunk_kind[chunk])]

    def symbols(self, file: int) -> list[Symbol]:
        """The definitions of a file, without their docstrings."""
        segment, number = self._file(file)
        return segment.symbols(number)

    def chunk_at_line(self, file: int, line: int) -> int:
        """The chunk of a file with a line."""
        return int(self.chunks_at_lines(file, [line])[0])

    def chunks_at_lines(self, file: int, lines: Sequence[int]) -> NDArray[np.int64]:
        """The chunks of a file with these lines."""
        first, last = int(self.first_chunk[file]), int(self.first_chunk[file + 1])
        rows: NDArray[np.int64] = np.searchsorted(self.chunk_start[first:last], lines, side="right")
        return first + np.maximum(rows - 1, 0)

    @cached_property
    def all_alive(self) -> bool:
        """Whether no file is dead."""
        return not any(self._dead)

    def qualnames(self, chunks: NDArray[np.int64]) -> list[str]:
        """The qualified names of chunks, which are in ascending order."""
        return self._strings("names", chunks, self.chunk_at)

    def paths(self, files: NDArray[np.int64]) -> list[str]:
        """The paths of files, which are in ascending order."""
        return self._strings("paths", files, self.file_at)

    def _strings(self, column: str, numbers: NDArray[np.int64], starts: list[int]) -> list[str]:
        """The strings of a column, by ascending numbers; they are kept, as the next query often has the same chunks."""
        known = self._known_strings[column]
        wanted = numbers.tolist()
        if not known.keys() >= set(wanted):
            if len(known) >= _KEPT_STRINGS:
                known = self._known_strings[column] = {}  # another thread may read the old one
            new = np.array([number for number in wanted if number not in known], np.int64)
            for segment, own in self._by_segment(new, starts):
                found = Strings(self.segments[segment].arrays, column).many(own)
                known.update(zip((own + starts[segment]).tolist(), found, strict=True))
        return [known[number] for number in wanted]

    def vectors(self, chunks: NDArray[np.int64]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The vectors of chunks, which are in ascending order, in whole numbers, and their scales."""
        vectors, scales = [np.empty((0, self.generation.dim), np.int8)], [np.empty(0, np.float32)]
        for number, own in self._by_segment(chunks, self.chunk_at):
            arrays = self.segments[number].arrays
            vectors.append(arrays["vectors"][own])
            scales.append(arrays["scales"][own])
        return np.concatenate(vectors), np.concatenate(scales)

    def words(self, chunks: NDArray[np.int64]) -> Iterator[tuple[Segment, NDArray[np.uint32], NDArray[np.int64]]]:
        """The words of chunks, which are in ascending order, segment by segment: rows of the segment's terms, and how
        many words each chunk has."""
        for number, own in self._by_segment(chunks, self.chunk_at):
            segment = self.segments[number]
            starts = segment.arrays["words_at"][own].astype(np.int64)
            counts = segment.arrays["words_at"][own + 1].astype(np.int64) - starts
            ends = counts.cumsum()
            rows = np.arange(int(ends[-1]))
            rows += np.repeat(starts - (ends - counts), counts)
            yield segment, segment.arrays["words"][rows], counts

    @cached_property
    def files_by_name(self) -> dict[str, list[int]]:
        """The files that are alive, by the last part of their path."""
        found: dict[str, list[int]] = {}
        for path, number in self.file_numbers.items():
            found.setdefault(path.rpartition("/")[2], []).append(number)
        return found

    @cached_property
    def files_by_stem(self) -> dict[str, list[int]]:
        """The files that are alive, by the last part of their path up to its first dot."""
        found: dict[str, list[int]] = {}
        for path, number in self.file_numbers.items():
            found.setdefault(path.rpartition("/")[2].partition(".")[0], []).append(number)
        return found

    @cached_property
    def files_by_module(self) -> dict[tuple[str, str], list[int]]:
        """The files that are alive, by the last two parts of the module that they are: (`linear_model`, `ridge`)."""
        found: dict[tuple[str, str], list[int]] = {}
        for path, number in self.file_numbers.items():
            *folders, name = path.split("/")
            stem = name.partition(".")[0]
            parts = folders if stem in _PACKAGE_FILES else [*folders, stem]
            if len(parts) > 1:
                found.setdefault((parts[-2], parts[-1]), []).append(number)
        return found

    def _by_segment(self, numbers: NDArray[np.int64], starts: list[int]) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Splits ascending numbers by segment, and turns them into numbers of that segment."""
        borders = np.searchsorted(numbers, starts).tolist()
        for segment, (first, last) in enumerate(pairwise(borders)):
            if first < last:
                yield segment, numbers[first:last] - starts[segment]

    def norms(self, field: str, k1: float, b: float) -> NDArray[np.float32]:
        """What BM25 adds to the count of a word in each document: more in a longer one."""
        if field not in self._norms:
            lengths = self._column(f"{field}_lengths")
            alive = lengths
            if not self.all_alive:
                alive = lengths[self.alive if field in FILE_FIELDS else self.chunk_alive]
            average = max(int(alive.sum(dtype=np.int64)) / max(len(alive), 1), 1.0)
            self._norms[field] = np.float32(k1 * (1 - b)) + np.float32(k1 * b / average) * lengths.astype(np.float32)
        return self._norms[field]

    def holding(self, term: str, found: int) -> int:  # noqa: ARG002 - a part of a fleet asks its statistics
        """How many chunks have a word, of which `found` are in the snapshot: those, where it is the whole project."""
        return found

    def _file(self, file: int) -> tuple[Segment, int]:
        number = bisect_right(self.file_at, file) - 1
        return self.segments[number], file - self.file_at[number]

    def _chunk(self, chunk: int) -> tuple[Segment, int]:
        number = bisect_right(self.chunk_at, chunk) - 1
        return self.segments[number], chunk - self.chunk_at[number]


def _starts(counts: list[int]) -> list[int]:
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    return starts
