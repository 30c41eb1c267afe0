"""The query, step by step: understand → score words and meaning → choose candidates → measure → rank → best of a file.

A `SearchEngine` holds one snapshot and its model, and may be asked many times; it never changes what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sage_code.compiled.segment import CHUNK_FIELDS
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.search.dense import DenseIndex, Nearness
from sage_code.search.features import NAMES, Candidates, Pool, measure
from sage_code.search.filters import Allowed, allowed
from sage_code.search.lexical import Words
from sage_code.search.query import Query
from sage_code.search.ranking import Ranking, learned
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Places

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

# Chunks and files that each signal may propose.
_BY_SIGNAL = 200
_BY_PATH = 60
# Files that are measured, and chunks of each: what the cheap signals together put first.
_FILES = 64
_PER_FILE = 3
# A name that is defined more often than this says little about any of its definitions.
_MAX_DEFINITIONS = 40
# And one that so many symbols have, keys and headings included, is not looked at.
_MAX_NAMESAKES = 200
_DEFINES = NAMES.index("defines")
# A word that is also somebody's name, against what can only be a name.
_LOOSE_SURETY = 0.6
# Who asks for a name mostly means the type or the function, not a member of the same name.
_SURETY = {
    "constructor": 0.8,
    "method": 0.8,
    "constant": 0.7,
    "variable": 0.6,
    "field": 0.5,
    "property": 0.5,
    "module": 0.6,
}


class Ranked(NamedTuple):
    """A chunk with the probability that it answers, and what speaks for it."""

    chunk: int
    file: int
    probability: float
    good: bool  # whether the question seems to be about the project at all
    row: Floats
    also: tuple[int, ...]  # other good chunks of the same file

    def is_definition(self, query: Query) -> bool:
        """Whether a question that is a name has its definition here: that is an answer, whatever the score."""
        return (query.kind == "symbol" or len(query.terms) == 1) and bool(self.row[_DEFINES])


class SearchEngine:
    """Ranks the chunks of one project for questions."""

    def __init__(self, snapshot: SearchSnapshot, embedder: Embedder, ranking: Ranking | None = None) -> None:
        self.snapshot, self._embedder = snapshot, embedder
        self.ranking = ranking or learned()
        self._dense = DenseIndex(snapshot)
        self._symbols = snapshot.opened.symbols

    def rank(self, query: Query, limit: int) -> list[Ranked]:
        """The best chunk of each of the best files, best first."""
        found = self.candidates(query)
        scores = self.ranking.scores(found.matrix, query.kind)
        by_file: dict[int, list[int]] = {}
        for place in np.lexsort((found.chunks, found.by_path, -scores)).tolist():
            by_file.setdefault(int(found.files[place]), []).append(place)
        tops = [places[0] for places in by_file.values()]
        leads = self.ranking.leads(scores[tops]).tolist()
        about, good = self.ranking.about(found.matrix[tops[0]], leads[0]) if tops else (0.0, False)
        best = []
        for (file, places), lead in zip(list(by_file.items())[:limit], leads, strict=False):
            if query.kind == "symbol":  # who asks for a name wants its definition, whatever else the file says of it
                places.sort(key=lambda place: -found.matrix[place, _DEFINES])
            first, *others = places
            also = tuple(int(found.chunks[place]) for place in others)
            chance = about * self.ranking.probability(lead)
            best.append(Ranked(int(found.chunks[first]), file, chance, good, found.matrix[first], also))
        return best

    def candidates(self, query: Query) -> Candidates:
        """Everything that may be the answer, measured."""
        words = Words(self.snapshot, query.terms)
        may = allowed(self.snapshot, query.filters)
        vector = self._embedder.embed_query([query.text])[0]
        near = self._dense.nearness(vector, may.chunks)
        defined = self._defined(query)
        pool = self._pool(words, near, defined, may)
        chosen = self._choose(pool, defined, may)
        if near.places is not None:
            pool.dense[chosen] = self._dense.scores_of(pool.chunks[chosen], vector)
        return measure(self.snapshot, query, pool, chosen, words, near, defined)

    def _pool(self, words: Words, near: Nearness, defined: dict[int, float], may: Allowed) -> Pool:
        """The files that any signal proposes, with all their chunks."""
        snapshot = self.snapshot
        wanted = np.zeros(snapshot.files, dtype=bool)
        for field in CHUNK_FIELDS:
            wanted[snapshot.chunk_file[words.best(field, _BY_SIGNAL, may.chunks)]] = True
        wanted[snapshot.chunk_file[near.best(snapshot, _BY_SIGNAL, may.chunks)]] = True
        wanted[words.best("path", _BY_PATH, may.files)] = True
        wanted[snapshot.chunk_file[list(defined)]] = True
        files = np.flatnonzero(wanted)
        chunks, first = snapshot.chunks_of(files)
        return Pool(files, chunks, first, words.about(files, chunks, first), near.of(chunks))

    def _choose(self, pool: Pool, defined: dict[int, float], may: Allowed) -> Places:
        """The places in the pool that are worth measuring: the best few chunks of the best files."""
        words = pool.words
        signals = (*(words.fields[field] for field in CHUNK_FIELDS), pool.dense)
        worth = np.zeros(len(pool.chunks), np.float32)
        for signal in signals:
            worth += signal / max(float(signal.max(initial=0.0)), 1e-6)
        worth[np.searchsorted(pool.chunks, sorted(defined))] += len(signals)
        members = np.arange(len(pool.chunks)) if may.chunks is None else np.flatnonzero(may.chunks[pool.chunks])
        files = pool.file_of_chunk[members]
        order = np.lexsort((-worth[members], files))
        # The place of each chunk within its file, best first.
        starts = np.flatnonzero(np.diff(files[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        place = np.arange(len(order)) - np.repeat(starts, sizes)
        files = files[order[starts]]
        together = worth[members[order[starts]]] + words.file_cover[files] + 2 * words.path_cover[files]
        good = np.zeros(len(files), dtype=bool)
        good[np.lexsort((self.snapshot.file_hash[pool.files[files]], -together))[:_FILES]] = True
        return np.sort(members[order[(place < _PER_FILE) & np.repeat(good, sizes)]])

    def _defined(self, query: Query) -> dict[int, float]:
        """Chunks that define what the question names, and how surely that is meant."""
        sure: dict[int, float] = {}
        for names, surety in ((query.names, 1.0), (query.loose_names, _LOOSE_SURETY)):
            for name in names:
                found = self._symbols.find(name, patience=_MAX_NAMESAKES)
                found = [match for match in found if match["kind"] not in TEXT_KINDS]
                if len(found) > _MAX_DEFINITIONS:
                    continue
                for match in found:
                    file = self.snapshot.file_numbers.get(match["file"])
                    if file is not None:
                        chunk = self.snapshot.chunk_at_line(file, match["line"])
                        sure[chunk] = max(sure.get(chunk, 0.0), surety * _SURETY.get(match["kind"], 1.0))
        return sure
