"""What else looks like this: nearest chunks by their vectors, and near-identical code across the index.

Vectors are compared in whole numbers, whose sums are exact, and equal answers are ordered by path and line: the same
files give the same answers, however their index came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.errors import UsageError
from sage_code.search.snapshot import SearchSnapshot

# Cosine from which two chunks count as near-identical: renamed variables stay above it, rewritten logic falls below.
DUPLICATE_SIMILARITY = 0.95
# Shorter chunks are alike by nature: imports, one-line getters.
_MIN_DUPLICATE_LINES = 5
_BLOCK = 1024
# Above this dimension a sum of products of signed bytes may be beyond the whole numbers that 32 bits hold exactly.
_MAX_SINGLE = (1 << 24) // 127**2


@dataclass(frozen=True, slots=True)
class ChunkLocation:
    """A chunk, as an answer names it."""

    file: str
    line: int  # of the name, where it is a definition
    start_line: int
    end_line: int
    kind: str
    qualname: str


@dataclass(frozen=True, slots=True)
class SimilarChunk:
    """A chunk and how much it looks like what was asked for."""

    chunk: ChunkLocation
    similarity: float


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two places with nearly the same code."""

    first: ChunkLocation
    second: ChunkLocation
    similarity: float


class VectorSnapshot:
    """The vectors of a project's living files."""

    def __init__(self, root: str) -> None:
        self._snapshot = SearchSnapshot(root)
        self._float = np.dtype(np.float32 if self._snapshot.generation.dim <= _MAX_SINGLE else np.float64)

    @cached_property
    def _chunks(self) -> NDArray[np.int64]:
        """The chunks of living files, by path and line."""
        files = np.flatnonzero(self._snapshot.alive)
        paths = self._snapshot.paths(files)
        return self._snapshot.chunks_of(files[sorted(range(len(files)), key=paths.__getitem__)])[0]

    @cached_property
    def _vectors(self) -> NDArray[np.int8]:
        """Those of every chunk, by number, dead ones among them."""
        return np.concatenate([segment.arrays["vectors"] for segment in self._snapshot.segments])

    def nearest(self, file: str, line: int, limit: int) -> list[SimilarChunk]:
        """The chunks most like the one at `file`:`line`, best first, itself left out."""
        asked = self._find(file, line)
        wanted = self._vectors[asked : asked + 1]
        found = [
            self._cosines(wanted, self._vectors[at : at + _BLOCK])[0] for at in range(0, len(self._vectors), _BLOCK)
        ]
        scores = np.concatenate(found)[self._chunks]
        best = np.argsort(-scores, kind="stable")[: limit + 1]
        answers = zip(self._chunks[best].tolist(), scores[best].tolist(), strict=True)
        return [SimilarChunk(self._located(chunk), score) for chunk, score in answers if chunk != asked][:limit]

    def duplicates(self, limit: int) -> list[Duplicate]:
        """Pairs of chunks with nearly the same code, most alike first."""
        snapshot, chunks = self._snapshot, self._chunks
        lines = snapshot.chunk_end[chunks].astype(np.int64) - snapshot.chunk_start[chunks] + 1
        long = chunks[lines >= _MIN_DUPLICATE_LINES]
        found: list[tuple[float, int, int]] = []
        # Block against block: memory stays at one block of scores, whatever the project's size.
        for start in range(0, len(long), _BLOCK):
            block = self._vectors[long[start : start + _BLOCK]]
            for other in range(start, len(long), _BLOCK):
                scores = self._cosines(block, self._vectors[long[other : other + _BLOCK]])
                for row, column in np.argwhere(scores >= DUPLICATE_SIMILARITY).tolist():
                    if start + row < other + column:
                        found.append((float(scores[row, column]), start + row, other + column))
            found = sorted(found, key=lambda pair: (-pair[0], pair[1:]))[:limit]
        return [
            Duplicate(self._located(int(long[one])), self._located(int(long[two])), score) for score, one, two in found
        ]

    def _cosines(self, some: NDArray[np.int8], others: NDArray[np.int8]) -> NDArray[np.float64]:
        """The cosine of each of some vectors with each of others: a row for each of the first."""
        left: NDArray[Any] = some.astype(self._float)
        right: NDArray[Any] = others.astype(self._float)
        lengths = np.sqrt(np.outer((left * left).sum(axis=1), (right * right).sum(axis=1)).astype(np.float64))
        cosines = (left @ right.T) / np.maximum(lengths, 1)
        found: NDArray[np.float64] = np.minimum(cosines, 1)
        return found

    def _find(self, file: str, line: int) -> int:
        snapshot = self._snapshot
        number = snapshot.file_numbers.get(file)
        if number is not None:
            chunk = snapshot.chunk_at_line(number, line)
            if snapshot.chunk_start[chunk] <= line <= snapshot.chunk_end[chunk]:
                return chunk
        raise UsageError(f"{file}:{line} is not in the index", "give FILE:LINE of an indexed file, or a symbol")

    def _located(self, chunk: int) -> ChunkLocation:
        snapshot, file = self._snapshot, int(self._snapshot.chunk_file[chunk])
        first, last = int(snapshot.chunk_start[chunk]), int(snapshot.chunk_end[chunk])
        line = int(snapshot.chunk_line[chunk])
        return ChunkLocation(snapshot.path(file), line, first, last, snapshot.kind(chunk), snapshot.qualname(chunk))
