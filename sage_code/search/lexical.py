"""Scores chunks and files by the words of a query that they have: BM25 over four fields.

A score is a share of what a perfect document would get, so it means the same for short and long queries. There are two
steps: `TermPostings.best` gives the documents that a field scores highest, of all in the snapshot; `scores_of` gives
all scores of the few files that were proposed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.sections import Terms
from sage_code.compiled.segment import CHUNK_FIELDS, FIELDS, FILE_FIELDS
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Mask, Rows, top
from sage_code.text.stems import LONGEST_ENDING, head_of, inflected, stem

_K1 = {"body": 1.5, "name": 1.2, "doc": 1.2, "path": 1.0}
_B = {"body": 0.75, "name": 0.4, "doc": 0.6, "path": 0.3}
# How much another form of a word counts (`retries` for `retry`), and a word derived from it (`parser` for `parse`).
_FORM, _DERIVED = 0.85, 0.6
# Terms of a long text that are looked up: those that count most. A term takes about 0.1 ms.
_MAX_TERMS = 192
_NO_ROWS: Rows = np.empty(0, np.int64)
_NO_FLOATS: Floats = np.empty(0, np.float32)


class LexicalScores(NamedTuple):
    """How well some files and their chunks match the words of a query."""

    fields: dict[str, Floats]  # by field, of the chunks or the files
    chunk_cover: Floats  # the share of the words that is in the chunk
    file_cover: Floats  # in the file or its path
    path_cover: Floats  # in the path
    rarest: Floats  # the rarity of the rarest word that is in the chunk, against the rarest of the query


class _Postings(NamedTuple):
    """The documents that have one form of a word, in order, and how often, times how much the form counts."""

    documents: Rows
    counts: Floats


class TermPostings:
    """The documents of one snapshot that have terms of one query; `weights` has each term's share of the query."""

    def __init__(self, snapshot: SearchSnapshot, importance: Mapping[str, float]) -> None:
        """`importance` says how much each term counts beside its rarity."""
        self._snapshot = snapshot
        chosen = importance if len(importance) <= _MAX_TERMS else _most_telling(snapshot, importance)
        self._found = {term: _gather(snapshot, term) for term in chosen}
        self._sums = np.zeros(max(snapshot.chunks, snapshot.files), np.float32)  # only written pages take memory
        self.idf = {term: self._idf(term, fields) for term, fields in self._found.items()}
        self.weights = _shares({term: chosen[term] * idf for term, idf in self.idf.items()})

    def only(self, terms: Sequence[str]) -> TermPostings:
        """The same for some of the terms, each of which counts by its rarity alone; others are looked up."""
        part = copy(self)
        part._found = {term: self._found.get(term) or _gather(self._snapshot, term) for term in terms}
        part.idf = {term: self._idf(term, fields) for term, fields in part._found.items()}
        part.weights = _shares(part.idf)
        return part

    def _idf(self, term: str, fields: dict[str, list[_Postings]]) -> float:
        """How rare a word is, by the field where it is most common: mostly the body, which has nearly all words."""
        documents = self._snapshot.generation.chunks
        holding = max(sum(len(form.documents) for form in fields[name]) for name in CHUNK_FIELDS)
        holding = min(self._snapshot.holding(term, holding), documents)
        return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))

    def best(self, field: str, count: int, allowed: Mask | None) -> Rows:
        """The allowed documents that a field scores highest.

        A document with several forms of a word scores a little too high here: each form is counted by itself.
        """
        norms, sums = self._norms(field), self._sums
        found = [(term, form) for term, fields in self._found.items() for form in fields[field]]
        for term, form in found:
            saturated = form.counts / (form.counts + norms[form.documents])
            sums[form.documents] += np.float32(self.weights[term]) * saturated  # no document is there twice
        scores, postings = [_NO_FLOATS], [_NO_ROWS]
        for _, form in found:  # set back to 0 at once, so that a document is taken for one word only
            scores.append(sums[form.documents])
            sums[form.documents] = 0
            postings.append(form.documents)
        documents, values = np.concatenate(postings), np.concatenate(scores)
        order = self._file_order if field in FILE_FIELDS else self._snapshot.chunk_order
        if allowed is not None:
            values = values * allowed[documents]
        return documents[top(values, count, lambda rows: order(documents[rows]))]

    def _file_order(self, files: Rows) -> NDArray[np.uint64]:
        return self._snapshot.file_hash[files]

    def scores_of(self, files: Rows, chunks: Rows, first: Rows) -> LexicalScores:
        """The scores of `files` and of all their `chunks`; those of each file start at `first`."""
        size = {name: len(files) if name in FILE_FIELDS else len(chunks) for name in FIELDS}
        fields = {name: np.zeros(size[name], np.float32) for name in FIELDS}
        sizes = (len(chunks), len(files), len(files), len(chunks))
        chunk_cover, file_cover, path_cover, rarest = (np.zeros(size, np.float32) for size in sizes)
        if not len(files):
            return LexicalScores(fields, chunk_cover, file_cover, path_cover, rarest)
        most = max(self.idf.values(), default=1.0)
        among_files, among_chunks = _Subset(files, self._snapshot.files), _Subset(chunks, self._snapshot.chunks)
        among = {name: among_files if name in FILE_FIELDS else among_chunks for name in FIELDS}
        norms = {name: self._norms(name)[files if name in FILE_FIELDS else chunks] for name in FIELDS}
        for term, found in self._found.items():
            weight = np.float32(self.weights[term])
            counts = {name: among[name].counts(found[name]) for name in FIELDS}
            for name, often in counts.items():
                if found[name]:
                    fields[name] += weight * (often / (often + norms[name]))
            inside = np.logical_or.reduce([counts[name] > 0 for name in CHUNK_FIELDS])
            chunk_cover += weight * inside
            np.maximum(rarest, np.float32(self.idf[term] / most) * inside, out=rarest)
            file_cover += weight * (np.logical_or.reduceat(inside, first) | (counts["path"] > 0))
            path_cover += weight * np.minimum(counts["path"], np.float32(1))
        return LexicalScores(fields, chunk_cover, file_cover, path_cover, rarest)

    def _norms(self, field: str) -> Floats:
        return self._snapshot.norms(field, _K1[field], _B[field])


