"""Searches memories of one kind over all homes that a project sees, best first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sage_code.errors import UsageError
from sage_code.memory.index.memory_index import MemoryIndex
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.memory.recall.calibration import calibration_of
from sage_code.memory.recall.ranking import best, signals, words_of
from sage_code.settings.table import Settings
from sage_code.values import Scope

MAX_QUESTION_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that answers a question, and why."""

    id: str
    score: float  # the probability that it is about the question
    shown: dict[str, Any]  # of a checkpoint its thesis, confidence, trigger, ts ...
    scope: Scope
    explain: dict[str, float]  # words, cosine, meaning, and order: the number by which results are sorted
    plugins: tuple[str, ...] = ()  # what plugins have changed about it


def found_by_id(memory_indexes: Sequence[MemoryIndex], id_: str) -> FoundMemory | None:
    """The memory with an id, as a result that no search has found; the nearer one wins."""
    for memory_index in memory_indexes:
        passages = memory_index.passages()
        if (row := passages.row_of.get(id_)) is not None:
            nothing = dict.fromkeys(("words", "cosine", "meaning", "order"), 0.0)
            return FoundMemory(id_, 0.0, dict(passages.records[row].shown), memory_index.home.scope, nothing)
    return None


def check_question(question: str) -> None:
    """UsageError if a question has no words."""
    if not words_of(question):
        raise UsageError("the question has no words", "ask in words")


def search_memories(
    memory_indexes: Sequence[MemoryIndex], question: str, limit: int, settings: Settings
) -> list[FoundMemory]:
    """The best memories of all indexes, which are given nearest first. If two have the same id, the nearer one wins."""
    if limit < 1:
        raise UsageError("the limit must be at least 1", "ask for one result or more")
    question = question[:MAX_QUESTION_CHARS]
    words = words_of(question)
    check_question(question)
    embedder = prose_embedder(settings)
    vector = embedder.embed_query([question])[0]
    calibration = calibration_of(embedder)
    found: dict[str, FoundMemory] = {}
    for memory_index in memory_indexes:
        passages = memory_index.passages()
        if not len(passages):
            continue
        known = signals(passages, words, vector)
        for row in best(known, limit):
            share, cosine = float(known.words[row]), float(known.dense[row])
            explain = {
                "words": round(share, 4),
                "cosine": round(cosine, 4),
                "meaning": round(float(calibration.probability(share, cosine)), 4),
                "order": round(float(known.score[row]), 4),
            }
            record, scope = passages.records[row], memory_index.home.scope
            found.setdefault(record.id, FoundMemory(record.id, explain["meaning"], dict(record.shown), scope, explain))
    return sorted(found.values(), key=lambda one: -one.explain["order"])[:limit]
