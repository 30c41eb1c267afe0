"""Which knowledge belongs to a question: 70 % meaning and 30 % keywords, over the signals that are there.

With fixed shares an item without a keyword in the question could score no more than 0.7, and one whose threshold is
0.70 would never be recalled. So a signal that says nothing takes no part: without a keyword in the question, meaning
alone decides; a keyword that is there can raise a score and never lowers it.
"""

from __future__ import annotations

EMBEDDING_WEIGHT, KEYWORD_WEIGHT = 0.70, 0.30
# How surely an item is meant by one keyword that stands in the question, and by one that shares a part with it.
EXACT, PART = 0.8, 0.35
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
    return max(meaning, both)


def arithmetic(meaning: float, keywords: float | None, embedding_weight: float, keyword_weight: float) -> str:
    """How a score came about, in a line."""
    score = combined(meaning, keywords, embedding_weight, keyword_weight)
    if keywords is None:
        return f"meaning {meaning:.3f}, no keyword in the question = {score:.3f}"
    total = embedding_weight + keyword_weight or 1.0
    both = (embedding_weight * meaning + keyword_weight * keywords) / total
    sum_of_both = f"({embedding_weight:g} × {meaning:.3f} + {keyword_weight:g} × {keywords:.3f}) / {total:g}"
    return f"max(meaning {meaning:.3f}, {sum_of_both} = {both:.3f}) = {score:.3f}"
