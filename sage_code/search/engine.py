"""Ranks the chunks of a project for a query. A search takes these steps:

    string → query       `query.py`, before the index is opened
    query → candidates   `candidates.py`: the best chunks by words (`lexical.py`), meaning (`dense.py`) and names
    → features           `features.py`: named numbers about each candidate
    → scores             `ranking.py`: weighted sums, and probabilities made of them
    → first, verbatim    `verbatim.py`: the few places where the text of the query stands word for word
    → hits               `hits.py`: locations and snippets

This module does what is in the middle. A `SearchEngine` reads one snapshot and answers any number of queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sage_code.embed.bundled import BundledEmbedder
from sage_code.search.candidates import (
    Signals,
    View,
    choose,
    defining_chunks,
    framed_files,
    mentioned_files,
    propose,
)
from sage_code.search.dense import DenseIndex
from sage_code.search.features import NAMES, Candidates, measure
from sage_code.search.filters import apply_filters
from sage_code.search.lexical import TermPostings
from sage_code.search.phrases import Phrases
from sage_code.search.query import Query
from sage_code.search.ranking import Ranking, learned
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.soft import WordMeanings
from sage_code.search.top import Floats, Mask
from sage_code.search.verbatim import ReadText, find_verbatim

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

_DEFINES, _COVER = (NAMES.index(name) for name in ("defines", "cover"))
_WHOLE = 0.999
# How far a place where the text of the query stands word for word is ahead of all others: a probability of about 0.99.
_LEAD = 5.0


class Ranked(NamedTuple):
    """The best chunk of a file, with the probability that it answers."""

    chunk: int
    file: int
    probability: float
    good: bool  # whether the query seems to be about the project at all
    features: Floats
    also: tuple[int, ...]  # other good chunks of the same file
    file_total: float  # the highest score of the file, which is another chunk's where a name is asked for
    margin: float  # of the file, as log odds
    relevance: float  # the probability that the query is about the project
    lift: float = 0.0  # what was added to its score because the text of the query stands there word for word
    lines: tuple[int, ...] = ()  # and the lines where it stands
    is_verbatim: bool = False  # whether that is so: there is nothing to add if no other file answers

    def is_found(self, query: Query) -> bool:
        """Whether the chunk has what was asked for to the letter: it defines the name, has the one word, or the whole
        text. Such a chunk answers, even with a low score."""
        one_word = query.kind == "symbol" or len(query.terms) == 1
        has = self.features[_DEFINES] or (len(query.terms) == 1 and self.features[_COVER] >= _WHOLE)
        return self.is_verbatim or (one_word and bool(has))


class SearchEngine:
    """Ranks the chunks of one snapshot."""

    def __init__(
        self,
        snapshot: SearchSnapshot,
        embedder: Embedder,
        ranking: Ranking | None = None,
        read: ReadText | None = None,
        dense: DenseIndex | None = None,
        meanings: WordMeanings | None = None,
    ) -> None:
        """Without `read`, which gives the texts of files, only words tell where the text of a query stands. `dense`
        and `meanings` are given where they outlive the snapshot."""
        self.snapshot, self._embedder, self._read = snapshot, embedder, read
        self.ranking = ranking or learned()
        self._dense = dense or DenseIndex(snapshot)
        # The vectors of words are the bundled model's, whatever model the index was made with.
        self._meanings = meanings or word_meanings(embedder)

    def rank(self, query: Query, limit: int) -> list[Ranked]:
        """The best chunk of each of the best files, best first."""
        candidates = self.candidates(query)
        scores = self.ranking.scores(candidates.matrix)
        return self._best_of_files(query, candidates, scores, limit)

    def candidates(self, query: Query) -> Candidates:
        """The chunks that may answer, with their features."""
        snapshot = self.snapshot
        allowed = apply_filters(snapshot, query.filters)
        is_long = query.title_terms != query.terms
        asked = self._embedder.embed_query([query.title, query.text] if is_long else [query.text])
        near = [self._dense.nearness(vector, allowed.chunks) for vector in asked]
        words = TermPostings(snapshot, dict(zip(query.terms, query.importance, strict=True)))
        whole = View(words, near[-1])
        title = View(words.only(query.title_terms), near[0]) if is_long else whole
        signals = Signals(
            title, whole, defining_chunks(snapshot, query), mentioned_files(snapshot, query),
            framed_files(snapshot, query), Phrases(query, words), find_verbatim(snapshot, query, allowed, self._read),
        )  # fmt: skip
        pool = propose(snapshot, signals, allowed)
        chosen = choose(snapshot, query, pool, signals, allowed)
        for view, vector, found in zip((pool.title, pool.whole), asked, near, strict=False):
            if found.chunks is not None:  # a large snapshot: only the nearest have an exact cosine so far
                view.dense[chosen] = self._dense.scores_of(pool.chunks[chosen], vector)
        return measure(snapshot, query, pool, chosen, signals, self._meanings)

    def _best_of_files(self, query: Query, candidates: Candidates, scores: Floats, limit: int) -> list[Ranked]:
        """Groups the candidates by file and turns the best score of each file into a probability."""
        chunks, matrix, verbatim = candidates.chunks, candidates.matrix, candidates.verbatim
        is_there = np.zeros(len(chunks), dtype=bool)
        lift = 0.0
        if verbatim.chunks:
            is_there = np.isin(chunks, sorted(verbatim.chunks))
            lift = _lift(scores, is_there, self.ranking.none) if verbatim.leads else 0.0
            scores = (scores + lift * is_there).astype(np.float32)
        by_file: dict[int, list[int]] = {}
        files = candidates.files.tolist()
        for row in np.lexsort((chunks, candidates.by_path, -scores)).tolist():
            by_file.setdefault(files[row], []).append(row)
        firsts = [rows[0] for rows in by_file.values()]
        margins = self.ranking.margins(scores[firsts]).tolist()
        relevance, good = self.ranking.relevance(matrix[firsts[0]], margins[0]) if firsts else (0.0, False)
        if is_there.any():
            relevance, good = (1.0 if verbatim.leads else relevance), True
        best = []
        for (file, rows), margin in zip(list(by_file.items())[:limit], margins, strict=False):
            total = float(scores[rows[0]])
            if query.kind == "symbol":  # a query for a name wants its definition, even if another chunk scores higher
                rows.sort(key=lambda row: (not is_there[row], -matrix[row, _DEFINES]))
            first, *others = rows
            also = tuple(int(chunks[row]) for row in others)
            probability = relevance * self.ranking.probability(margin)
            own = matrix[first]
            best.append(
                Ranked(
                    int(chunks[first]), file, probability, good, own, also, total, margin, relevance,
                    lift if is_there[first] else 0.0, verbatim.lines.get(file, ()), bool(is_there[first]),
                )
            )  # fmt: skip
        return best


def word_meanings(embedder: Embedder) -> WordMeanings:
    """The meanings of single words, for a ranking that uses this model."""
    return WordMeanings(embedder if isinstance(embedder, BundledEmbedder) else BundledEmbedder())


def _lift(scores: Floats, is_there: Mask, none: float) -> float:
    """What brings all of some candidates ahead of all others together, and of no answer."""
    if not is_there.any():
        return 0.0
    # Sorted: in which order chunks are numbered depends on the history of the index, and must not decide a sum.
    others = np.sort(np.append(scores[~is_there], none).astype(np.float64))
    highest = float(others.max())
    together = highest + float(np.log(np.exp(others - highest).sum()))
    return max(together + _LEAD - float(scores[is_there].min()), 0.0)
