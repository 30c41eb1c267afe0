"""The messages that an engine found for a question, and their words as arrays.

A pool holds what was found by words and by vectors, and the neighbours of those messages in their sessions. The stems
that are stored with each message are numbered once (`Meanings`), everything else counts numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.memory.tiers.ranking.meanings import Meanings

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
# Sessions are numbered, and a number a session is left free, so that the ends of two sessions are no neighbours.
_SESSION_STEP = 1 << 40


class Candidate(NamedTuple):
    """A message that may answer a question. A search makes five hundred, so they are tuples."""

    key: int
    role: str  # user, assistant, system, tool
    speaker: str  # a name; may be empty
    text: str
    words: str  # `parts.words_of_text`
    created: float  # seconds since 1970; 0 if it is not known
    session: str
    order: int  # in its session
    cosine: float  # of the question and the nearest part; counts only if `in_pool`
    in_pool: bool  # found by words or vectors; otherwise a neighbour of such a message
    allowed: bool = True  # may be an answer: a neighbour that the filters of a search exclude may not


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers about all messages that could have been found."""

    documents: int
    average_words: float  # stems a message
    frequency: Mapping[str, int]  # of each stem of the question, the number of messages that have it


class Pool:
    """Candidates with their stems as numbers. `part` and `message` select sums and maxima over the flat arrays."""

    def __init__(self, candidates: Sequence[Candidate], meanings: Meanings) -> None:
        # The order of what is given must not matter, not even for equal scores.
        self.candidates = sorted(candidates, key=lambda one: (one.session, one.order, one.key))
        counts = [one.words.count("\n") + 1 for one in self.candidates]
        stems = [passage.split() for one in self.candidates for passage in one.words.split("\n")]
        sizes = list(map(len, stems))
        self.tokens = np.fromiter(map(meanings.__getitem__, chain.from_iterable(stems)), np.int64, sum(sizes))
        self.part_sizes = np.array(sizes, np.int64)
        self.part_counts = np.array(counts, np.int64)  # parts of each message
        self.first_parts = np.cumsum(self.part_counts) - self.part_counts
        self.part_of_token = np.repeat(np.arange(len(sizes)), self.part_sizes)
        self.lengths = np.add.reduceat(self.part_sizes, self.first_parts).astype(np.float32)

    def __len__(self) -> int:
        return len(self.candidates)

    def best_of_parts(self, values: Floats) -> Floats:
        """The best value of each message's parts; works on columns too."""
        best: Floats = np.maximum.reduceat(values, self.first_parts, axis=0)
        return best

    def sum_of_parts(self, values: Floats) -> Floats:
        """The sum of the values of each message's parts."""
        total: Floats = np.add.reduceat(values, self.first_parts, axis=0)
        return total

    def count(self, chosen: NDArray[np.bool_]) -> Floats:
        """How many stems of each message are chosen, by their numbers."""
        hits = self.part_of_token[chosen[self.tokens]]
        return self.sum_of_parts(np.bincount(hits, minlength=len(self.part_sizes)).astype(np.float32))

    @cached_property
    def places(self) -> Ints:
        """Numbers that grow with session and order; neighbours in a session are one apart."""
        sessions = {name: number for number, name in enumerate(sorted({one.session for one in self.candidates}))}
        return np.array([sessions[one.session] * _SESSION_STEP + one.order for one in self.candidates], np.int64)

    def beside(self, step: int) -> Ints:
        """The row of the message so many steps later (earlier, if negative) in the session; -1 where none is loaded."""
        wanted = self.places + step
        rows = np.searchsorted(self.places, wanted)
        rows[rows == len(rows)] = 0
        return np.where(self.places[rows] == wanted, rows, -1)


def moved(values: Floats, rows: Ints) -> Floats:
    """The values of other rows; 0 where there is none (-1)."""
    other = values[rows]
    other[rows < 0] = 0
    return other
