"""From a question to memories, over all the memory_indexes that a project sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.index.memory_index import MemoryIndex
from sage_code.memory.index.passages import Record
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.memory.recall.calibration import Calibration, calibration_of
from sage_code.memory.recall.ranking import best, signals, words_of
from sage_code.settings.table import Settings

MAX_QUESTION_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """One memory, and why it was chosen."""

    record: Record
    home: MemoryHome
    order: float  # what it was put in order by
    probability: float  # that it is about the question
    explain: dict[str, float]


def search(memory_indexes: Sequence[MemoryIndex], question: str, limit: int, settings: Settings) -> list[FoundMemory]:
    """The best memories of all memory_indexes; of two with one id, the nearer home's."""
    if limit < 1:
        raise UsageError("a limit is at least 1", "ask for more")
    answers: dict[str, FoundMemory] = {}
    for answer in scored(memory_indexes, question, limit, settings):
        answers.setdefault(answer.record.id, answer)
    return sorted(answers.values(), key=lambda answer: -answer.order)[:limit]


def scored(
    memory_indexes: Sequence[MemoryIndex], question: str, limit: int | None, settings: Settings
) -> list[FoundMemory]:
    """Memories memory_index by memory_index, the best `limit` of each or all of them, with every signal."""
    question = question[:MAX_QUESTION_CHARS]
    if not words_of(question):
        raise UsageError("the question has no words", "ask in words")
    embedder = prose_embedder(settings)
    vector = embedder.embed_query([question])[0]
    calibration = calibration_of(embedder)
    answers = []
    for memory_index in memory_indexes:
        passages = memory_index.passages()
        if not len(passages):
            continue
        found = signals(passages, question, vector)
        rows = best(found, len(passages) if limit is None else limit)
        for row in rows:
            words, dense = float(found.words[row]), float(found.dense[row])
            explain = explained(calibration, words, dense, float(found.score[row]))
            answers.append(
                FoundMemory(passages.records[row], memory_index.home, explain["order"], explain["meaning"], explain)
            )
    return answers


def explained(calibration: Calibration, words: float, dense: float, order: float) -> dict[str, float]:
    """The arithmetic of one score."""
    return {
        "words": round(words, 4),
        "cosine": round(dense, 4),
        "meaning": round(calibration.probability(words, dense), 4),
        "order": round(order, 4),
    }
