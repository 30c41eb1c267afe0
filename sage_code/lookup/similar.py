"""Finds the chunks that are most similar to one, and pairs of nearly identical chunks, by their vectors.

Vectors are compared in whole numbers, whose sums are exact, and equal answers are ordered by path and line, so the same
files give the same answers, however their index was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.errors import UsageError
from sage_code.search.snapshot import SearchSnapshot

# The cosine of duplicates is at least this: code with renamed variables is above it, rewritten code below.
DUPLICATE_SIMILARITY = 0.95
# Shorter chunks are often similar by chance: imports, one-line getters.
_MIN_DUPLICATE_LINES = 5
# Of what is new, only definitions are compared: imports and the text around them are alike everywhere.
_DEFINITIONS = frozenset({"function", "method", "class", "type"})
# New definitions that are compared with all others: in a project of 236,000 chunks a second each thousand.
_MAX_NEW = 1_000
_BLOCK = 1024
# Above this dimension a sum of products of signed bytes may be too large for an exact float of 32 bits.
_MAX_SINGLE = (1 << 24) // 127**2


@dataclass(frozen=True, slots=True)
class ChunkLocation:
    """The location and name of a chunk."""

    file: str
    line: int  # of the name, where it is a definition
    start_line: int
    end_line: int
    kind: str
    qualname: str


@dataclass(frozen=True, slots=True)
class SimilarChunk:
    """A chunk and its similarity to the given one."""

    chunk: ChunkLocation
    similarity: float


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two chunks with nearly the same code."""

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
        """The vectors of all chunks, by number, including those of dead files."""
        return np.concatenate([segment.arrays["vectors"] for segment in self._snapshot.segments])

    def nearest(self, file: str, line: int, limit: int) -> list[SimilarChunk]:
        """The chunks most similar to the one at `file`:`line`, best first, without that one."""
        given = self._find(file, line)
        wanted = self._vectors[given : given + 1]
        found = [
            self._cosines(wanted, self._vectors[at : at + _BLOCK])[0] for at in range(0, len(self._vectors), _BLOCK)
        ]
        scores = np.concatenate(found)[self._chunks]
        best = np.argsort(-scores, kind="stable")[: limit + 1]
        scored = zip(self._chunks[best].tolist(), scores[best].tolist(), strict=True)
        return [SimilarChunk(self._located(chunk), score) for chunk, score in scored if chunk != given][:limit]

    def duplicates(self, limit: int) -> list[Duplicate]:
        """Pairs of chunks with nearly the same code, most similar first."""
        snapshot, chunks = self._snapshot, self._chunks
        lines = snapshot.chunk_end[chunks].astype(np.int64) - snapshot.chunk_start[chunks] + 1
        long = chunks[lines >= _MIN_DUPLICATE_LINES]
        found: list[tuple[float, int, int]] = []
        # In blocks, so that memory stays at one block of scores for any size of project.
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

    def copies(self, new: Mapping[str, Sequence[tuple[int, int]]]) -> list[Duplicate]:
        """The definitions that consist mostly of `new` lines (by file, first and last), each with the most similar
        chunk if that is nearly identical; most similar first."""
        snapshot, chunks = self._snapshot, self._chunks
        lines = snapshot.chunk_end[chunks].astype(np.int64) - snapshot.chunk_start[chunks] + 1
        long = chunks[lines >= _MIN_DUPLICATE_LINES]
        given = np.array([one for one in long.tolist() if self._is_new(one, new)][:_MAX_NEW], np.int64)
        best = np.full(len(given), -1.0)
        partner = np.zeros(len(given), np.int64)
        for start in range(0, len(long) if len(given) else 0, _BLOCK):
            others = long[start : start + _BLOCK]
            scores = self._cosines(self._vectors[given], self._vectors[others])
            scores[given[:, None] == others[None, :]] = -1
            column = scores.argmax(axis=1)
            score = scores[np.arange(len(given)), column]
            better = score > best
            best[better], partner[better] = score[better], others[column[better]]
        found: dict[tuple[int, int], float] = {}
        for one, other, score in zip(given.tolist(), partner.tolist(), best.tolist(), strict=True):
            if score >= DUPLICATE_SIMILARITY and (other, one) not in found:  # two new ones are one pair
                found[one, other] = score
        pairs = [Duplicate(self._located(one), self._located(other), score) for (one, other), score in found.items()]
        return sorted(pairs, key=lambda pair: (-pair.similarity, pair.first.file, pair.first.line))

    def _is_new(self, chunk: int, new: Mapping[str, Sequence[tuple[int, int]]]) -> bool:
        """Whether at least half of a definition's lines are new."""
        snapshot = self._snapshot
        spans = new.get(snapshot.path(int(snapshot.chunk_file[chunk])), ())
        if not spans or snapshot.kind(chunk) not in _DEFINITIONS:
            return False
        first, last = int(snapshot.chunk_start[chunk]), int(snapshot.chunk_end[chunk])
        covered = sum(max(min(last, end) - max(first, start) + 1, 0) for start, end in spans)
        return 2 * covered >= last - first + 1

    def _cosines(self, some: NDArray[np.int8], others: NDArray[np.int8]) -> NDArray[np.float64]:
        """The cosines of `some` vectors, as rows, with `others`, as columns."""
        left: NDArray[Any] = some.astype(self._float)
        right: NDArray[Any] = others.astype(self._float)
        lengths = np.sqrt(np.outer((left * left).sum(axis=1), (right * right).sum(axis=1)).astype(np.float64))
        cosines = (left @ right.T) / np.maximum(lengths, 1)
        found: NDArray[np.float64] = np.minimum(cosines, 1)
        return found

    def _find(self, file: str, line: int) -> int:
        """The chunk at `file`:`line`."""
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
