"""Finds runs of the query's words that are in chunks literally, word after word.

A quoted message, a line of code or a rare phrase is more than its words: their order tells the one place where it
stands. The segments keep the words of every chunk in order, so no file is read. Case and punctuation do not count.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.search.lexical import TermPostings
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Rows, distinct

# What a stop word adds to a run: little, as it is in many places.
_STOP_IDF = 0.5
# A run of four rare words (idf 5) is nearly certain: 1 - exp(-20 / 12) is 0.81.
_SCALE = 12.0


class Runs(NamedTuple):
    """Of each chunk, how much of the query is in it word after word."""

    information: Floats  # of the longest run, 0 to 1: how unlikely it is by chance
    share: Floats  # of the query's title that the longest run covers
    pairs: Floats  # the share of the query's pairs of adjacent words


class Phrases:
    """The pairs of adjacent words of a query."""

    def __init__(self, query: Query, words: TermPostings) -> None:
        self._words = list(dict.fromkeys(word for run in query.runs for word in run))
        number = {word: row for row, word in enumerate(self._words, 1)}
        self._size = len(number) + 1
        self._idf = np.array([0.0, *(words.idf.get(word, _STOP_IDF) for word in self._words)], np.float32)
        pairs = {number[first] * self._size + number[second] for run in query.runs for first, second in pairwise(run)}
        self._pairs = np.array(sorted(pairs), np.int64)
        self._worth = np.minimum(self._idf[self._pairs // self._size], self._idf[self._pairs % self._size])
        self._all = max(float(self._worth.sum()), 1e-6)
        self._title = max(float(self._idf[[number[word] for word in query.runs[0]]].sum()), 1e-6) if query.runs else 1.0

    def of(self, snapshot: SearchSnapshot, chunks: Rows) -> Runs:
        """The runs in chunks, which are in ascending order."""
        found = [np.zeros((3, 0), np.float32)]
        for segment, words, counts in snapshot.words(chunks) if len(self._pairs) else ():
            # A table of all terms: to look a word up in it takes a tenth of a search among the query's words.
            numbers = np.zeros(len(segment.terms), np.uint16)
            for number, word in enumerate(self._words, 1):
                row = segment.terms.find(word)
                if row is not None:
                    numbers[row] = number
            found.append(self._in_segment(numbers[words], counts))
        columns = np.concatenate(found, axis=1) if len(found) > 1 else np.zeros((3, len(chunks)), np.float32)
        return Runs(*columns)

    def _in_segment(self, numbers: NDArray[np.uint16], counts: Rows) -> Floats:
        """Information, share and pairs of some chunks, whose words follow each other; 0 is a word of no query."""
        result = np.zeros((3, len(counts)), np.float32)
        asked = numbers.astype(bool).nonzero()[0]
        firsts = asked[:-1][asked[1:] - asked[:-1] == 1]
        joined = numbers[firsts].astype(np.int64) * self._size + numbers[firsts + 1]
        pair = np.minimum(self._pairs.searchsorted(joined), len(self._pairs) - 1)
        ends = counts.cumsum()
        owner = ends.searchsorted(firsts, side="right")
        hit = (self._pairs[pair] == joined) & (ends[owner] - 1 != firsts)
        rows, owner, pair = firsts[hit], owner[hit], pair[hit]
        if not len(rows):
            return result
        # A run is a row of adjacent hits; its information is that of its words, of which it has one more than hits.
        is_begin = np.ones(len(rows), dtype=bool)
        np.not_equal(rows[1:] - rows[:-1], 1, out=is_begin[1:])
        begins = is_begin.nonzero()[0]
        sums = np.add.reduceat(self._idf[numbers[rows + 1]], begins) + self._idf[numbers[rows[begins]]]
        np.maximum.at(result[0], owner[begins], sums)
        result[1] = np.minimum(result[0] / np.float32(self._title), 1)
        result[0] = 1 - np.exp(-result[0] / np.float32(_SCALE))
        different = distinct(owner * len(self._pairs) + pair)
        worth = self._worth[different % len(self._pairs)]
        np.add.at(result[2], different // len(self._pairs), worth / np.float32(self._all))
        return result
