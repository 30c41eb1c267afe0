"""Which chunks and files hold the words of a question, and how much that says: BM25 over four fields.

Scores are shares of what a perfect document would get, so they mean the same for short and long questions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.sections import Strings
from sage_code.compiled.segment import CHUNK_FIELDS, FIELDS, FILE_FIELDS
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.words import head_of, inflected, stem

_K1 = {"body": 1.5, "name": 1.2, "doc": 1.2, "path": 1.0}
_B = {"body": 0.75, "name": 0.4, "doc": 0.6, "path": 0.3}
# What another form of a word is worth (`retries` for `retry`), and a word derived from it (`parser` for `parse`).
_FORM, _DERIVED = 0.85, 0.6
# Looking further than this through words with the same beginning finds no more forms, only more words.
_MAX_NEIGHBOURS = 400

Floats = NDArray[np.float32]


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
    found = {term: _Postings(snapshot, term) for term in terms}
    documents = max(snapshot.chunks, 1)
    idf = {term: _idf(int(np.count_nonzero(postings.chunks)), documents) for term, postings in found.items()}
    total = sum(idf.values()) or 1.0
    result = Lexical(weights={term: value / total for term, value in idf.items()})
    for name in FIELDS:
        result.fields[name] = np.zeros(snapshot.files if name in FILE_FIELDS else snapshot.chunks, np.float32)
    result.chunk_cover = np.zeros(snapshot.chunks, np.float32)
    result.file_cover = np.zeros(snapshot.files, np.float32)
    result.path_cover = np.zeros(snapshot.files, np.float32)
    for name in FIELDS:
        lengths = snapshot.lengths(name)
        average = float(lengths.mean()) if len(lengths) else 1.0
        for term, postings in found.items():
            docs, tfs = postings.of(name)
            if not len(docs):
                continue
            norm = 1 - _B[name] + _B[name] * lengths[docs] / max(average, 1.0)
            result.fields[name][docs] += result.weights[term] * tfs / (tfs + _K1[name] * norm)
    for term, postings in found.items():
        weight = result.weights[term]
        result.chunk_cover += np.float32(weight) * postings.chunks
        in_file = np.zeros(snapshot.files, dtype=bool)
        in_file[snapshot.chunk_file[postings.chunks]] = True
        paths, worth = postings.of("path")
        result.path_cover[paths] += weight * np.minimum(worth, 1.0)
        in_file[paths] = True
        result.file_cover += np.float32(weight) * in_file
    return result


def _idf(documents_with: int, documents: int) -> float:
    return math.log(1 + (documents - documents_with + 0.5) / (documents_with + 0.5))


class _Postings:
    """The documents of one word in every field, its other forms included."""

    def __init__(self, snapshot: SearchSnapshot, term: str) -> None:
        self._snapshot, self._term = snapshot, term
        self._fields: dict[str, tuple[NDArray[np.int64], Floats]] = {}

    def of(self, name: str) -> tuple[NDArray[np.int64], Floats]:
        """Documents and how often the word stands there; another form counts for less."""
        if name not in self._fields:
            self._fields[name] = self._gather(name)
        return self._fields[name]

    @cached_property
    def chunks(self) -> NDArray[np.bool_]:
        """Which chunks have the word in any field."""
        found = np.zeros(self._snapshot.chunks, dtype=bool)
        for name in CHUNK_FIELDS:
            found[self.of(name)[0]] = True
        return found

    def _gather(self, name: str) -> tuple[NDArray[np.int64], Floats]:
        docs: list[NDArray[np.int64]] = []
        tfs: list[Floats] = []
        for segment, terms, start in self._snapshot.parts(name):
            for place, worth in forms(terms, self._term):
                first, end = segment.arrays[f"{name}_starts"][place : place + 2].tolist()
                docs.append(segment.arrays[f"{name}_docs"][first:end].astype(np.int64) + start)
                tfs.append(segment.arrays[f"{name}_tfs"][first:end].astype(np.float32) * np.float32(worth))
        if not docs:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if len(docs) == 1:
            return docs[0], tfs[0]
        # Several forms may stand in one document; no form stands there twice.
        sums = np.zeros(len(self._snapshot.lengths(name)), np.float32)
        for numbers, often in zip(docs, tfs, strict=True):
            sums[numbers] += often
        found = np.flatnonzero(sums)
        return found, sums[found]


def forms(terms: Strings, term: str) -> Iterator[tuple[int, float]]:
    """The places of a word and of its other forms among sorted terms, each with what it is worth."""
    stemmed = stem(term)
    head = head_of(stemmed)
    if len(head) < 3 or not term.isascii() or not term.isalpha():
        place = terms.find(term)
        if place is not None:
            yield place, 1.0
        return
    base = inflected(term)
    wanted = head.encode()
    first = terms.lower_bound(wanted)
    for place, raw in enumerate(terms.run(first, first + _MAX_NEIGHBOURS), first):
        if not raw.startswith(wanted):
            return
        word = raw.decode("utf-8", "surrogatepass")
        if word == term:
            yield place, 1.0
        elif stem(word) == stemmed:
            yield place, _FORM if inflected(word) == base else _DERIVED
