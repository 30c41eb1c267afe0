"""Compares the words of a query with those of names, paths and chunks by their meaning: `retry` is near `backoff`.

The vectors of single words come from the bundled model, whatever model the index was made with. `dense.py` compares one
vector for a whole chunk; this module compares each word of the query with the nearest word of the chunk.

Similarities are exact: vectors are rounded to whole numbers that are small enough for exact sums, so that a name gets
the same number whatever else is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.search.top import Floats, Rows

if TYPE_CHECKING:
    from sage_code.compiled.segment import Segment
    from sage_code.embed.bundled import BundledEmbedder
    from sage_code.search.snapshot import SearchSnapshot

# Components of unit vectors are counted in 127ths: 127 * 127 * 256 is below 2**24, up to which float32 is exact.
_PARTS = 127
_UNIT = 1 / (_PARTS * _PARTS)
# Words of a query that are compared: those that count most.
_MAX_WORDS = 24
# The same for bodies, which have many more words.
_MAX_WORDS_IN_BODIES = 12
# Words with vectors that are kept (16 MB), and names and paths; then they are looked up again.
_KEPT = 65_536
_NOT_YET = -1
# Words without a common meaning have a similarity of about this much.
_UNRELATED = 0.1


Words = tuple[int, ...]
Split = Callable[[str], tuple[tuple[str, ...], tuple[str, ...]]]


class SoftMatch(NamedTuple):
    """How near some texts are to the words of a query."""

    cover: Floats  # the share of the query that is near to a word of the text
    share: Floats  # the share of the text that is near to a word of the query


class BodyMatch(NamedTuple):
    """How near the bodies of some chunks are to the words of a query."""

    cover: Floats  # the share of the query that is near to a word of the chunk
    least: Floats  # how near the word of the query is that is farthest from the chunk
    share: Floats  # the share of the chunk that is near to a word of the query


class WordMeanings:
    """The vectors of words, in whole numbers; words, names and paths that were compared once are kept.

    Threads may share one: they compare in turns, since each may give words the next rows.
    """

    def __init__(self, model: BundledEmbedder) -> None:
        self._model = model
        self._turn = Lock()
        self._row_of_word: dict[str, int] = {}
        self._vectors = np.zeros((0, model.dim), np.int8)
        # By the function that splits it, and by name or path, the rows of its words, in two parts.
        self._rows_of: dict[Split, dict[str, tuple[Words, Words]]] = {}
        # By segment, the row of each of its terms, or _NOT_YET.
        self._rows_of_terms: dict[Segment, NDArray[np.int32]] = {}

    def match(self, query: Mapping[str, float], texts: Sequence[tuple[Sequence[str], Split]]) -> list[SoftMatch]:
        """How near names and paths are to the words of a query, given with their shares.

        Each list of names or paths comes with the function that splits one into the words of its own name and those
        above it; the answer has two entries for each list, one for either part.
        """
        with self._turn:
            return self._match(query, texts)

    def match_bodies(self, terms: Sequence[str], snapshot: SearchSnapshot, chunks: Rows) -> BodyMatch:
        """How near chunks, in ascending order, are to the words of a query, which count as the model weighs them."""
        with self._turn:
            return self._match_bodies(terms, snapshot, chunks)

    def _match(self, query: Mapping[str, float], texts: Sequence[tuple[Sequence[str], Split]]) -> list[SoftMatch]:
        """`match`, while it is this thread's turn."""
        asked = sorted(query, key=lambda word: (-query[word], word))[:_MAX_WORDS]
        self._make_room()
        groups: list[Sequence[Words]] = []
        for names, split in texts:
            parts = self._rows(names, split)
            groups += [[own for own, _ in parts], [above for _, above in parts]]
        wanted = self._known(asked)
        cover, share = self._near(asked, wanted, query, list(chain.from_iterable(groups)))
        ends = np.cumsum([len(group) for group in groups])[:-1]
        return [SoftMatch(*both) for both in zip(np.split(cover, ends), np.split(share, ends), strict=True)]

    def _match_bodies(self, terms: Sequence[str], snapshot: SearchSnapshot, chunks: Rows) -> BodyMatch:
        """`match_bodies`, while it is this thread's turn."""
        self._make_room()
        weights = self._model.word_weights(terms)
        order = sorted(range(len(terms)), key=lambda row: (-weights[row], terms[row]))[:_MAX_WORDS_IN_BODIES]
        asked = self._known([terms[row] for row in order])
        shares = weights[order] / max(float(weights[order].sum()), 1e-6)
        found = BodyMatch(*(np.zeros(len(chunks), np.float32) for _ in BodyMatch._fields))
        end = 0
        for segment, words, counts in snapshot.words(chunks) if asked else ():
            start, end = end, end + len(counts)
            filled = np.flatnonzero(counts)
            if not len(filled):
                continue
            is_used = np.zeros(len(segment.terms), dtype=bool)
            is_used[words] = True
            used = np.flatnonzero(is_used)
            near = self._nearness(asked, self._rows_of_segment(segment, used))
            column = np.zeros(len(is_used), np.int32)
            column[used] = np.arange(len(used), dtype=np.int32)
            at, starts, into = column[words], (np.cumsum(counts) - counts)[filled], start + filled
            best = [np.maximum.reduceat(row[at], starts) for row in near]
            for share, one in zip(shares.tolist(), best, strict=True):  # in order, as in `_near`
                found.cover[into] += np.float32(share) * one
            found.least[into] = np.minimum.reduce(best)
            found.share[into] = np.add.reduceat(near.max(axis=0)[at], starts) / counts[filled]
        return found

    def _rows_of_segment(self, segment: Segment, terms: Rows) -> Rows:
        """The rows of some terms of a segment; new ones are looked up."""
        rows = self._rows_of_terms.get(segment)
        if rows is None:
            rows = self._rows_of_terms[segment] = np.full(len(segment.terms), _NOT_YET, np.int32)
        found = rows[terms]
        new = terms[found == _NOT_YET]
        if len(new):
            rows[new] = self._known(segment.terms.many(new))
            found = rows[terms]
        return found.astype(np.int64)

    def _nearness(self, asked: Words, rows: Rows) -> Floats:
        """For each word of the query, how near each of some rows is: 0 for unrelated words, 1 for the same word."""
        near = self._vectors[list(asked)].astype(np.float32) @ self._vectors[rows].astype(np.float32).T
        scaled: Floats = near * np.float32(_UNIT) - np.float32(_UNRELATED)
        return np.maximum(scaled, 0, out=scaled) * np.float32(1 / (1 - _UNRELATED))

    def _near(
        self, asked: Sequence[str], wanted: Words, query: Mapping[str, float], words: Sequence[Words]
    ) -> tuple[Floats, Floats]:
        """The shares of the query and of each group of words that are near to the other."""
        cover, share = np.zeros(len(words), np.float32), np.zeros(len(words), np.float32)
        flat = np.array(list(chain.from_iterable(words)), np.int64)
        if not len(flat) or not asked:
            return cover, share
        counts = np.array(list(map(len, words)), np.int64)
        filled = np.flatnonzero(counts)
        starts = (np.cumsum(counts) - counts)[filled]
        is_used = np.zeros(len(self._vectors), dtype=bool)
        is_used[flat] = True
        near = self._nearness(wanted, np.flatnonzero(is_used))
        at = (np.cumsum(is_used) - 1)[flat]
        total = np.zeros(len(filled), np.float32)
        for word, row in zip(asked, near, strict=True):  # one by one: the order of a sum must not depend on the others
            total += np.float32(query[word]) * np.maximum.reduceat(row[at], starts)
        cover[filled] = total
        share[filled] = np.add.reduceat(near.max(axis=0)[at], starts) / counts[filled]
        return cover, share

    def _rows(self, names: Sequence[str], split: Split) -> list[tuple[Words, Words]]:
        """The rows of the words of names or paths in the array of vectors."""
        known = self._rows_of.setdefault(split, {})
        if new := [name for name in names if name not in known]:
            divided = [split(name) for name in new]
            self._known([word for own, above in divided for word in (*own, *above)])
            known.update(
                (name, (self._known(own), self._known(above))) for name, (own, above) in zip(new, divided, strict=True)
            )
        return [known[name] for name in names]

    def _known(self, words: Sequence[str]) -> Words:
        """The rows of words; those of new ones are added."""
        row_of = self._row_of_word
        if new := [word for word in dict.fromkeys(words) if word not in row_of]:
            row_of.update(zip(new, range(len(row_of), len(row_of) + len(new)), strict=True))
            made = np.rint(self._model.word_vectors(new) * np.float32(_PARTS)).astype(np.int8)
            self._vectors = np.concatenate([self._vectors, made])
        return tuple([row_of[word] for word in words])

    def _make_room(self) -> None:
        """Forget everything when too much is kept."""
        if max(len(self._row_of_word), *(len(known) for known in self._rows_of.values()), 0) > _KEPT:
            self._row_of_word, self._rows_of, self._vectors = {}, {}, self._vectors[:0]
            self._rows_of_terms = {}
