"""How near every chunk is to a question in the model's space: exact on a small snapshot, in two steps on a large one.

The vectors lie there as signed bytes with a scale each. Up to a limit they are turned into floats once and kept; a
larger snapshot is first ranked by the signs of the components alone (32 bytes a chunk), and only the best are scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.search.snapshot import SearchSnapshot

# Floats of this many chunks of 256 dimensions take 64 MB and are scored in about 5 ms.
_MAX_EXACT = 65_536
# Of a larger snapshot, so many chunks are scored exactly after the first step, and so many tell what is usual.
_SHORTLIST = 2_048
_SAMPLE = 2_048
_EVERY = 16
# What is gone through once, signs or vectors, is taken in blocks that stay in the processor's cache.
_BLOCK = 32_768
_ROWS = 1_024


@dataclass(frozen=True, slots=True)
class Nearness:
    """The cosine of every chunk with a question; of a large snapshot, of the nearest only, and 0 for the others."""

    scores: NDArray[np.float32]
    mean: float
    spread: float


class DenseIndex:
    """The vectors of one snapshot."""

    def __init__(self, snapshot: SearchSnapshot) -> None:
        self._snapshot = snapshot
        self.exact = snapshot.chunks <= _MAX_EXACT
        self._asked = False

    def nearness(self, query: NDArray[np.float32]) -> Nearness:
        """How near every chunk is to the unit vector `query`."""
        scores = np.zeros(self._snapshot.chunks, np.float32)
        if not query.any() or not len(scores):
            return Nearness(scores, 0.0, 1.0)
        if self.exact:
            scores = usual = self._exact(query)
        else:
            shortlist = self._nearest_by_sign(query)
            scores[shortlist] = self.scores_of(shortlist, query)
            usual = self._sample @ query
        return Nearness(scores, float(usual.mean()), float(usual.std()) or 1.0)

    def scores_of(self, chunks: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosines of some chunks, in ascending order, whether or not they are among the nearest."""
        return self._snapshot.vectors(chunks) @ query

    def _exact(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
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
    def _floats(self) -> NDArray[np.float32]:
        snapshot = self._snapshot
        rows = np.empty((snapshot.chunks, snapshot.generation.dim), np.float32)
        for segment, start in zip(snapshot.segments, snapshot.chunk_at, strict=False):
            part = rows[start : start + segment.meta["chunks"]]
            np.multiply(segment.arrays["vectors"], segment.arrays["scales"][:, None], out=part)
        return rows

    @cached_property
    def _sample(self) -> NDArray[np.float32]:
        return self._snapshot.vectors(np.linspace(0, self._snapshot.chunks - 1, _SAMPLE).astype(np.int64))

    @cached_property
    def _signs(self) -> NDArray[np.uint64]:
        """The signs of every vector, 64 to a number: a row for each 64 dimensions."""
        packed = np.concatenate([_pack_signs(segment.arrays["vectors"]) for segment in self._snapshot.segments])
        return np.ascontiguousarray(packed.T)

    def _nearest_by_sign(self, query: NDArray[np.float32]) -> NDArray[np.int64]:
        wanted = _pack_signs(query[None, :])[0]
        # In a byte 256 differences would look like none; what is opposite in everything is then scored for nothing.
        different: NDArray[Any] = np.zeros(self._snapshot.chunks, np.uint8 if len(query) <= 256 else np.uint16)
        differing, counted = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint8)
        for start in range(0, len(different), _BLOCK):
            block = different[start : start + _BLOCK]
            for own, signs in zip(wanted, self._signs[:, start : start + _BLOCK], strict=True):
                np.bitwise_xor(signs, own, out=differing[: len(block)])
                block += np.bitwise_count(differing[: len(block)], out=counted[: len(block)])
        # How near the nearest are is told by every sixteenth.
        at_most = np.cumsum(np.bincount(different[::_EVERY])) * _EVERY
        return np.flatnonzero(different <= np.searchsorted(at_most, _SHORTLIST))


def _pack_signs(vectors: NDArray[np.generic]) -> NDArray[np.uint64]:
    packed = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
