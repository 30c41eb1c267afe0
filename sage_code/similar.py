"""What else looks like this: nearest chunks by their vectors, and near-identical code across the index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.published import current
from sage_code.compiled.segment import Segment
from sage_code.errors import NotIndexed, UsageError
from sage_code.values import definition_line

# Cosine from which two chunks count as near-identical: renamed variables stay above it, rewritten logic falls below.
DUPLICATE_SIMILARITY = 0.95
# Shorter chunks are alike by nature: imports, one-line getters.
_MIN_DUPLICATE_LINES = 5
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class Place:
    """A chunk, as an answer names it."""

    file: str
    line: int  # of the name, where it is a definition
    start_line: int
    end_line: int
    kind: str
    qualname: str


@dataclass(frozen=True, slots=True)
class Similar:
    """A chunk and how much it looks like what was asked for."""

    place: Place
    similarity: float


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two places with nearly the same code."""

    first: Place
    second: Place
    similarity: float


class VectorSnapshot:
    """The vectors of a project, segment by segment, dead chunks left out."""

    def __init__(self, root: str) -> None:
        generation = current(root)
        if generation is None:
            raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
        self._segments = [(generation.open_segment(ref), frozenset(ref.dead)) for ref in generation.segments]

    @cached_property
    def _alive(self) -> list[tuple[Segment, NDArray[np.int64]]]:
        """Segments with the numbers of their chunks that are alive."""
        alive = []
        for segment, dead in self._segments:
            mask = ~np.isin(segment.arrays["chunk_file"], list(dead)) if dead else np.ones(segment.meta["chunks"], bool)
            alive.append((segment, np.flatnonzero(mask)))
        return alive

    def nearest(self, file: str, line: int, limit: int) -> list[Similar]:
        """The chunks most like the one at `file`:`line`, best first, itself left out."""
        segment, chunk = self._find(file, line)
        wanted = _unit(segment.arrays["vectors"][chunk : chunk + 1])[0]
        found: list[tuple[float, Segment, int]] = []
        for other, chunks in self._alive:
            scores = _unit(other.arrays["vectors"][chunks]) @ wanted
            best = np.argsort(-scores)[: limit + 1].tolist()
            others = (place for place in best if not (other is segment and chunks[place] == chunk))
            found += [(float(scores[place]), other, int(chunks[place])) for place in others]
        found.sort(key=lambda hit: -hit[0])
        return [Similar(_place(other, number), score) for score, other, number in found[:limit]]

    def duplicates(self, limit: int) -> list[Duplicate]:
        """Pairs of chunks with nearly the same code, most alike first."""
        segments, numbers, rows = [], [], []
        for segment, chunks in self._alive:
            lines = segment.arrays["chunk_end"][chunks].astype(np.int64) - segment.arrays["chunk_start"][chunks] + 1
            long = chunks[lines >= _MIN_DUPLICATE_LINES]
            segments += [segment] * len(long)
            numbers += long.tolist()
            rows.append(_unit(segment.arrays["vectors"][long]).astype(np.float32))
        matrix = np.concatenate(rows) if rows else np.empty((0, 1), np.float32)
        found: list[tuple[float, int, int]] = []
        # Block against block: memory stays at one block of scores, whatever the project's size.
        for start in range(0, len(matrix), _BLOCK):
            for other in range(start, len(matrix), _BLOCK):
                scores = matrix[start : start + _BLOCK] @ matrix[other : other + _BLOCK].T
                for row, column in np.argwhere(scores >= DUPLICATE_SIMILARITY).tolist():
                    if start + row < other + column:
                        found.append((float(scores[row, column]), start + row, other + column))
            found = sorted(found, key=lambda pair: (-pair[0], pair[1:]))[:limit]
        return [
            Duplicate(_place(segments[one], numbers[one]), _place(segments[two], numbers[two]), min(score, 1.0))
            for score, one, two in found
        ]

    def _find(self, file: str, line: int) -> tuple[Segment, int]:
        for segment, chunks in self._alive:
            if file not in segment.paths:
                continue
            arrays = segment.arrays
            start, end = arrays["chunk_start"][chunks], arrays["chunk_end"][chunks]
            number = [n for n, path in enumerate(segment.paths) if path == file]
            here = chunks[np.isin(arrays["chunk_file"][chunks], number) & (start <= line) & (line <= end)]
            if len(here):
                return segment, int(here[0])
        raise UsageError(f"{file}:{line} is not in the index", "give FILE:LINE of an indexed file, or a symbol")


def _unit(vectors: NDArray[np.int8]) -> NDArray[np.float32]:
    rows = vectors.astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, norms, out=rows, where=norms > 0)
    return rows


def _place(segment: Segment, chunk: int) -> Place:
    arrays, qualname = segment.arrays, segment.string("names", chunk)
    file, first, last = (int(arrays[name][chunk]) for name in ("chunk_file", "chunk_start", "chunk_end"))
    line = definition_line(segment.symbols(file), qualname, first, last)
    return Place(segment.paths[file], line, first, last, segment.kind(chunk), qualname)
