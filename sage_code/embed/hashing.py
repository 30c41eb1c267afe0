"""An embedder without weights: identifier-split words and character trigrams, hashed into a fixed space.

It needs no model file, gives the same vector on every machine, and knows nothing of meaning: the tests' embedder
and the last resort of everybody else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from sage_code.lexemes import lexemes

DIM = 256
# A word counts once as a whole and once, thinner, by its trigrams, so that `retry` and `retries` meet.
_TRIGRAM_WEIGHT = 0.35
# Words after this many add nothing but time; the chunker's pieces are far shorter.
_MAX_TOKENS = 2048
# The table of word vectors is dropped when it has grown to this many rows (64 MB): memory stays bounded on any input.
_MAX_TABLE_ROWS = 1 << 16
# Texts pooled in one go; the gathered rows of a group take about 30 MB.
_GROUP = 192


class HashingEmbedder:
    """Deterministic feature hashing behind the `Embedder` protocol."""

    name = "hashing"
    dim = DIM
    max_tokens = _MAX_TOKENS

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._table = np.zeros((1024, DIM), dtype=np.float32)

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector a text, in order; a text without words gives a zero vector."""
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for start in range(0, len(texts), _GROUP):
            group = texts[start : start + _GROUP]
            vectors[start : start + len(group)] = self._pool(group)
        return vectors

    embed_query = embed_code

    def _pool(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(self._rows) > _MAX_TABLE_ROWS:
            self._rows.clear()
        rows = [self._row_ids(text) for text in texts]
        lengths = np.fromiter((len(ids) for ids in rows), dtype=np.int64, count=len(rows))
        pooled = np.zeros((len(texts), DIM), dtype=np.float32)
        if not lengths.any():
            return pooled
        flat = np.fromiter((i for ids in rows for i in ids), dtype=np.int64, count=int(lengths.sum()))
        owner = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
        # A word that stands ten times in a text is not ten times as telling: the root of its count weighs.
        pairs, counts = np.unique(owner * len(self._rows) + flat, return_counts=True)
        owner, flat = np.divmod(pairs, len(self._rows))
        weighted = self._table[flat] * np.sqrt(counts, dtype=np.float32)[:, None]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        pooled[owner[starts]] = np.add.reduceat(weighted, starts, axis=0)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.divide(pooled, norms, out=pooled, where=norms > 0)

    def _row_ids(self, text: str) -> list[int]:
        rows = self._rows
        found = []
        for word in lexemes(text)[:_MAX_TOKENS]:
            row = rows.get(word)
            found.append(self._add(word) if row is None else row)
        return found

    def _add(self, word: str) -> int:
        row = len(self._rows)
        if row == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._rows[word] = row
        vector = self._table[row]
        vector[:] = 0
        _hash_into(vector, word, 1.0)
        padded = f"^{word}$"
        for start in range(len(padded) - 2):
            _hash_into(vector, padded[start : start + 3], _TRIGRAM_WEIGHT)
        return row


def _hash_into(vector: NDArray[np.float32], feature: str, weight: float) -> None:
    digest = xxhash.xxh3_64_intdigest(feature.encode("utf-8", "surrogatepass"))
    vector[digest % DIM] += weight if digest >> 63 else -weight
