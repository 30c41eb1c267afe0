"""Scores chunks by meaning: the cosine of their vectors with the vector of the query.

Vectors are stored as signed bytes with a scale each. In a small snapshot all are compared; they are turned into floats
once and kept. A large snapshot is first ranked by the signs of the components alone (32 bytes a chunk), and only the
best chunks are compared.

A chunk gets the same score wherever it is in the snapshot. Sums of floats depend on their order, and the order in a
matrix product depends on the row, so the query is rounded to whole numbers that are small enough for exact sums.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Mask, Rows, top

# Floats of this many chunks of 256 dimensions take 64 MB and are scored in about 5 ms.
_MAX_EXACT = 65_536
# Of a larger snapshot, chunks that are compared after the first step, and chunks that tell the usual cosine.
_SHORTLIST = 2_048
_SAMPLE = 2_048
_EVERY = np.uint64(16)
# Whole numbers up to this are exact in a float of 32 bits.
_EXACT = 1 << 24
# Cosines in whole numbers, to be added up exactly: the squares of so many parts, of 8 million chunks, fit into 63 bits.
_PARTS = 1 << 20
# Signs and vectors are read in blocks that fit into the processor's cache.
_BLOCK = 32_768
_ROWS = 1_024


class Nearness(NamedTuple):
    """The cosines of chunks with a query, and what is usual in the project.

    A small snapshot has the scores of all chunks, a large one those of the nearest, `chunks`, in ascending order.
    """

    scores: Floats
    mean: float
    spread: float
    chunks: Rows | None = None

    def best(self, snapshot: SearchSnapshot, count: int, allowed: Mask | None) -> Rows:
        """The nearest of the allowed chunks."""
        chunks = self.chunks
        if chunks is None:
            return top(self.scores if allowed is None else self.scores * allowed, count, snapshot.chunk_order)
        scores = self.scores if allowed is None else self.scores * allowed[chunks]
        return chunks[top(scores, count, lambda rows: snapshot.chunk_order(chunks[rows]))]

    def of(self, chunks: Rows) -> Floats:
        """The cosines of `chunks`, in ascending order; 0 for those that are not among the nearest."""
        if self.chunks is None:
            return self.scores[chunks]
        scores = np.zeros(len(chunks), np.float32)
        _, own, known = np.intersect1d(chunks, self.chunks, assume_unique=True, return_indices=True)
        scores[own] = self.scores[known]
        return scores


class DenseIndex:
    """The vectors of one snapshot."""

    def __init__(self, snapshot: SearchSnapshot) -> None:
        self._snapshot = snapshot
        self.exact = snapshot.generation.chunks <= _MAX_EXACT
        self._asked = False

    def nearness(self, query: Floats, allowed: Mask | None = None) -> Nearness:
        """The cosines of chunks with the unit vector `query`: of all, or of the nearest that are allowed."""
        if not query.any() or not self._snapshot.chunks:
            return Nearness(np.zeros(self._snapshot.chunks, np.float32), 0.0, 1.0)
        chunks = None
        if self.exact:
            scores = self._exact(query)
            usual = scores if self._snapshot.all_alive else scores[self._snapshot.chunk_alive]
        else:
            chunks = self._nearest_by_sign(query, allowed)
            scores, usual = self.scores_of(chunks, query), self.scores_of(self._sample, query)
        return Nearness(scores, *mean_and_spread(usual), chunks)

    def scores_of(self, chunks: Rows, query: Floats) -> Floats:
        """The cosines of some chunks, which are in ascending order."""
        whole, unit = _whole(query)
        vectors, scales = self._snapshot.vectors(chunks)
        return (vectors.astype(np.float32) @ whole) * (scales * unit)

    def _exact(self, query: Floats) -> Floats:
        """The cosines of all chunks: block by block for the first query, then with all vectors kept as floats."""
        whole, unit = _whole(query)
        if self._asked:
            return (self._floats @ whole) * (self._scales * unit)
        self._asked = True
        scores = [np.empty(0, np.float32)]
        for segment in self._snapshot.segments:
            vectors = segment.arrays["vectors"]
            scores += [vectors[at : at + _ROWS].astype(np.float32) @ whole for at in range(0, len(vectors), _ROWS)]
        return np.concatenate(scores) * (self._scales * unit)

    @cached_property
    def _floats(self) -> Floats:
        return np.concatenate([segment.arrays["vectors"].astype(np.float32) for segment in self._snapshot.segments])

    @cached_property
    def _scales(self) -> Floats:
        return np.concatenate([segment.arrays["scales"] for segment in self._snapshot.segments])

    @cached_property
    def _order(self) -> NDArray[np.uint64]:
        return self._snapshot.chunk_order(np.arange(self._snapshot.chunks))

    @cached_property
    def _living(self) -> Rows:
        return np.flatnonzero(self._snapshot.chunk_alive)

    @cached_property
    def _sample(self) -> Rows:
        """Chunks that tell the usual cosine; the same files give the same sample."""
        order = self._order[self._living]
        return np.sort(self._living[np.argpartition(order, min(_SAMPLE, len(order)) - 1)[:_SAMPLE]])

    @cached_property
    def _some(self) -> Rows:
        """About one chunk in sixteen; the same files give the same chunks."""
        chunks: Rows = self._living[self._order[self._living] % _EVERY == 0]
        return chunks

    @cached_property
    def _signs(self) -> NDArray[np.uint64]:
        """The signs of all vectors, 64 in a number; each row has 64 dimensions of every vector."""
        packed = np.concatenate([_pack_signs(segment.arrays["vectors"]) for segment in self._snapshot.segments])
        return np.ascontiguousarray(packed.T)

    def _nearest_by_sign(self, query: Floats, allowed: Mask | None) -> Rows:
        """About `_SHORTLIST` allowed chunks whose vectors differ from the query in the fewest signs."""
        wanted = _pack_signs(query[None, :])[0]
        # A byte counts 256 differences as 0; a chunk that differs in every sign is then compared in vain.
        counter = np.uint8 if len(query) <= 256 else np.uint16
        different: NDArray[Any] = np.zeros(self._snapshot.chunks, counter)
        differing, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, len(different), _BLOCK):
            block = different[start : start + _BLOCK]
            for own, signs in zip(wanted, self._signs[:, start : start + _BLOCK], strict=True):
                np.bitwise_xor(signs, own, out=differing[: len(block)])
                block += np.bitwise_count(differing[: len(block)], out=counted[: len(block)])
        never = int(np.iinfo(counter).max)
        if allowed is not None:
            different[~allowed] = never
        # One chunk in sixteen tells how many differences the shortlist has.
        at_most = np.cumsum(np.bincount(different[self._some], minlength=1)) * int(_EVERY)
        return np.flatnonzero(different <= min(int(np.searchsorted(at_most, _SHORTLIST)), never - 1))


def _whole(query: Floats) -> tuple[Floats, np.float32]:
    """The unit vector `query` in whole numbers, and the unit that one of them counts.

    No component of a stored vector is beyond 127, so no sum of products exceeds 127 times the root of the dimension
    times the length of the whole numbers. The number of parts is a power of two: dividing by it loses nothing.
    """
    most = _EXACT / (127 * len(query) ** 0.5) - len(query) ** 0.5
    parts = 2.0 ** np.floor(np.log2(max(most, 1.0)))
    return np.rint(query * np.float32(parts)), np.float32(1 / parts)


def mean_and_spread(scores: Floats) -> tuple[float, float]:
    """Mean and standard deviation, added up in whole numbers, so that the order does not matter."""
    if not len(scores):
        return 0.0, 1.0
    parts = np.rint(scores * np.float32(_PARTS)).astype(np.int64)
    mean = int(parts.sum()) / len(parts)
    spread = max(int((parts * parts).sum()) / len(parts) - mean * mean, 0.0) ** 0.5
    return mean / _PARTS, spread / _PARTS or 1.0


def _pack_signs(vectors: NDArray[np.generic]) -> NDArray[np.uint64]:
    packed = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
