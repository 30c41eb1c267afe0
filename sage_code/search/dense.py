"""How near every chunk is to a question in the model's space: exact on a small snapshot, in two steps on a large one.

The vectors lie there as signed bytes with a scale each. Up to a limit they are turned into floats once and kept; a
larger snapshot is first ranked by the signs of the components alone (32 bytes a chunk), and only the best are scored.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sage_code.search.snapshot import SearchSnapshot

# Floats of this many chunks of 256 dimensions take 64 MB and are scored in about 5 ms.
_MAX_EXACT = 65_536
# Of a large snapshot, so many chunks are scored exactly after the first step.
_SHORTLIST = 4_096
# What a chunk outside the shortlist is taken to score: nothing is known, so nothing is claimed.
_UNKNOWN = 0.0


class DenseIndex:
    """The vectors of one snapshot."""

    def __init__(self, snapshot: SearchSnapshot) -> None:
        self._snapshot = snapshot

    def scores(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of every chunk with the unit vector `query`."""
        if not query.any():
            return np.zeros(self._snapshot.chunks, np.float32)
        if self._snapshot.chunks <= _MAX_EXACT:
            return self._floats @ query
        shortlist = self._nearest_by_sign(query)
        scores = np.full(self._snapshot.chunks, _UNKNOWN, np.float32)
        scores[shortlist] = self._rows(shortlist) @ query
        return scores

    @cached_property
    def _floats(self) -> NDArray[np.float32]:
        snapshot = self._snapshot
        rows = np.empty((snapshot.chunks, snapshot.generation.dim), np.float32)
        for segment, start in zip(snapshot.segments, snapshot.chunk_at, strict=False):
            part = rows[start : start + segment.meta["chunks"]]
            np.multiply(segment.arrays["vectors"], segment.arrays["scales"][:, None], out=part)
        return rows

    @cached_property
    def _signs(self) -> NDArray[np.uint64]:
        """The signs of every vector, 64 to a number."""
        return np.concatenate([_pack_signs(segment.arrays["vectors"]) for segment in self._snapshot.segments])

    def _nearest_by_sign(self, query: NDArray[np.float32]) -> NDArray[np.int64]:
        wanted = _pack_signs(query[None, :])
        different = np.bitwise_count(self._signs ^ wanted).sum(axis=1, dtype=np.uint16)
        return np.argpartition(different, _SHORTLIST)[:_SHORTLIST]

    def _rows(self, chunks: NDArray[np.int64]) -> NDArray[np.float32]:
        rows = np.empty((len(chunks), self._snapshot.generation.dim), np.float32)
        for segment, start in zip(self._snapshot.segments, self._snapshot.chunk_at, strict=False):
            here = np.flatnonzero((chunks >= start) & (chunks < start + segment.meta["chunks"]))
            own = chunks[here] - start
            rows[here] = segment.arrays["vectors"][own] * segment.arrays["scales"][own][:, None]
        return rows


def _pack_signs(vectors: NDArray[np.generic]) -> NDArray[np.uint64]:
    packed = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)
