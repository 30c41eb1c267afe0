"""How near every chunk is to a question in the model's space: exact on a small snapshot, in two steps on a large one.

The vectors lie there as signed bytes with a scale each. Up to a limit they are turned into floats once and kept; a
larger snapshot is first ranked by the signs of the components alone (32 bytes a chunk), and only the best are scored.
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
_EVERY = 16
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

    def best(self, count: int, may: Mask | None) -> Places:
        """The nearest chunks of those that may be."""
        if self.places is None:
            return top(self.scores if may is None else self.scores * may, count)
        return self.places[top(self.scores if may is None else self.scores * may[self.places], count)]

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
        self.exact = snapshot.chunks <= _MAX_EXACT
        self._asked = False

    def nearness(self, query: Floats, may: Mask | None = None) -> Nearness:
        """How near the chunks are to the unit vector `query`; at least those that are near and may be."""
        if not query.any() or not self._snapshot.chunks:
            return Nearness(np.zeros(self._snapshot.chunks, np.float32), 0.0, 1.0)
        places = None
        if self.exact:
            scores = usual = self._exact(query)
        else:
            places = self._nearest_by_sign(query, may)
            scores, usual = self.scores_of(places, query), self._sample @ query
        return Nearness(scores, float(usual.mean()), float(usual.std()) or 1.0, places)

    def scores_of(self, chunks: Places, query: Floats) -> Floats:
        """The cosines of some chunks, in ascending order, whether or not they are among the nearest."""
        return self._snapshot.vectors(chunks) @ query

    def _exact(self, query: Floats) -> Floats:
        """The first question is answered block by block; whoever asks again is worth the memory of all floats."""
        if self._asked:
            return self._floats @ query
        self._asked = True
        scores = [np.empty(0, np.float32)]
        for segment in self._snapshot.segments:
            vectors = segment.arrays["vectors"]
            blocks = [vectors[at : at + _ROWS].astype(np.float32) @ query for at in range(0, len(vectors), _ROWS)]
            scores.append(np.concatenate([np.empty(0, np.float32), *blocks]) * segment.arrays["scales"])
        return np.concatenate(scores)

    @cached_property
    def _floats(self) -> Floats:
        snapshot = self._snapshot
        rows = np.empty((snapshot.chunks, snapshot.generation.dim), np.float32)
        for segment, start in zip(snapshot.segments, snapshot.chunk_at, strict=False):
            part = rows[start : start + segment.meta["chunks"]]
            np.multiply(segment.arrays["vectors"], segment.arrays["scales"][:, None], out=part)
        return rows

    @cached_property
    def _sample(self) -> Floats:
        return self._snapshot.vectors(np.linspace(0, self._snapshot.chunks - 1, _SAMPLE).astype(np.int64))

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
        # How near the nearest are is told by every sixteenth.
        at_most = np.cumsum(np.bincount(different[::_EVERY])) * _EVERY
        return np.flatnonzero(different <= min(int(np.searchsorted(at_most, _SHORTLIST)), never - 1))


def _pack_signs(vectors: NDArray[np.generic]) -> NDArray[np.uint64]:
    packed = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
