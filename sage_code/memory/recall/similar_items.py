"""Finds known items that a new item may duplicate or contradict, for a notice to its author; changes nothing.

Two texts that are nearly the same are duplicates. Two texts on the same topic may contradict each other if only one has
a negation, or if their numbers differ; that is a guess.
"""

from __future__ import annotations

import re

from sage_code.memory.files.knowledge import KnowledgeItem, SimilarItem
from sage_code.memory.index.passages import Floats, Passages, terms_of

# The cosine from which two texts are on the same topic (for the bundled model: `benchmarks/recall_quality.py`).
_SAME_TOPIC = 0.72
_SHARED_WORDS = 0.5
_MAX_ITEMS = 3
_NEGATIONS = re.compile(
    r"(?i)\b(?:not|no|never|cannot|without|instead|avoid|stop|deprecated|disabled|forbidden|neither|nor|nobody|nothing|"
    r"\w+n't)\b"
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def similar_items(passages: Passages, item: KnowledgeItem, vector: Floats, threshold: float) -> list[SimilarItem]:
    """The items most similar to a new one, if they are similar enough; an item with the same id is skipped."""
    found: list[SimilarItem] = []
    near = passages.vectors @ vector
    for row in sorted((near >= _SAME_TOPIC).nonzero()[0].tolist(), key=lambda row: -near[row]):
        record = passages.records[row]
        if record.id == item.id or passages.row_of.get(record.id) != row:
            continue
        preview = str(record.shown.get("preview", ""))
        kind = "duplicate" if near[row] >= threshold else ""
        if _disagree(item.content, preview):
            kind = "contradiction"
        if kind:
            found.append(SimilarItem(record.id, round(min(float(near[row]), 1.0), 4), kind))
    return sorted(found, key=lambda one: -one.similarity)[:_MAX_ITEMS]


def _disagree(one: str, other: str) -> bool:
    """Whether two texts share most of their words, but differ in a negation or in their numbers."""
    first, second = terms_of(one), terms_of(other)
    shared = len(first.keys() & second.keys()) / (min(len(first), len(second)) or 1)
    if shared < _SHARED_WORDS:
        return False
    negated = [bool(_NEGATIONS.search(text)) for text in (one, other)]
    return negated[0] != negated[1] or set(_NUMBER.findall(one)) != set(_NUMBER.findall(other))
