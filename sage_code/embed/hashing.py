"""An embedder without weights: the parts of identifiers and their trigrams, hashed into a fixed number of dimensions.

It needs no model file and gives the same vector on every machine, but compares spelling, not meaning. For tests, and
for an installation without the bundled model.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xxhash
from numpy.typing import NDArray

from sage_code.text.lexemes import Lexicon

DIM = 256
# The weight of a word's trigrams beside the whole word: they make `retry` and `retries` similar.
_TRIGRAM_WEIGHT = 0.35
# Longer texts are cut; chunks are far shorter.
_MAX_CHARS = 16_384
# The table of word vectors is emptied at this many rows (32 MB), which bounds its memory.
_MAX_TABLE_ROWS = 1 << 15
# Rows allocated: those, and the new words of one more group of texts. The system gives memory only to rows that are
# written, while growing would need the old and the new table at once.
_TABLE_ROWS = _MAX_TABLE_ROWS + (1 << 14)
# Texts counted together, before the table gets rows for their new words.
_GROUP = 256
_TINY = 1e-12
_MIX = np.uint64(0x9E3779B97F4A7C15)


class HashingEmbedder:
    """Deterministic feature hashing behind the `Embedder` protocol."""

    name = "hashing"
    dim = DIM
    max_tokens = 2048

    def __init__(self) -> None:
        self._clear()

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector for each text, in order; a zero vector for a text without words."""
        vectors = np.zeros((len(texts), DIM), dtype=np.float32)
        for start in range(0, len(texts), _GROUP):
            self._pool([text[:_MAX_CHARS] for text in texts[start : start + _GROUP]], vectors[start : start + _GROUP])
        return vectors

    embed_query = embed_code

    def _clear(self) -> None:
        self._lexicon = Lexicon()
        self._rows = 0
        self._table = np.zeros((_TABLE_ROWS, DIM), dtype=np.float32)

    def _pool(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Write the vector of each text: the weighted sum of its words' vectors, scaled to unit length."""
        if self._rows > _MAX_TABLE_ROWS:
            self._clear()
        numbers, counts, lengths = self._lexicon.count(texts)
        if not numbers:
            return
        self._grow()
        ids = np.array(numbers)
        # The square root: a word that occurs ten times is not ten times as important.
        weights = np.sqrt(np.array(counts, dtype=np.float32))
        end = 0
        for row, length in enumerate(lengths):
            start, end = end, end + length
            if length:
                # A product a text is ten times faster than one reduceat over all of them.
                total = np.dot(weights[start:end], self._table[ids[start:end]])
                vectors[row] = total / max(float(np.linalg.norm(total)), _TINY)

    def _grow(self) -> None:
        """Add rows for the new words of the lexicon."""
        words = self._lexicon.since(self._rows)
        if not words:
            return
        needed = self._rows + len(words)
        if needed > len(self._table):
            grown = np.zeros((max(needed, 2 * len(self._table)), DIM), dtype=np.float32)
            grown[: self._rows] = self._table[: self._rows]
            self._table = grown
        _hash_words(words, self._table[self._rows : needed])
        self._rows = needed


def _hash_words(words: Sequence[str], rows: NDArray[np.float32]) -> None:
    """Write the vector of each word: its own hash, and those of its trigrams of bytes, all words at once."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    whole = np.array([xxhash.xxh3_64_intdigest(word) for word in encoded], dtype=np.uint64)
    text = np.frombuffer(b"".join(b"^%s$" % word for word in encoded), dtype=np.uint8).astype(np.uint64)
    owner = np.repeat(np.arange(len(words)), [len(word) + 2 for word in encoded])
    inside = owner[:-2] == owner[2:]  # without trigrams that span two words
    trigrams = ((text[:-2] << np.uint64(16)) | (text[1:-1] << np.uint64(8)) | text[2:])[inside]
    # Fibonacci hashing: the high bits of the product are well mixed, and the same on every machine.
    hashed = trigrams * _MIX
    hashed ^= hashed >> np.uint64(29)
    _scatter(rows, np.arange(len(words)), whole, 1.0)
    _scatter(rows, owner[:-2][inside], hashed * _MIX, _TRIGRAM_WEIGHT)


def _scatter(rows: NDArray[np.float32], owner: NDArray[np.int64], hashes: NDArray[np.uint64], weight: float) -> None:
    columns = (hashes >> np.uint64(40)) % np.uint64(DIM)
    signs = np.where(hashes >> np.uint64(63), np.float32(weight), np.float32(-weight))
    np.add.at(rows, (owner, columns.astype(np.int64)), signs)
