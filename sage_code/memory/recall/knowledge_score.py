"""Which knowledge belongs to a question: 70 % meaning and 30 % keywords, over the signals that are there.

With fixed shares an item without a keyword in the question could score no more than 0.7, and one whose threshold is
0.70 would never be recalled. So a signal that says nothing takes no part: without a keyword in the question, meaning
alone decides; a keyword that is there can raise a score and never lowers it.

A mean of two signals is never above the higher one, although two signs of the same thing make it surer. So both are
added up as evidence (log-odds) as well, and the better of the two counts: a question in other words that has one of the
item's keywords reaches 0.70 from a meaning of 0.45 on.
"""

from __future__ import annotations

import math

EMBEDDING_WEIGHT, KEYWORD_WEIGHT = 0.70, 0.30
# How surely an item is meant by one keyword that stands in the question, and by one that shares a part with it.
EXACT, PART = 0.8, 0.35
# What a keyword that is surely meant adds to the log-odds of the meaning. On the even lines of
# `benchmarks/recall_pairs.txt` 10 of 18 questions in other words recall their item with it (3 without), 1 of 18 that
# only share a keyword (0); held out 5 (2) and 1 (0); of 1,260 pairs of other items none.
EVIDENCE = 1.3
# Shorter words are part of every other one.
MIN_PART_CHARS = 4


def combined(
    meaning: float | None,
    keywords: float | None,
    embedding_weight: float = EMBEDDING_WEIGHT,
    keyword_weight: float = KEYWORD_WEIGHT,
) -> float:
    """The score of an item, from the signals that are there."""
    if keywords is None or keyword_weight == 0:
        return (meaning or 0.0) if embedding_weight else 0.0
    if meaning is None or embedding_weight == 0:
        return keywords
    both = (embedding_weight * meaning + keyword_weight * keywords) / (embedding_weight + keyword_weight)
    return max(meaning, both, _as_evidence(meaning, keywords, embedding_weight, keyword_weight))


def _as_evidence(meaning: float, keywords: float, embedding_weight: float, keyword_weight: float) -> float:
    """Both signals added up in log-odds; a larger share of keywords makes theirs count for more."""
    share = keyword_weight / (embedding_weight + keyword_weight) / KEYWORD_WEIGHT
    inside = min(max(meaning, 1e-6), 1 - 1e-6)
    odds = math.log(inside / (1 - inside)) + EVIDENCE * share * keywords
    return 1 / (1 + math.exp(-odds))


def arithmetic(meaning: float, keywords: float | None, embedding_weight: float, keyword_weight: float) -> str:
    """How a score came about, in a line."""
    score = combined(meaning, keywords, embedding_weight, keyword_weight)
    if keywords is None:
        return f"meaning {meaning:.3f}, no keyword in the question = {score:.3f}"
    total = embedding_weight + keyword_weight or 1.0
    both = (embedding_weight * meaning + keyword_weight * keywords) / total
    sum_of_both = f"({embedding_weight:g} × {meaning:.3f} + {keyword_weight:g} × {keywords:.3f}) / {total:g}"
    added = _as_evidence(meaning, keywords, embedding_weight, keyword_weight) if keyword_weight else meaning
    return f"max(meaning {meaning:.3f}, {sum_of_both} = {both:.3f}, both as evidence {added:.3f}) = {score:.3f}"
