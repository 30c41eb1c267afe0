"""Which memories answer a question: their words (BM25) and their meaning (vectors), with what stands beside them.

Both signals are shares from 0 to 1 that mean the same in every collection, so that they can be added up, and so that
`calibration` can turn them into a probability. Weights were chosen on one half of LoCoMo's conversations and hold on
the other (`benchmarks/locomo.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sage_code.memory.index.passages import Floats, Passages
from sage_code.search.words import STOP_WORDS, stem
from sage_code.text.lexemes import lexemes

# A small collection knows little about how rare a word is: it is taken as part of one of this size, in which every
# word stands in this many texts. Otherwise the words of the only text about a thing would count for nothing.
_ELSEWHERE, _ELSEWHERE_WITH = 200.0, 2.0


@dataclass(frozen=True, slots=True)
class Weights:
    """What each signal counts for."""

    k1: float = 0.3  # memories are short: a word that stands there twice says little more than once
    b: float = 0.2
    dense: float = 0.1
    near: float = 0.4  # the words and the meaning of what it goes on from, and of what goes on from it
    far: float = 0.35  # and of their neighbours
    name: float = 0.2  # the question names whose memory it is


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known about every row for one question."""

    words: Floats  # share of the question's words, by weight, 0 to 1
    dense: Floats  # cosine
    score: Floats  # all signals together; only for putting in order


def words_of(question: str) -> tuple[str, ...]:
    """The words of a question that say something, as stems; all of them when none does."""
    found = lexemes(question)
    said = [word for word in found if word not in STOP_WORDS] or found
    return tuple(dict.fromkeys(stem(word) for word in said))


def signals(passages: Passages, question: str, vector: Floats, weights: Weights = DEFAULT) -> Signals:
    """Score every row; those that are no longer alive get nothing."""
    terms = words_of(question)
    words = _lexical(passages, terms, weights)
    dense: Floats = passages.vectors @ vector
    dense = np.where(passages.alive, dense, np.float32(0))
    score: Floats = words + weights.dense * np.maximum(dense, 0).astype(np.float32)
    neighbours = passages.neighbours()
    if neighbours is not None:
        score = _with_context(score, *neighbours, weights)
    for name, rows in passages.named.items():
        # A name that every memory bears tells none from another.
        if int(passages.alive[rows].sum()) < len(passages) and set(words_of(name)) <= set(terms):
            score[rows] += np.float32(weights.name)
    score[~passages.alive] = -1
    return Signals(words, dense, score)


def best(found: Signals, limit: int) -> list[int]:
    """The rows with the best scores, best first; of equals the later one, which is newer."""
    score = found.score[::-1]
    count = min(limit, len(score))
    if not count:
        return []
    nearest = np.argpartition(-score, count - 1)[:count] if count < len(score) else np.arange(len(score))
    ordered = nearest[np.argsort(-score[nearest], kind="stable")]
    rows: list[int] = (len(score) - 1 - ordered).tolist()
    return [row for row in rows if found.score[row] >= 0]


def _lexical(passages: Passages, terms: Sequence[str], weights: Weights) -> Floats:
    total = len(passages) + _ELSEWHERE
    # Rows that were replaced or removed count for nothing: the same memories give the same scores.
    found = {term: _living(passages, *passages.postings(term)) for term in terms}
    rarity = {
        term: math.log(1 + (total - len(rows)) / (len(rows) + _ELSEWHERE_WITH)) for term, (rows, _) in found.items()
    }
    sum_of_all = sum(rarity.values()) or 1.0
    scores = np.zeros(len(passages.records), np.float32)
    average = max(float(passages.lengths[passages.alive].mean()) if len(passages) else 1.0, 1.0)
    for term, (rows, counts) in found.items():
        if len(rows):
            norm = 1 - weights.b + weights.b * passages.lengths[rows] / average
            scores[rows] += np.float32(rarity[term] / sum_of_all) * counts / (counts + np.float32(weights.k1) * norm)
    # The share that a text of average length gets that has every word once.
    share: Floats = np.minimum(scores * np.float32(1 + weights.k1), np.float32(1))
    return share


def _living(
    passages: Passages, rows: NDArray[np.int32], counts: NDArray[np.float32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    living = passages.alive[rows]
    return rows[living], counts[living]


def _with_context(score: Floats, before: NDArray[np.int32], after: NDArray[np.int32], weights: Weights) -> Floats:
    padded = np.append(score, np.float32(0))  # where -1 points
    before, after = np.append(before, -1), np.append(after, -1)
    near = padded[before] + padded[after]
    far = padded[before[before]] + padded[after[after]]
    total: Floats = padded + np.float32(weights.near) * near + np.float32(weights.far) * far
    return total[:-1]
