"""Which chunks and files hold the words of a question, and how much that says: BM25 over four fields.

Scores are shares of what a perfect document would get, so they mean the same for short and long questions. Words are
asked twice: first for the documents that each field puts highest, of all there are; then for everything that they say
about the few files that somebody has proposed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.sections import Terms
from sage_code.compiled.segment import CHUNK_FIELDS, FIELDS, FILE_FIELDS
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Mask, Places, top
from sage_code.search.words import LONGEST_ENDING, head_of, inflected, stem

_K1 = {"body": 1.5, "name": 1.2, "doc": 1.2, "path": 1.0}
_B = {"body": 0.75, "name": 0.4, "doc": 0.6, "path": 0.3}
# What another form of a word is worth (`retries` for `retry`), and a word derived from it (`parser` for `parse`).
_FORM, _DERIVED = 0.85, 0.6
_NO_PLACES: Places = np.empty(0, np.int64)
_NO_FLOATS: Floats = np.empty(0, np.float32)


class Lexical(NamedTuple):
    """What the words say about some files and their chunks."""

    fields: dict[str, Floats]  # by field, of the chunks or the files
    chunk_cover: Floats  # share of the words found in a chunk, in a file or its path, and in its path
    file_cover: Floats
    path_cover: Floats


class _Postings(NamedTuple):
    """The documents that hold one form of a word, in order, and how often, times what the form is worth."""

    documents: Places
    counts: Floats


class Words:
    """The words of one question in one snapshot; `weights` says what share of the question each of them is."""

    def __init__(self, snapshot: SearchSnapshot, terms: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._found = {term: _gather(snapshot, term) for term in terms}
        self._sums = np.zeros(max(snapshot.chunks, snapshot.files), np.float32)  # only what words touch takes memory
        idf = {term: self._idf(fields) for term, fields in self._found.items()}
        total = sum(idf.values()) or 1.0
        self.weights = {term: value / total for term, value in idf.items()}

    def _idf(self, fields: dict[str, list[_Postings]]) -> float:
        """How rare a word is, by the field where it is most common; the text of a chunk mostly holds the others."""
        documents = self._snapshot.generation.chunks
        holding = max(sum(len(form.documents) for form in fields[name]) for name in CHUNK_FIELDS)
        holding = min(holding, documents)
        return math.log(1 + (documents - holding + 0.5) / (holding + 0.5))

    def best(self, field: str, count: int, may: Mask | None) -> Places:
        """The documents that a field puts highest, of those that may be.

        One that holds several forms of a word stands a little too high here.
        """
        norms, sums = self._norms(field), self._sums
        found = [(term, form) for term, fields in self._found.items() for form in fields[field]]
        for term, form in found:
            worth = form.counts / (form.counts + norms[form.documents])
            np.add.at(sums, form.documents, np.float32(self.weights[term]) * worth)
        scores, documents = [_NO_FLOATS], [_NO_PLACES]
        for _, form in found:  # taken back at once, so that a document counts for one word only
            scores.append(sums[form.documents])
            sums[form.documents] = 0
            documents.append(form.documents)
        places, values = np.concatenate(documents), np.concatenate(scores)
        order = self._file_order if field in FILE_FIELDS else self._snapshot.chunk_order
        return places[top(values if may is None else values * may[places], count, lambda own: order(places[own]))]

    def _file_order(self, files: Places) -> NDArray[np.uint64]:
        return self._snapshot.file_hash[files]

    def about(self, files: Places, chunks: Places, first: Places) -> Lexical:
        """What the words say about `files` and `chunks`, which are all theirs; those of each start at `first`."""
        size = {name: len(files) if name in FILE_FIELDS else len(chunks) for name in FIELDS}
        fields = {name: np.zeros(size[name], np.float32) for name in FIELDS}
        chunk_cover, file_cover, path_cover = (np.zeros(len(own), np.float32) for own in (chunks, files, files))
        if not len(files):
            return Lexical(fields, chunk_cover, file_cover, path_cover)
        among = {"chunks": _Among(chunks, self._snapshot.chunks), "files": _Among(files, self._snapshot.files)}
        norms = {name: self._norms(name)[files if name in FILE_FIELDS else chunks] for name in FIELDS}
        for term, found in self._found.items():
            weight = np.float32(self.weights[term])
            counts = {name: among["files" if name in FILE_FIELDS else "chunks"].counts(found[name]) for name in FIELDS}
            for name, often in counts.items():
                fields[name] += weight * (often / (often + norms[name]))
            inside = np.logical_or.reduce([counts[name] > 0 for name in CHUNK_FIELDS])
            chunk_cover += weight * inside
            file_cover += weight * (np.logical_or.reduceat(inside, first) | (counts["path"] > 0))
            path_cover += weight * np.minimum(counts["path"], np.float32(1))
        return Lexical(fields, chunk_cover, file_cover, path_cover)

    def _norms(self, field: str) -> Floats:
        return self._snapshot.norms(field, _K1[field], _B[field])


class _Among:
    """Some documents of all, in ascending order."""

    def __init__(self, places: Places, size: int) -> None:
        self._places = places
        self._inside = np.zeros(size, dtype=bool)
        self._inside[places] = True

    def counts(self, forms: Sequence[_Postings]) -> Floats:
        """How often a word stands in each of them, whatever its form."""
        counts = np.zeros(len(self._places), np.float32)
        for form in forms:
            own = np.flatnonzero(self._inside[form.documents])
            counts[np.searchsorted(self._places, form.documents[own])] += form.counts[own]
        return counts


def _gather(snapshot: SearchSnapshot, term: str) -> dict[str, list[_Postings]]:
    """By field, the postings of each form of a word."""
    parts: dict[str, dict[str, list[_Postings]]] = {name: {} for name in FIELDS}
    for number, segment in enumerate(snapshot.segments):
        for place, word, worth in forms(segment.terms, term):
            for name, (found, often) in segment.postings(place).items():
                start = snapshot.file_at[number] if name in FILE_FIELDS else snapshot.chunk_at[number]
                documents, counts = np.add(found, start, dtype=np.int64), np.multiply(often, worth, dtype=np.float32)
                if snapshot.generation.segments[number].dead:
                    alive = (snapshot.alive if name in FILE_FIELDS else snapshot.chunk_alive)[documents]
                    documents, counts = documents[alive], counts[alive]
                if len(documents):
                    parts[name].setdefault(word, []).append(_Postings(documents, counts))
    if snapshot.hides_paths:
        parts["path"] = {}
    # In the order of the forms: counts are added up as floats, in an order that the segments must not decide.
    return {name: [_joined(by_word[word]) for word in sorted(by_word)] for name, by_word in parts.items()}


def _joined(pieces: Sequence[_Postings]) -> _Postings:
    if len(pieces) == 1:
        return pieces[0]
    return _Postings(
        np.concatenate([piece.documents for piece in pieces]), np.concatenate([piece.counts for piece in pieces])
    )


def forms(terms: Terms, term: str) -> Iterator[tuple[int, str, float]]:
    """A word and its other forms among sorted terms: place, form, and what it is worth."""
    stemmed = stem(term)
    head = head_of(stemmed)
    if len(head) < 3 or not term.isascii() or not term.isalpha():
        place = terms.find(term)
        if place is not None:
            yield place, term, 1.0
        return
    base = inflected(term)
    for place, word in zip(*terms.beginning(head, len(head) + LONGEST_ENDING), strict=True):
        if word == term:
            yield place, word, 1.0
        elif stem(word) == stemmed:
            yield place, word, _FORM if inflected(word) == base else _DERIVED
