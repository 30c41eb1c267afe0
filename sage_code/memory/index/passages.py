"""Memories as search sees them: their words and their vectors in flat arrays, to which one more can be added at once.

Nothing here reads a file. Words are the stems of lexemes, as everywhere in Sage; English function words say nothing.
A passage may go on from another (a checkpoint from its parent, a turn of a conversation from the one before it): what
such neighbours say is part of what it means.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.search.words import STOP_WORDS, stem
from sage_code.text.lexemes import lexemes

Floats = NDArray[np.float32]
# Words beyond these say nothing new about one memory, and cost every search.
_MAX_TERMS = 2_000
_FIRST_ROOM = 64


@dataclass(frozen=True, slots=True)
class Record:
    """What the index holds of one memory."""

    id: str
    stamp: str  # of the file that it was made from
    terms: Mapping[str, int]  # how often each word stands there
    follows: str = ""  # the id of the memory that this one goes on from
    names: tuple[str, ...] = ()  # whose it is: a speaker, a project, a skill
    shown: Mapping[str, Any] = field(default_factory=dict)  # what a list of results shows


def terms_of(text: str) -> dict[str, int]:
    """The words of a text and how often each stands there."""
    return dict(Counter(stem(word) for word in lexemes(text) if word not in STOP_WORDS).most_common(_MAX_TERMS))


@dataclass(slots=True)
class Postings:
    """The passages of each word, in arrays sorted by word."""

    word_numbers: dict[str, int]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint16]

    @classmethod
    def empty(cls) -> Postings:
        """No words."""
        return cls({}, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.uint16))

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The rows that have a word, and how often."""
        number = self.word_numbers.get(term)
        if number is None:
            return self.rows[:0], self.counts[:0]
        first, end = self.starts[number : number + 2].tolist()
        return self.rows[first:end], self.counts[first:end]


class Passages:
    """All memories of one kind in one number."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.records: list[Record] = []
        self.row_of: dict[str, int] = {}
        self.base = Postings.empty()
        self._added: dict[str, tuple[list[int], list[int]]] = {}  # postings since the base was made
        self._vectors: Floats = np.zeros((_FIRST_ROOM, dim), np.float32)
        self._lengths: Floats = np.zeros(_FIRST_ROOM, np.float32)
        self._alive = np.zeros(_FIRST_ROOM, dtype=bool)
        self._before = np.full(_FIRST_ROOM, -1, np.int32)
        self._after = np.full(_FIRST_ROOM, -1, np.int32)
        self._linked = False
        self.named: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def vectors(self) -> Floats:
        """One row a passage, dead ones included."""
        return self._vectors[: len(self.records)]

    @property
    def lengths(self) -> Floats:
        """How many words each passage has."""
        return self._lengths[: len(self.records)]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which rows are not replaced or removed."""
        return self._alive[: len(self.records)]

    def load(self, records: Sequence[Record], lengths: Floats, vectors: Floats, postings: Postings) -> None:
        """Begin with what a file holds; only for passages that are empty."""
        self._grow(len(records))
        self._vectors[: len(records)] = vectors
        self._lengths[: len(records)] = lengths
        self.base = postings
        for record in records:
            self._place(record)

    def add(self, record: Record, vector: Floats) -> None:
        """Add a passage, in number of the one with the same id if there is one."""
        row = len(self.records)
        self._grow(row + 1)
        self._vectors[row] = vector
        self._lengths[row] = sum(record.terms.values())
        for term, count in record.terms.items():
            rows, counts = self._added.setdefault(term, ([], []))
            rows.append(row)
            counts.append(min(count, 65_535))
        self._place(record)

    def remove(self, id: str) -> None:  # noqa: A002
        """Take a passage out."""
        row = self.row_of.pop(id, None)
        if row is not None:
            self._alive[row] = False

    def postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The rows that have a word, and how often it stands there."""
        rows, counts = self.base.of(term)
        added = self._added.get(term)
        if added is None:
            return rows, counts.astype(np.float32)
        return (
            np.concatenate((rows, np.array(added[0], np.int32))),
            np.concatenate((counts, np.array(added[1], np.uint16))).astype(np.float32),
        )

    def neighbours(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """For each row the one it goes on from and the one that goes on from it, -1 for none; None without any."""
        if not self._linked:
            return None
        return self._before[: len(self.records)], self._after[: len(self.records)]

    def merged(self) -> Postings:
        """The postings of all living passages, numbered anew in their order."""
        numbers = np.cumsum(self.alive) - 1
        rows: list[NDArray[np.int32]] = []
        counts: list[NDArray[np.uint16]] = []
        word_numbers: dict[str, int] = {}
        sizes = [0]
        for term in sorted({*self.base.word_numbers, *self._added}):
            found, often = self.postings(term)
            living = self.alive[found]
            if living.any():
                word_numbers[term] = len(word_numbers)
                rows.append(numbers[found[living]].astype(np.int32))
                counts.append(often[living].astype(np.uint16))
                sizes.append(int(living.sum()))
        if not word_numbers:
            return Postings.empty()
        return Postings(word_numbers, np.cumsum(sizes).astype(np.int64), np.concatenate(rows), np.concatenate(counts))

    def _place(self, record: Record) -> None:
        row = len(self.records)
        self.remove(record.id)
        self.records.append(record)
        self.row_of[record.id] = row
        self._alive[row] = True
        before = self.row_of.get(record.follows)
        if before is not None and before != row:
            self._before[row], self._after[before] = before, row
            self._linked = True
        for name in record.names:
            self.named.setdefault(name, []).append(row)

    def _grow(self, rows: int) -> None:
        room = len(self._lengths)
        if rows <= room:
            return
        room = max(rows, 2 * room)

        def larger(array: NDArray[Any], fill: float = 0) -> NDArray[Any]:
            new = np.full((room, *array.shape[1:]), fill, array.dtype)
            new[: len(array)] = array
            return new

        self._vectors, self._lengths, self._alive = map(larger, (self._vectors, self._lengths, self._alive))
        self._before, self._after = larger(self._before, -1), larger(self._after, -1)


def record_of(id: str, text: str, **more: Any) -> Record:  # noqa: A002
    """A record of a text."""
    return Record(id, terms=terms_of(text), **{"stamp": "", **more})


def all_of(records: Iterable[Record], vectors: Floats) -> Passages:
    """Passages in memory only."""
    passages = Passages(vectors.shape[1])
    for record, vector in zip(records, vectors, strict=True):
        passages.add(record, vector)
    return passages
