"""The bundled model: a table of word vectors, trained on documentation and code (`training/`), run with NumPy alone.

A text's vector is the weighted sum of its words' rows. The weight of a word is the logarithm of its count, times one of
three learned weights: for the first line of a stored text, which has the chunk's name, for its other lines, and for
queries.

The same text gives the same vector to the last bit on every machine, in every batch and thread: rows and weights are
whole numbers, scaled so that no sum leaves the range in which float32 is exact. So the order in which a BLAS adds does
not matter.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sage_code.chunk import words as runs
from sage_code.chunk.word_arrays import NumberLists, WordArrays, counted
from sage_code.embed.packed import MODEL_FOLDER, ROWS, VOCABULARY, WEIGHTS, packed_facts
from sage_code.embed.words import Vocabulary
from sage_code.errors import ModelError

# The rows of the array of weights.
LEAD, BODY, QUERY = range(3)
# The field of each run of a chunk's words: the first line is the lead's, or the text's.
_NO_FIELD = -1
_FIELDS = np.full(runs.RUNS, _NO_FIELD)
_FIELDS[[runs.LEAD, runs.FIRST_LINE]] = LEAD
_FIELDS[[runs.MORE_LEAD, runs.TEXT]] = BODY
# Longer texts are cut; chunks are far shorter.
MAX_CHARS = 16_384
# A word that occurs tf times weighs 1 + ln(tf), in 64ths; more than 255 times count as 255.
MAX_TF = 255
_TF_UNIT = 64
# Texts embedded together.
_GROUP = 256
# The sum of the whole-number weights of a text, give or take half a unit of rounding an entry (at most one entry a
# character). Times 127, the largest number in a row, it stays below 2**24, up to which float32 is exact.
_BUDGET = 120_000


class BundledEmbedder:
    """The trained table behind the `Embedder` protocol. Threads may share one."""

    max_tokens = 2048

    def __init__(self, folder: str = MODEL_FOLDER) -> None:
        facts = packed_facts(folder)
        if facts is None:
            raise ModelError(f"there is no model in {folder}", "`python -m training.pack` writes one")
        self.name, self.dim = facts.name, facts.dim
        with open(os.path.join(folder, VOCABULARY), encoding="utf-8") as file:
            self._vocabulary = Vocabulary(file.read(), facts.buckets)
        self._rows = np.asarray(np.load(os.path.join(folder, ROWS), mmap_mode="r", allow_pickle=False))
        self._weights = np.load(os.path.join(folder, WEIGHTS), allow_pickle=False).astype(np.int64)
        expected = (self._vocabulary.rows, self.dim)
        if self._rows.shape != expected or self._rows.dtype != np.int8 or self._weights.shape != (3, expected[0]):
            raise ModelError(f"the model's files in {folder} do not belong together", "install Sage again")
        logarithms = [0.0, *(1 + math.log(tf) for tf in range(1, MAX_TF + 1))]
        self._of_tf = np.array([round(_TF_UNIT * weight) for weight in logarithms], dtype=np.int64)

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector for each text, in order; a zero vector for a text without words."""
        return self._embed(texts, (LEAD, BODY))

    def embed_words(self, words: WordArrays, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same as `embed_code` of the chunks' embedded `texts`, whose words are split and numbered already."""
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        rows_of = NumberLists(self._vocabulary.look_up_all(words.words))
        ends = np.concatenate(([0], np.cumsum(words.sizes.sum(axis=1)))).tolist()
        for start in range(0, len(texts), _GROUP):
            sizes, group = words.sizes[start : start + _GROUP], vectors[start : start + _GROUP]
            self._pool_words(rows_of, words.numbers[ends[start] : ends[start + len(group)]], sizes, group)
            _scale_to_unit(group)
        long = [place for place, text in enumerate(texts) if len(text) > MAX_CHARS]
        if long:  # the words of the whole text are numbered, but the model reads only its beginning
            vectors[long] = self.embed_code([texts[place] for place in long])
        return vectors

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same for queries."""
        return self._embed(texts, (QUERY,))

    def word_vectors(self, words: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector for each single word, in order; a zero vector for a word that the model does not know."""
        found = self._vocabulary.look_up_all(words)
        ids = np.array([number for numbers in found for number in numbers], np.int64)
        counts = np.array(list(map(len, found)), np.int64)
        vectors = np.zeros((len(words), self.dim), np.float32)
        known = np.flatnonzero(counts)
        if len(known):
            # Sums of whole numbers, which float64 adds exactly in any order.
            weighted = self._rows.take(ids, axis=0) * self._weights[BODY, ids].astype(np.float64)[:, None]
            total = (
                np.add.reduceat(weighted, (np.cumsum(counts) - counts)[known]) if len(ids) > len(known) else weighted
            )
            lengths = np.sqrt(np.einsum("ij,ij->i", total, total))
            vectors[known] = total / np.maximum(lengths, 1)[:, None]
        return vectors

    def word_weights(self, words: Sequence[str]) -> NDArray[np.float32]:
        """How much each word counts in the vector of a query."""
        weights = self._weights[QUERY]
        return np.array([weights[list(rows)].sum() for rows in self._vocabulary.look_up_all(words)], np.float32)

    def _embed(self, texts: Sequence[str], fields: tuple[int, ...]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), _GROUP):
            group = vectors[start : start + _GROUP]
            self._pool(texts[start : start + _GROUP], fields, group)
            _scale_to_unit(group)
        return vectors

    def _pool(self, texts: Sequence[str], fields: tuple[int, ...], sums: NDArray[np.float32]) -> None:
        """Write the sum of each text's rows, in whole numbers."""
        count = self._vocabulary.count
        numbers: list[int] = []
        counts: list[int] = []
        sizes: list[int] = []  # entries of each text's fields, one after another
        for text in texts:
            parts = text[:MAX_CHARS].split("\n", 1) if len(fields) > 1 else [text[:MAX_CHARS]]
            parts += [""] * (len(fields) - len(parts))
            for part in parts:
                if not part:  # most messages have one line
                    sizes.append(0)
                    continue
                found = count(part)
                numbers += found.keys()
                counts += found.values()
                sizes.append(len(found))
        field = np.repeat(np.tile(np.array(fields), len(texts)), sizes)
        lengths = np.reshape(sizes, (len(texts), len(fields))).sum(axis=1)
        self._sum(np.array(numbers, dtype=np.int64), field, np.array(counts, dtype=np.int64), lengths, sums)

    def _pool_words(
        self,
        rows_of: NumberLists,
        numbers: NDArray[np.int64],
        sizes: NDArray[np.int64],
        sums: NDArray[np.float32],
    ) -> None:
        """The same for texts as numbers of words; `rows_of` has the rows of each word."""
        # A text, a field and a row in one number, so that sorting counts them. Runs without a field are left out.
        texts = np.arange(len(sizes), dtype=np.int64)[:, None]
        field_of_run = np.where(_FIELDS == _NO_FIELD, _NO_FIELD, texts * 2 + _FIELDS)
        key_of_word = np.repeat(field_of_run.ravel(), sizes.ravel())
        known = key_of_word != _NO_FIELD
        rows, taken = rows_of.of(numbers[known])
        keys, counts = counted(np.repeat(key_of_word[known], taken) * len(self._rows) + rows)
        places, ids = np.divmod(keys, len(self._rows))
        self._sum(ids, places & 1, counts, np.bincount(places >> 1, minlength=len(sizes)), sums)

    def _sum(
        self,
        ids: NDArray[np.int64],
        field: NDArray[np.int64],
        counts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        sums: NDArray[np.float32],
    ) -> None:
        """Write the weighted sum of rows of each text; `lengths` says how many entries each text has."""
        raw = self._weights[field, ids] * self._of_tf[np.minimum(counts, MAX_TF)]
        shares = _shares(raw, lengths)
        end = 0
        for row, length in enumerate(lengths.tolist()):
            start, end = end, end + length
            # A product a text is ten times faster than one reduceat over all of them.
            np.dot(shares[start:end], self._rows.take(ids[start:end], axis=0).astype(np.float32), out=sums[row])


def _shares(raw: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """The weights, scaled so that those of each text add up to the budget, give or take the rounding."""
    ends = np.concatenate(([0], np.cumsum(raw)))[np.concatenate(([0], np.cumsum(lengths)))]
    totals = np.repeat(np.maximum(np.diff(ends), 1), lengths)
    shares: NDArray[np.int64] = (raw * _BUDGET + totals // 2) // totals
    return shares.astype(np.float32)


def _scale_to_unit(sums: NDArray[np.float32]) -> None:
    """Divide rows of whole numbers by their lengths; only the division rounds."""
    whole = sums.astype(np.int64)
    lengths = np.sqrt((whole * whole).sum(axis=1).astype(np.float64))
    lengths[lengths == 0] = 1
    sums[:] = whole / lengths[:, None]
