"""The words of a segment: which documents of each field have a term, how often, and the words of each chunk in order.

Files come with their words as numbers, so only the distinct words of a file are looked up one by one; all counting is
sorting of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.chunk import words as runs
from sage_code.chunk.word_arrays import NumberLists, counted
from sage_code.chunk.words import FileWords
from sage_code.compiled.sections import pack_terms
from sage_code.compiled.segment import FIELDS
from sage_code.text.lexemes import WordNumbers, words_of

_MAX_TF = 255
# The runs of a chunk's words that make up each field; a file's path has no run.
_RUNS_OF_FIELD = {"body": (runs.FIRST_LINE, runs.TEXT), "name": (runs.NAMES,), "doc": (runs.DOCS,)}


class SegmentWords:
    """Collects the words of files and makes the sections of them."""

    def __init__(self) -> None:
        self._known = WordNumbers()
        self._numbers: list[NDArray[np.uint32]] = []
        self._sizes: list[NDArray[np.uint32]] = []
        self._paths: list[NDArray[np.uint32]] = []

    def add(self, path: str, words: FileWords) -> None:
        """Take the words of one file."""
        self._numbers.append(self._number(words.words)[np.frombuffer(words.numbers, np.uint32)])
        self._sizes.append(np.frombuffer(words.sizes, np.uint32))
        self._paths.append(self._number(words_of(path)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The sections of the terms, the postings of every field, and the words in their order."""
        lexemes = NumberLists(self._known.lexemes)
        numbers, sizes = _joined(self._numbers), _joined(self._sizes).astype(np.int64).reshape(-1, runs.RUNS)
        run_of = np.repeat(np.tile(np.arange(runs.RUNS, dtype=np.uint8), len(sizes)), sizes.ravel())
        paths = _joined(self._paths)
        terms, rank = self._ranked_terms(lexemes.of(_distinct(numbers[run_of >= runs.FIRST_LINE], paths))[0])
        arrays: dict[str, NDArray[Any]] = pack_terms(terms, "terms")
        ends = np.zeros((len(terms) + 1, len(FIELDS)), np.uint32)
        for column, field in enumerate(FIELDS):
            if field in _RUNS_OF_FIELD:
                chosen = _RUNS_OF_FIELD[field]
                words, lengths = numbers[np.isin(run_of, chosen)], sizes[:, chosen].sum(axis=1)
            else:
                words, lengths = paths, np.array(list(map(len, self._paths)), np.int64)
            if field == "body":
                arrays["words"] = rank.astype(np.uint32)[lexemes.first()][words]
                arrays["words_at"] = np.concatenate(([0], np.cumsum(lengths))).astype(np.uint64)
            ends[1:, column], own = _postings(words, lengths, lexemes, rank, len(terms))
            arrays.update({f"{field}_{name}": values for name, values in own.items()})
        arrays["posting_ends"] = ends
        return arrays

    def _number(self, words: Sequence[str]) -> NDArray[np.uint32]:
        return np.fromiter(map(self._known.__getitem__, words), np.uint32, len(words))

    def _ranked_terms(self, used: NDArray[np.int64]) -> tuple[list[bytes], NDArray[np.int64]]:
        """The terms in order, and the row of each lexeme in that order. Words of a lead alone are not searched."""
        is_used = np.zeros(len(self._known.terms), np.bool_)
        is_used[used] = True
        terms = compress(self._known.terms.items(), is_used.tolist())
        ordered = sorted((term.encode("utf-8", "surrogatepass"), number) for term, number in terms)
        rank = np.zeros(len(is_used), np.int64)
        rank[[number for _, number in ordered]] = np.arange(len(ordered))
        return [term for term, _ in ordered], rank


def _joined(parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.concatenate([np.empty(0, np.uint32), *parts])


def _distinct(*numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The numbers that occur."""
    return np.flatnonzero(np.bincount(np.concatenate(numbers)))


def _postings(
    words: NDArray[np.uint32], lengths: NDArray[Any], lexemes: NumberLists, rank: NDArray[np.int64], terms_count: int
) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Where the postings of each term end; documents and counts, and the documents' lengths.

    `words` are those of all documents; `rank` sorts the terms; the postings of a term are in the order of the
    documents.
    """
    documents = max(len(lengths), 1)
    pairs, counts = counted(words * np.int64(documents) + np.repeat(np.arange(len(lengths)), lengths))
    word, document = np.divmod(pairs, documents)
    terms, taken = lexemes.of(word)
    # Term, document and count in one number: one sort in place, and little memory. Eight bits hold a count.
    packed = rank[terms]
    packed *= documents
    packed += np.repeat(document, taken)
    packed <<= 8
    packed += np.repeat(np.minimum(counts, _MAX_TF), taken)
    del pairs, counts, word, document, terms
    packed.sort()
    counts, pairs = packed & _MAX_TF, packed >> 8
    del packed
    # A lexeme that several words of a document share is added up.
    first = np.flatnonzero(np.diff(pairs, prepend=-1))
    sums = np.add.reduceat(counts, first) if len(first) else counts
    term, document = np.divmod(pairs[first], documents)
    totals = np.bincount(document, weights=sums, minlength=len(lengths)).astype(np.uint32)
    return np.cumsum(np.bincount(term, minlength=terms_count)), {
        "docs": document.astype(np.uint32),
        "tfs": np.minimum(sums, _MAX_TF).astype(np.uint8),
        "lengths": totals,
    }
