"""Scores all memories for a question by words (BM25), meaning (vectors) and the passages around them.

Words and meaning are shares from 0 to 1 that are comparable between collections, so they can be added up, and
`calibration` can turn them into a probability. The weights were chosen on one half of LoCoMo's conversations and tested
on the other (`benchmarks/locomo.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sage_code.memory.index.passages import Floats, Passages
from sage_code.text.lexemes import lexemes
from sage_code.text.stems import STOP_WORDS, stem

# A small collection says little about how rare a word is. So more texts are assumed, some of them with the word;
# otherwise the words of the only text about a topic would have no weight.
_ASSUMED_TEXTS, _ASSUMED_WITH_WORD = 200.0, 2.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of the signals."""

    k1: float = 0.3  # memories are short, so a second occurrence of a word adds little
    b: float = 0.2
    dense: float = 0.1
    near: float = 0.4  # the score of the passage before and of the passage after
    far: float = 0.35  # the score of the passages two steps away
    name: float = 0.2  # the question names the speaker, project or skill


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Signals:
    """The signals of every row for one question."""

    words: Floats  # weighted share of the question's words, 0 to 1
    dense: Floats  # cosine
    score: Floats  # all signals together; only for sorting


def words_of(question: str) -> tuple[str, ...]:
    """The distinct stems of a question without stop words, or with them if it has no other words."""
    found = lexemes(question)
    kept = [word for word in found if word not in STOP_WORDS] or found
    return tuple(dict.fromkeys(map(stem, kept)))


def signals(passages: Passages, terms: Sequence[str], vector: Floats, weights: Weights = DEFAULT) -> Signals:
    """Score every row by the words (`words_of`) and the vector of a question; rows that are not alive score -1."""
    words = _lexical(passages, terms, weights)
    dense: Floats = passages.vectors @ vector
    dense = np.where(passages.alive, dense, np.float32(0))
    score: Floats = words + weights.dense * np.maximum(dense, 0).astype(np.float32)
    neighbours = passages.neighbours()
    if neighbours is not None:
        score = _with_context(score, *neighbours, weights)
    for name, rows in passages.named.items():
        # A name that every memory has does not distinguish them.
        if int(passages.alive[rows].sum()) < len(passages) and set(words_of(name)) <= set(terms):
            score[rows] += np.float32(weights.name)
    score[~passages.alive] = -1
    return Signals(words, dense, score)


def best(found: Signals, limit: int) -> list[int]:
    """The rows with the best scores, best first; among equal scores the later, newer row comes first."""
    score = found.score[::-1]
    count = min(limit, len(score))
    if not count:
        return []
    nearest = np.argpartition(-score, count - 1)[:count] if count < len(score) else np.arange(len(score))
    ordered = nearest[np.argsort(-score[nearest], kind="stable")]
    rows: list[int] = (len(score) - 1 - ordered).tolist()
    return [row for row in rows if found.score[row] >= 0]


def _lexical(passages: Passages, terms: Sequence[str], weights: Weights) -> Floats:
    """The BM25 score of every row, as a share of what a text with every word once would get."""
    total = len(passages) + _ASSUMED_TEXTS
    # Only living rows count, so that the same memories give the same scores.
    found = {}
    for term in terms:
        rows, counts = passages.postings(term)
        found[term] = rows[passages.alive[rows]], counts[passages.alive[rows]]
    rarity = {
        term: math.log(1 + (total - len(rows)) / (len(rows) + _ASSUMED_WITH_WORD)) for term, (rows, _) in found.items()
    }
    sum_of_all = sum(rarity.values()) or 1.0
    scores = np.zeros(len(passages.records), np.float32)
    average = max(float(passages.lengths[passages.alive].mean()) if len(passages) else 1.0, 1.0)
    for term, (rows, counts) in found.items():
        if len(rows):
            norm = 1 - weights.b + weights.b * passages.lengths[rows] / average
            scores[rows] += np.float32(rarity[term] / sum_of_all) * counts / (counts + np.float32(weights.k1) * norm)
    # A text of average length that has every word once gets a share of 1.
    share: Floats = np.minimum(scores * np.float32(1 + weights.k1), np.float32(1))
    return share


def _with_context(score: Floats, before: NDArray[np.int32], after: NDArray[np.int32], weights: Weights) -> Floats:
    """The scores with shares of the scores of neighbours added."""
    padded = np.append(score, np.float32(0))  # -1 selects this last element
    before, after = np.append(before, -1), np.append(after, -1)
    near = padded[before] + padded[after]
    far = padded[before[before]] + padded[after[after]]
    total: Floats = padded + np.float32(weights.near) * near + np.float32(weights.far) * far
    return total[:-1]
