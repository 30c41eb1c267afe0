"""The query, step by step: understand → score words and meaning → choose candidates → measure → rank → best of a file.

A `SearchEngine` holds one snapshot and its model, and may be asked many times; it never changes what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.lookup import SymbolFiles
from sage_code.kinds import TEXT_KINDS
from sage_code.search.dense import DenseIndex
from sage_code.search.features import NAMES, Candidates, measure
from sage_code.search.filters import Allowed, allowed
from sage_code.search.lexical import Lexical, lexical
from sage_code.search.query import Query
from sage_code.search.ranking import Ranking, learned
from sage_code.search.snapshot import SearchSnapshot

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

# Chunks and files that each signal may propose.
_BY_SIGNAL = 200
_BY_PATH = 60
_TOP_SHARES = (0.7, 0.4, 0.0)
# Files that are measured, and chunks of each: what the cheap signals together put first.
_FILES = 96
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


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its score and what the score is made of."""

    chunk: int
    file: int
    score: float
    row: NDArray[np.float32]
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
        self._symbols = SymbolFiles(snapshot.root)

    def rank(self, query: Query, limit: int) -> list[Ranked]:
        """The best chunk of each of the best files, best first."""
        found = self.candidates(query)
        scores = self.ranking.scores(found.matrix, query.kind)
        by_file: dict[int, list[int]] = {}
        for place in np.lexsort((found.chunks, -scores)).tolist():
            by_file.setdefault(int(found.files[place]), []).append(place)
        best = []
        for file, places in list(by_file.items())[:limit]:
            score = float(scores[places[0]])
            if query.kind == "symbol":  # who asks for a name wants its definition, whatever else the file says of it
                places.sort(key=lambda place: -found.matrix[place, _DEFINES])
            first, *others = places
            also = tuple(int(found.chunks[place]) for place in others)
            best.append(Ranked(int(found.chunks[first]), file, score, found.matrix[first], also))
        return best

    def candidates(self, query: Query) -> Candidates:
        """Everything that may be the answer, measured."""
        snapshot = self.snapshot
        words = lexical(snapshot, query.terms)
        vector = self._embedder.embed_query([query.text])[0]
        near = self._dense.nearness(vector)
        defined = dict(self._defined(query))
        chunks = self._choose(words, near.scores, defined, allowed(snapshot, query.filters))
        if not self._dense.exact and vector.any():
            near.scores[chunks] = self._dense.scores_of(chunks, vector)
        return measure(snapshot, query, chunks, words, near, defined)

    def _choose(
        self, words: Lexical, dense: NDArray[np.float32], defined: dict[int, float], may: Allowed
    ) -> NDArray[np.int64]:
        """The chunks worth measuring: the best few of every file that any signal proposes."""
        snapshot = self.snapshot
        fields = words.fields
        signals = (fields["body"], fields["name"], fields["doc"], dense)
        wanted = np.zeros(snapshot.files, dtype=bool)
        for signal in signals:
            wanted[snapshot.chunk_file[_top(may.among_chunks(signal), _BY_SIGNAL)]] = True
        wanted[_top(may.among_files(fields["path"]), _BY_PATH)] = True
        wanted[snapshot.chunk_file[list(defined)]] = True
        members, _ = snapshot.chunks_of(np.flatnonzero(wanted))
        if may.chunks is not None:
            members = members[may.chunks[members]]
        if not len(members):
            return members
        worth = sum(signal[members] / max(float(signal.max()), 1e-6) for signal in signals)
        assert isinstance(worth, np.ndarray)
        for chunk in defined:
            worth[members == chunk] += len(signals)
        files = snapshot.chunk_file[members]
        order = np.lexsort((-worth, files))
        # The place of each chunk within its file, best first.
        starts = np.flatnonzero(np.diff(files[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        place = np.arange(len(order)) - np.repeat(starts, sizes)
        files = files[order[starts]]
        together = worth[order[starts]] + words.file_cover[files] + 2 * words.path_cover[files]
        good = np.zeros(len(files), dtype=bool)
        good[np.argsort(-together, kind="stable")[:_FILES]] = True
        return np.sort(members[order[(place < _PER_FILE) & np.repeat(good, sizes)]])

    def _defined(self, query: Query) -> Iterator[tuple[int, float]]:
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
        yield from sure.items()


def _top(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """The places of the largest values above zero."""
    peak = float(values.max(initial=0.0))
    places = np.empty(0, np.int64)
    for share in _TOP_SHARES:  # mostly a few are far above the rest, and only those are put in order
        places = np.flatnonzero(values > peak * share)
        if len(places) >= count:
            found = values[places]
            return places[np.argpartition(found, len(found) - count)[-count:]]
    return places
