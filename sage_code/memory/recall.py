"""Which knowledge belongs to a question: 70 % meaning and 30 % keywords, over the signals that are there.

With fixed shares an item without a keyword in the question could score no more than 0.7, and one whose threshold is
0.70 would never be recalled. So a signal that says nothing takes no part: without a keyword in the question, meaning
alone decides; a keyword that is there can raise a score and never lowers it.
"""

from __future__ import annotations

from collections.abc import Sequence

from sage_code.lexemes import lexemes
from sage_code.search.words import STOP_WORDS, stem

EMBEDDING_WEIGHT, KEYWORD_WEIGHT = 0.70, 0.30
# What one keyword that stands in the question says, and one that only begins or continues a word of it.
_EXACT, _PART = 0.8, 0.35
_MIN_PART_CHARS = 4


def keyword_score(question: str, keywords: Sequence[str]) -> float | None:
    """How surely the keywords are meant, 0 to 1; None when none of them stands in the question."""
    asked = question.lower()
    words = [word for word in lexemes(question) if word not in STOP_WORDS]
    stems = set(map(stem, words))
    doubt = 1.0
    for keyword in keywords:
        parts = [word for word in lexemes(keyword) if word not in STOP_WORDS] or lexemes(keyword)
        if parts and all(stem(part) in stems for part in parts):
            doubt *= 1 - _EXACT
        elif _overlaps(keyword.lower(), asked, words):
            doubt *= 1 - _PART
    return None if doubt == 1.0 else 1 - doubt


def _overlaps(keyword: str, asked: str, words: Sequence[str]) -> bool:
    """Whether the keyword is part of the question's text, or one of its longer words part of the keyword."""
    if len(keyword) >= _MIN_PART_CHARS and keyword in asked:
        return True
    return any(len(word) >= _MIN_PART_CHARS and word in keyword for word in words)


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
