"""Memories as search sees them: words and vectors in flat arrays that grow by one passage at a time. Reads no files.

Words are stems of lexemes, as everywhere in Sage; English stop words are left out. A passage may follow another one (a
checkpoint its parent, a turn of a conversation the turn before); ranking uses such neighbours as context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.text.lexemes import lexemes
from sage_code.text.stems import STOP_WORDS, stem

Floats = NDArray[np.float32]
# More words say nothing new about one memory, and make every search slower.
_MAX_TERMS = 2_000
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class Record:
    """What the index knows about one memory, without its vector."""

    id: str
    stamp: str  # of the file that it was made from
    terms: Mapping[str, int]  # words and their counts
    follows: str = ""  # the id of the memory that this one continues
    names: tuple[str, ...] = ()  # whose memory it is: a speaker, a project, a skill
    shown: Mapping[str, Any] = field(default_factory=dict)  # what results show


def terms_of(text: str) -> dict[str, int]:
    """The words of a text and their counts."""
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
        """The rows that contain a word, and how often."""
        number = self.word_numbers.get(term)
        if number is None:
            return self.rows[:0], self.counts[:0]
        first, end = self.starts[number : number + 2].tolist()
        return self.rows[first:end], self.counts[first:end]


class Passages:
    """All memories of one kind in one home. A row selects one passage; a replaced or removed one keeps its row."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.records: list[Record] = []
        self.row_of: dict[str, int] = {}
        self.base = Postings.empty()
        self._added: dict[str, tuple[list[int], list[int]]] = {}  # postings since the base was made
        self._vectors: Floats = np.zeros((_FIRST_CAPACITY, dim), np.float32)
        self._lengths: Floats = np.zeros(_FIRST_CAPACITY, np.float32)
        self._alive = np.zeros(_FIRST_CAPACITY, dtype=bool)
        self._before = np.full(_FIRST_CAPACITY, -1, np.int32)
        self._after = np.full(_FIRST_CAPACITY, -1, np.int32)
        self._linked = False
        self.named: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def vectors(self) -> Floats:
        """One vector per row, including rows that are no longer alive."""
        return self._vectors[: len(self.records)]

    @property
    def lengths(self) -> Floats:
        """The number of words of each row."""
        return self._lengths[: len(self.records)]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which rows were neither replaced nor removed."""
        return self._alive[: len(self.records)]

    def load(self, records: Sequence[Record], lengths: Floats, vectors: Floats, postings: Postings) -> None:
        """Fill empty passages with the arrays of a packed file."""
        self._grow(len(records))
        self._vectors[: len(records)] = vectors
        self._lengths[: len(records)] = lengths
        self.base = postings
        for record in records:
            self._append(record)

    def add(self, record: Record, vector: Floats) -> None:
        """Add a passage; it replaces the one with the same id."""
        row = len(self.records)
        self._grow(row + 1)
        self._vectors[row] = vector
        self._lengths[row] = sum(record.terms.values())
        for term, count in record.terms.items():
            rows, counts = self._added.setdefault(term, ([], []))
            rows.append(row)
            counts.append(min(count, 65_535))
        self._append(record)

    def remove(self, id: str) -> None:  # noqa: A002
        """Remove a passage."""
        row = self.row_of.pop(id, None)
        if row is not None:
            self._alive[row] = False

    def postings(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The rows that contain a word, and how often."""
        rows, counts = self.base.of(term)
        added = self._added.get(term)
        if added is None:
            return rows, counts.astype(np.float32)
        return (
            np.concatenate((rows, np.array(added[0], np.int32))),
            np.concatenate((counts, np.array(added[1], np.uint16))).astype(np.float32),
        )

    def neighbours(self) -> tuple[NDArray[np.int32], NDArray[np.int32]] | None:
        """For each row the row before and the row after it, -1 for none; None if no passage follows another."""
        if not self._linked:
            return None
        return self._before[: len(self.records)], self._after[: len(self.records)]

    def merged(self) -> Postings:
        """The postings of the living passages, with their rows renumbered without gaps."""
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

    def _append(self, record: Record) -> None:
        """Give the record the next row, and link it to the passage that it follows."""
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
        """Make room for `rows` rows, at least doubling the arrays."""
        capacity = len(self._lengths)
        if rows <= capacity:
            return
        capacity = max(rows, 2 * capacity)

        def larger(array: NDArray[Any], fill: float = 0) -> NDArray[Any]:
            new = np.full((capacity, *array.shape[1:]), fill, array.dtype)
            new[: len(array)] = array
            return new

        self._vectors, self._lengths, self._alive = map(larger, (self._vectors, self._lengths, self._alive))
        self._before, self._after = larger(self._before, -1), larger(self._after, -1)


def record_of(id: str, text: str, **more: Any) -> Record:  # noqa: A002
    """A record with the words of a text."""
    return Record(id, terms=terms_of(text), **{"stamp": "", **more})


def all_of(records: Iterable[Record], vectors: Floats) -> Passages:
    """Passages that are in memory only."""
    passages = Passages(vectors.shape[1])
    for record, vector in zip(records, vectors, strict=True):
        passages.add(record, vector)
    return passages
