"""The score of a knowledge item for a question: 70 % meaning and 30 % keywords, if both signals are present.

With fixed weights, an item without a keyword in the question could score at most 0.7, and items with a threshold of
0.70 would never be recalled. So a missing signal is left out: without a keyword in the question, the score is the
meaning, and a keyword can raise a score but never lower it.

A weighted mean is never above the higher signal, although two signs of the same thing make it more probable. So the
signals are also added up as evidence (log-odds), and the larger result is the score: a question in other words that
contains a keyword of the item reaches 0.70 from a meaning of 0.45.
"""

from __future__ import annotations

import math

EMBEDDING_WEIGHT, KEYWORD_WEIGHT = 0.70, 0.30
# The probability that an item is meant, if a keyword of it is in the question, or shares a part with it.
EXACT, PARTIAL = 0.8, 0.35
# What a keyword with probability 1 adds to the log-odds of the meaning. On the even lines of
# `benchmarks/recall_pairs.txt`, 10 of 18 questions in other words recall their item with it (3 without), and 1 of 18
# that only share a keyword (0 without). Held out: 5 (2) and 1 (0). Of 1,260 pairs with other items: none.
EVIDENCE = 1.3
# Shorter words are part of too many others.
MIN_PART_CHARS = 4


def combined(
    meaning: float | None,
    keywords: float | None,
    embedding_weight: float = EMBEDDING_WEIGHT,
    keyword_weight: float = KEYWORD_WEIGHT,
) -> float:
    """The score of an item from the signals that are present."""
    if keywords is None or keyword_weight == 0:
        return (meaning or 0.0) if embedding_weight else 0.0
    if meaning is None or embedding_weight == 0:
        return keywords
    both = (embedding_weight * meaning + keyword_weight * keywords) / (embedding_weight + keyword_weight)
    return max(meaning, both, _as_evidence(meaning, keywords, embedding_weight, keyword_weight))


def _as_evidence(meaning: float, keywords: float, embedding_weight: float, keyword_weight: float) -> float:
    """Both signals added up in log-odds; the keywords count in proportion to their weight."""
    share = keyword_weight / (embedding_weight + keyword_weight) / KEYWORD_WEIGHT
    inside = min(max(meaning, 1e-6), 1 - 1e-6)
    odds = math.log(inside / (1 - inside)) + EVIDENCE * share * keywords
    return 1 / (1 + math.exp(-odds))


def arithmetic(meaning: float, keywords: float | None, embedding_weight: float, keyword_weight: float) -> str:
    """The calculation of a score in one line."""
    score = combined(meaning, keywords, embedding_weight, keyword_weight)
    if keywords is None:
        return f"meaning {meaning:.3f}, no keyword in the question = {score:.3f}"
    total = embedding_weight + keyword_weight or 1.0
    both = (embedding_weight * meaning + keyword_weight * keywords) / total
    sum_of_both = f"({embedding_weight:g} × {meaning:.3f} + {keyword_weight:g} × {keywords:.3f}) / {total:g}"
    added = _as_evidence(meaning, keywords, embedding_weight, keyword_weight) if keyword_weight else meaning
    return f"max(meaning {meaning:.3f}, {sum_of_both} = {both:.3f}, both as evidence {added:.3f}) = {score:.3f}"
