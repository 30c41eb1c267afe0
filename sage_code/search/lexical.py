"""Which chunks and files hold the words of a question, and how much that says: BM25 over four fields.

Scores are shares of what a perfect document would get, so they mean the same for short and long questions. The work
grows with the postings of the words, not with the index: every array is as long as the index, but only the documents
of a word are touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.sections import Terms
from sage_code.compiled.segment import CHUNK_FIELDS, FIELDS, FILE_FIELDS
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.words import LONGEST_ENDING, head_of, inflected, stem

_K1 = {"body": 1.5, "name": 1.2, "doc": 1.2, "path": 1.0}
_B = {"body": 0.75, "name": 0.4, "doc": 0.6, "path": 0.3}
# What another form of a word is worth (`retries` for `retry`), and a word derived from it (`parser` for `parse`).
_FORM, _DERIVED = 0.85, 0.6
# Sets that are together this much smaller than the index are united by sorting, others by marking.
_SPARSE = 512

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
_NONE: Places = np.empty(0, np.int64)


@dataclass(slots=True)
class Lexical:
    """What the words say about every chunk and every file."""

    fields: dict[str, Floats] = field(default_factory=dict)  # by field, of chunks or files
    chunk_cover: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # share of the words found in it
    file_cover: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    path_cover: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    weights: dict[str, float] = field(default_factory=dict)  # of each word, its share of the question


def lexical(snapshot: SearchSnapshot, terms: Sequence[str]) -> Lexical:
    """Score every chunk and file of the snapshot."""
    chunks, files = _Scratch(snapshot.chunks), _Scratch(snapshot.files)
    found = {term: _gather(snapshot, term, chunks, files) for term in terms}
    documents = max(snapshot.chunks, 1)
    idf = {term: _idf(len(postings.chunks), documents) for term, postings in found.items()}
    total = sum(idf.values()) or 1.0
    result = Lexical(weights={term: value / total for term, value in idf.items()})
    for name in FIELDS:
        scores = result.fields[name] = np.zeros(snapshot.files if name in FILE_FIELDS else snapshot.chunks, np.float32)
        norms = snapshot.norms(name, _K1[name], _B[name])
        for term, postings in found.items():
            docs, tfs = postings.fields[name]
            if len(docs):
                scores[docs] += np.float32(result.weights[term]) * (tfs / (tfs + norms[docs]))
    result.chunk_cover = np.zeros(snapshot.chunks, np.float32)
    result.file_cover = np.zeros(snapshot.files, np.float32)
    result.path_cover = np.zeros(snapshot.files, np.float32)
    for term, postings in found.items():
        weight = np.float32(result.weights[term])
        result.chunk_cover[postings.chunks] += weight
        paths, worth = postings.fields["path"]
        result.path_cover[paths] += weight * np.minimum(worth, np.float32(1))
        result.file_cover[files.union([snapshot.chunk_file[postings.chunks], paths])] += weight
    return result


def _idf(documents_with: int, documents: int) -> float:
    return math.log(1 + (documents - documents_with + 0.5) / (documents_with + 0.5))


@dataclass(frozen=True, slots=True)
class _Postings:
    """The documents of one word, its other forms included: by field with how often it stands there, and in any."""

    fields: dict[str, tuple[Places, Floats]]
    chunks: Places


class _Scratch:
    """Arrays as long as the index, cleared after each use: to unite sets of documents without sorting them."""

    def __init__(self, size: int) -> None:
        self._marks = np.zeros(size, dtype=bool)
        self._sums = np.zeros(size, np.float32)

    def union(self, sets: Sequence[Places]) -> Places:
        """The members of any of the sets, in order."""
        if sum(map(len, sets)) * _SPARSE < len(self._marks):
            members = np.concatenate([_NONE, *sets])
            members.sort()
            again = np.zeros(len(members), dtype=bool)
            np.equal(members[1:], members[:-1], out=again[1:])
            return members[~again]
        for members in sets:
            self._marks[members] = True
        united = np.flatnonzero(self._marks)
        self._marks[united] = False
        return united

    def summed(self, sets: Sequence[Places], values: Sequence[Floats]) -> tuple[Places, Floats]:
        """The members of any of the sets with the sums of their values; no set has a member twice."""
        if len(sets) == 1:
            return sets[0], values[0]
        for members, own in zip(sets, values, strict=True):
            self._sums[members] += own
        united = self.union(sets)
        sums = self._sums[united]
        self._sums[united] = 0
        return united, sums


def _gather(snapshot: SearchSnapshot, term: str, chunks: _Scratch, files: _Scratch) -> _Postings:
    docs: dict[str, list[Places]] = {name: [] for name in FIELDS}
    tfs: dict[str, list[Floats]] = {name: [] for name in FIELDS}
    for number, segment in enumerate(snapshot.segments):
        for place, worth in forms(segment.terms, term):
            for name, (found, often) in segment.postings(place).items():
                start = snapshot.file_at[number] if name in FILE_FIELDS else snapshot.chunk_at[number]
                docs[name].append(np.add(found, start, dtype=np.int64))
                tfs[name].append(np.multiply(often, worth, dtype=np.float32))
    if snapshot.hides_paths:
        docs["path"], tfs["path"] = [], []
    # Several forms may stand in one document, none of them twice.
    fields = {name: (files if name in FILE_FIELDS else chunks).summed(docs[name], tfs[name]) for name in FIELDS}
    return _Postings(fields, chunks.union([fields[name][0] for name in CHUNK_FIELDS]))


def forms(terms: Terms, term: str) -> Iterator[tuple[int, float]]:
    """The places of a word and of its other forms among sorted terms, each with what it is worth."""
    stemmed = stem(term)
    head = head_of(stemmed)
    if len(head) < 3 or not term.isascii() or not term.isalpha():
        place = terms.find(term)
        if place is not None:
            yield place, 1.0
        return
    base = inflected(term)
    for place, word in zip(*terms.beginning(head, len(head) + LONGEST_ENDING), strict=True):
        if word == term:
            yield place, 1.0
        elif stem(word) == stemmed:
            yield place, _FORM if inflected(word) == base else _DERIVED
