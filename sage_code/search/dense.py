"""How near every chunk is to a question in the model's space: exact on a small snapshot, in two steps on a large one.

The vectors lie there as signed bytes with a scale each. Up to a limit they are turned into floats once and kept; a
larger snapshot is first ranked by the signs of the components alone (32 bytes a chunk), and only the best are scored.

A chunk gets the same number wherever it is in the snapshot. Sums of floats depend on their order, which a matrix
product chooses by position, so the question is rounded to whole numbers, small enough for every sum to be exact.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Mask, Places, top

# Floats of this many chunks of 256 dimensions take 64 MB and are scored in about 5 ms.
_MAX_EXACT = 65_536
# Of a larger snapshot, so many chunks are scored exactly after the first step, and so many tell what is usual.
_SHORTLIST = 2_048
_SAMPLE = 2_048
_EVERY = np.uint64(16)
# Whole numbers up to this are exact in a float of 32 bits.
_EXACT = 1 << 24
# Cosines in whole numbers, to be added up exactly: the squares of so many parts, of 8 million chunks, fit into 63 bits.
_PARTS = 1 << 20
# What is gone through once, signs or vectors, is taken in blocks that stay in the processor's cache.
_BLOCK = 32_768
_ROWS = 1_024


class Nearness(NamedTuple):
    """The cosines of chunks with a question, and what is usual in the project.

    Of a small snapshot they are those of all chunks, of a large one those at `places`, the nearest, in order.
    """

    scores: Floats
    mean: float
    spread: float
    places: Places | None = None

    def best(self, snapshot: SearchSnapshot, count: int, may: Mask | None) -> Places:
        """The nearest chunks of those that may be."""
        places = self.places
        if places is None:
            return top(self.scores if may is None else self.scores * may, count, snapshot.chunk_order)
        scores = self.scores if may is None else self.scores * may[places]
        return places[top(scores, count, lambda own: snapshot.chunk_order(places[own]))]

    def of(self, chunks: Places) -> Floats:
        """The cosines of `chunks`, in ascending order; 0 for those that are not among the nearest."""
        if self.places is None:
            return self.scores[chunks]
        scores = np.zeros(len(chunks), np.float32)
        _, own, known = np.intersect1d(chunks, self.places, assume_unique=True, return_indices=True)
        scores[own] = self.scores[known]
        return scores


class DenseIndex:
    """The vectors of one snapshot."""

    def __init__(self, snapshot: SearchSnapshot) -> None:
        self._snapshot = snapshot
        self.exact = snapshot.generation.chunks <= _MAX_EXACT
        self._asked = False

    def nearness(self, query: Floats, may: Mask | None = None) -> Nearness:
        """How near the chunks are to the unit vector `query`; at least those that are near and may be."""
        if not query.any() or not self._snapshot.chunks:
            return Nearness(np.zeros(self._snapshot.chunks, np.float32), 0.0, 1.0)
        places = None
        if self.exact:
            scores = self._exact(query)
            usual = scores if self._snapshot.all_alive else scores[self._snapshot.chunk_alive]
        else:
            places = self._nearest_by_sign(query, may)
            scores, usual = self.scores_of(places, query), self.scores_of(self._sample, query)
        return Nearness(scores, *_mean_and_spread(usual), places)

    def scores_of(self, chunks: Places, query: Floats) -> Floats:
        """The cosines of some chunks, in ascending order, whether or not they are among the nearest."""
        whole, unit = _whole(query)
        vectors, scales = self._snapshot.vectors(chunks)
        return (vectors.astype(np.float32) @ whole) * (scales * unit)

    def _exact(self, query: Floats) -> Floats:
        """The first question is answered block by block; whoever asks again is worth the memory of all floats."""
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
    def _living(self) -> Places:
        return np.flatnonzero(self._snapshot.chunk_alive)

    @cached_property
    def _sample(self) -> Places:
        """Chunks that tell what is usual, the same ones wherever they are."""
        order = self._order[self._living]
        return np.sort(self._living[np.argpartition(order, min(_SAMPLE, len(order)) - 1)[:_SAMPLE]])

    @cached_property
    def _some(self) -> Places:
        """About one chunk in sixteen, the same ones wherever they are."""
        places: Places = self._living[self._order[self._living] % _EVERY == 0]
        return places

    @cached_property
    def _signs(self) -> NDArray[np.uint64]:
        """The signs of every vector, 64 to a number: a row for each 64 dimensions."""
        packed = np.concatenate([_pack_signs(segment.arrays["vectors"]) for segment in self._snapshot.segments])
        return np.ascontiguousarray(packed.T)

    def _nearest_by_sign(self, query: Floats, may: Mask | None) -> Places:
        wanted = _pack_signs(query[None, :])[0]
        # In a byte 256 differences would look like none; what is opposite in everything is then scored for nothing.
        counter = np.uint8 if len(query) <= 256 else np.uint16
        different: NDArray[Any] = np.zeros(self._snapshot.chunks, counter)
        differing, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, len(different), _BLOCK):
            block = different[start : start + _BLOCK]
            for own, signs in zip(wanted, self._signs[:, start : start + _BLOCK], strict=True):
                np.bitwise_xor(signs, own, out=differing[: len(block)])
                block += np.bitwise_count(differing[: len(block)], out=counted[: len(block)])
        never = int(np.iinfo(counter).max)
        if may is not None:
            different[~may] = never
        # How near the nearest are is told by one in sixteen.
        at_most = np.cumsum(np.bincount(different[self._some], minlength=1)) * int(_EVERY)
        return np.flatnonzero(different <= min(int(np.searchsorted(at_most, _SHORTLIST)), never - 1))


def _whole(query: Floats) -> tuple[Floats, np.float32]:
    """The unit vector `query` in whole numbers, and what one of them is worth.

    No component of a stored vector is beyond 127, so no sum of products exceeds 127 times the root of the dimension
    times the length of the whole numbers; a power of two below that bound loses nothing when it is divided by.
    """
    most = _EXACT / (127 * len(query) ** 0.5) - len(query) ** 0.5
    parts = 2.0 ** np.floor(np.log2(max(most, 1.0)))
    return np.rint(query * np.float32(parts)), np.float32(1 / parts)


def _mean_and_spread(scores: Floats) -> tuple[float, float]:
    """Mean and standard deviation, in whole numbers until the end: they do not depend on the order."""
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
