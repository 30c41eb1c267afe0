"""Compares the words of a query with those of names and paths by their meaning: `retry` is near `backoff`.

The vectors of single words come from the bundled model, whatever model the index was made with. A name or a path has a
few words, so they are compared one by one; the body of a chunk has one vector for all of its words (`dense.py`).

Similarities are exact: vectors are rounded to whole numbers that are small enough for exact sums, so that a name gets
the same number whatever else is compared with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sage_code.search.top import Floats

if TYPE_CHECKING:
    from sage_code.embed.bundled import BundledEmbedder

# Components of unit vectors are counted in 127ths: 127 * 127 * 256 is below 2**24, up to which float32 is exact.
_PARTS = 127
_UNIT = 1 / (_PARTS * _PARTS)
# Words of a query that are compared: those that count most.
_MAX_WORDS = 24
# Words with vectors that are kept (16 MB); then they are looked up again.
_KEPT = 65_536
# Words without a common meaning have a similarity of about this much.
_UNRELATED = 0.1


class SoftMatch(NamedTuple):
    """How near some names are to the words of a query."""

    cover: Floats  # the share of the query that is near to a word of the name
    share: Floats  # the share of the name that is near to a word of the query


class WordMeanings:
    """The vectors of words, in whole numbers; words and names that were compared once are kept."""

    def __init__(self, model: BundledEmbedder) -> None:
        self._model = model
        self._row_of_word: dict[str, int] = {}
        self._rows_of_name: dict[tuple[str, ...], tuple[int, ...]] = {}
        self._vectors = np.zeros((0, model.dim), np.int8)

    def match(self, query: Mapping[str, float], names: Sequence[tuple[str, ...]]) -> SoftMatch:
        """How near each name, given as its words, is to the words of a query, given with their shares."""
        asked = tuple(sorted(query, key=lambda word: (-query[word], word))[:_MAX_WORDS])
        cover, share = np.zeros(len(names), np.float32), np.zeros(len(names), np.float32)
        wanted, *rows = self._rows([asked, *names])
        flat = np.array(list(chain.from_iterable(rows)), np.int64)
        if not len(flat) or not asked:
            return SoftMatch(cover, share)
        counts = np.array(list(map(len, rows)), np.int64)
        filled = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[filled]
        is_used = np.zeros(len(self._vectors), dtype=bool)
        is_used[flat] = True
        column = np.cumsum(is_used) - 1
        near = self._vectors[list(wanted)].astype(np.float32) @ self._vectors[is_used].astype(np.float32).T
        near = np.maximum(near * np.float32(_UNIT) - np.float32(_UNRELATED), 0) * np.float32(1 / (1 - _UNRELATED))
        at = column[flat]
        for word, row in zip(asked, near, strict=True):  # one by one: the order of a sum must not depend on the others
            cover[filled] += np.float32(query[word]) * np.maximum.reduceat(row[at], starts)
        share[filled] = np.add.reduceat(near.max(axis=0)[at], starts) / counts[filled]
        return SoftMatch(cover, share)

    def _rows(self, names: Sequence[tuple[str, ...]]) -> list[tuple[int, ...]]:
        """The rows of the words of names in the array of vectors."""
        known = self._rows_of_name
        if new := [name for name in dict.fromkeys(names) if name not in known]:
            if len(self._row_of_word) > _KEPT:
                self._row_of_word.clear()
                known.clear()
                self._vectors, new = self._vectors[:0], list(dict.fromkeys(names))
            row_of = self._row_of_word
            words = [word for word in dict.fromkeys(chain.from_iterable(new)) if word not in row_of]
            row_of.update(zip(words, range(len(row_of), len(row_of) + len(words)), strict=True))
            made = np.rint(self._model.word_vectors(words) * np.float32(_PARTS)).astype(np.int8)
            self._vectors = np.concatenate([self._vectors, made])
            known.update({name: tuple([row_of[word] for word in name]) for name in new})
        return [known[name] for name in names]