class _Subset:
    """Some of all documents, in ascending order."""

    def __init__(self, documents: Rows, size: int) -> None:
        self._count = len(documents)
        self._row = np.zeros(size, np.int32)  # of each document among them, from 1; only written pages take memory
        self._row[documents] = np.arange(1, len(documents) + 1)

    def counts(self, forms: Sequence[_Postings]) -> Floats:
        """How often each of them has any form of a word."""
        counts = np.zeros(self._count + 1, np.float32)
        for form in forms:
            counts[self._row[form.documents]] += form.counts
        return counts[1:]


def _shares(values: Mapping[str, float]) -> dict[str, float]:
    total = sum(values.values()) or 1.0
    return {name: value / total for name, value in values.items()}


def _most_telling(snapshot: SearchSnapshot, importance: Mapping[str, float]) -> dict[str, float]:
    """The terms that count most by importance and rarity, in their order; those that no chunk has are left out."""
    telling: dict[str, float] = {}
    for term, value in importance.items():
        holding = 0
        for segment in snapshot.segments:
            row = segment.terms.find(term)
            if row is not None:
                first, last = segment.arrays["posting_ends"][row : row + 2, 0].tolist()
                holding += last - first
        if holding:
            telling[term] = value * math.log(1 + snapshot.chunks / holding)
    best = set(sorted(telling, key=lambda term: (-telling[term], term))[:_MAX_TERMS])
    return {term: value for term, value in importance.items() if term in best}


def _gather(snapshot: SearchSnapshot, term: str) -> dict[str, list[_Postings]]:
    """By field, the postings of each form of a word."""
    parts: dict[str, dict[str, list[_Postings]]] = {name: {} for name in FIELDS}
    for number, segment in enumerate(snapshot.segments):
        for row, word, weight in forms(segment.terms, term):
            for name, (found, often) in segment.postings(row).items():
                start = snapshot.file_at[number] if name in FILE_FIELDS else snapshot.chunk_at[number]
                documents, counts = np.add(found, start, dtype=np.int64), np.multiply(often, weight, dtype=np.float32)
                if snapshot.generation.segments[number].dead:
                    alive = (snapshot.alive if name in FILE_FIELDS else snapshot.chunk_alive)[documents]
                    documents, counts = documents[alive], counts[alive]
                if len(documents):
                    parts[name].setdefault(word, []).append(_Postings(documents, counts))
    if snapshot.hides_paths:
        parts["path"] = {}
    # In the order of the forms: counts are added up as floats, and the segments must not decide the order.
    return {name: [_joined(by_word[word]) for word in sorted(by_word)] for name, by_word in parts.items()}


def _joined(pieces: Sequence[_Postings]) -> _Postings:
    if len(pieces) == 1:
        return pieces[0]
    return _Postings(
        np.concatenate([piece.documents for piece in pieces]), np.concatenate([piece.counts for piece in pieces])
    )


def forms(terms: Terms, term: str) -> Iterator[tuple[int, str, float]]:
    """A word and its other forms among sorted terms: row, form, and how much it counts."""
    stemmed = stem(term)
    head = head_of(stemmed)
    if len(head) < 3 or not term.isascii() or not term.isalpha():
        row = terms.find(term)
        if row is not None:
            yield row, term, 1.0
        return
    base = inflected(term)
    for row, word in zip(*terms.beginning(head, len(head) + LONGEST_ENDING), strict=True):
        if word == term:
            yield row, word, 1.0
        elif stem(word) == stemmed:
            yield row, word, _FORM if inflected(word) == base else _DERIVED
