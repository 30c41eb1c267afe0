"""From a question to the knowledge that belongs to it, with the arithmetic of every score."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from sage_code.errors import MemoryDamaged
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.memory.knowledge_store import KnowledgeStore, threshold_of
from sage_code.memory.recall.keywords import Keywords
from sage_code.memory.recall.knowledge_score import arithmetic, combined
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.index.passages import Passages
    from sage_code.memory.recall.ranking import Signals

# More than this helps nobody, whatever its score.
MOST_RECALLED = 10
_QUESTION_CHARS = 10_000
# What is shown where nothing is recalled; what scores less has nothing to do with the question.
_MOST_NEAREST = 3
_LEAST_NEAREST = 0.15


@dataclass(frozen=True, slots=True)
class Recalled:
    """An item and how its score came about."""

    id: str
    score: float
    threshold: float
    words: float
    cosine: float
    meaning: float
    keywords: float | None
    arithmetic: str
    scope: Scope

    @property
    def is_recalled(self) -> bool:
        """Whether the score reaches what the item's type asks for."""
        return self.score >= self.threshold


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a home's list says of its items, and the state that it was made from."""

    entries: object
    rows: int
    of_items: Mapping[str, Mapping[str, Any]]
    keywords: Keywords


class Recaller:
    """Answers for one project's knowledge; keeps what it has made of the keywords."""

    def __init__(self, knowledge: KnowledgeStore) -> None:
        self._knowledge = knowledge
        self._facts: dict[MemoryHome, _Facts] = {}
        self._guard = Lock()

    def recall(
        self, question: str, *, skill: str = "", threshold: float | None = None, limit: int = MOST_RECALLED
    ) -> list[tuple[KnowledgeItem, Recalled]]:
        """The items whose scores reach their thresholds, best first, with their texts."""
        found = [one for one in self.scores(question, skill=skill, threshold=threshold) if one.is_recalled]
        recalled = []
        for one in found[:limit]:
            try:
                recalled.append((self._knowledge.load(one.id), one))
            except MemoryDamaged as error:  # damaged since it was read
                self._knowledge.notices.add(error.message)
        return recalled

    def nearest(self, question: str, *, skill: str = "") -> list[Recalled]:
        """What comes next where nothing is recalled: the best items below their thresholds."""
        scores = self.scores(question, skill=skill, limit=_MOST_NEAREST)
        return [one for one in scores if not one.is_recalled and one.score >= _LEAST_NEAREST]

    def scores(
        self, question: str, *, skill: str | None = "", threshold: float | None = None, limit: int = 50
    ) -> list[Recalled]:
        """The best items and their scores, recalled or not; items of other skills take no part (None: all do).

        `threshold` replaces every type's own.
        """
        from sage_code.memory.recall.calibration import calibration_of  # lazy: NumPy
        from sage_code.memory.recall.ranking import signals, words_of

        question = question[:_QUESTION_CHARS]
        if not words_of(question):
            return []
        settings = self._knowledge.settings
        embedder = prose_embedder(settings)
        vector = embedder.embed_query([question])[0]
        calibration = calibration_of(embedder)
        found: dict[str, tuple[float, float, float | None, int, str, Signals, Scope]] = {}
        weights = settings.embedding_weight, settings.keyword_weight
        for memory_index in self._knowledge.memory_indexes:
            passages = memory_index.passages()
            for why in memory_index.damaged.values():
                self._knowledge.notices.add(why)
            if not len(passages):
                continue
            signal = signals(passages, question, vector)
            chances = calibration.probabilities(signal.words, signal.dense)
            known = self._facts_of(memory_index.home, passages)
            by_keyword = known.keywords.scores(question)
            rows = {passages.row_of[id_] for id_ in by_keyword if id_ in passages.row_of}
            rows |= set(chances.argpartition(-min(4 * limit, len(chances)))[-4 * limit :].tolist())
            for row in rows:
                record = passages.records[row]
                if passages.row_of.get(record.id) != row or record.id in found:
                    continue
                facts = known.of_items.get(record.id, record.shown)
                if facts.get("status") == "done" or not _is_active(facts.get("skill", ""), skill):
                    continue
                meaning, keywords = float(chances[row]), by_keyword.get(record.id)
                score = combined(meaning, keywords, *weights)
                found[record.id] = (
                    score,
                    meaning,
                    keywords,
                    row,
                    str(facts.get("type")),
                    signal,
                    memory_index.home.scope,
                )
        best = heapq.nsmallest(limit, found.items(), key=lambda item: (-item[1][0], item[0]))
        return [
            Recalled(
                id_,
                round(score, 4),
                threshold_of(kind, settings) if threshold is None else threshold,
                round(float(signal.words[row]), 4),
                round(float(signal.dense[row]), 4),
                round(meaning, 4),
                None if keywords is None else round(keywords, 4),
                arithmetic(meaning, keywords, *weights),
                scope,
            )
            for id_, (score, meaning, keywords, row, kind, signal, scope) in best
        ]

    def _facts_of(self, home: MemoryHome, passages: Passages) -> _Facts:
        """Keywords, types and skills as the list has them, or as an item's own file where that is younger."""
        entries = self._knowledge.entries(home)
        with self._guard:
            known = self._facts.get(home)
            if known is not None and known.entries is entries and known.rows == len(passages.records):
                return known
            keywords = known.keywords if known is not None else Keywords()
            of_items: dict[str, Mapping[str, Any]] = {}
            for id_, row in passages.row_of.items():
                own = passages.records[row].shown
                entry = entries.get(id_, {})
                of_items[id_] = facts = entry if entry.get("hash") == own.get("hash") else own
                keywords.put(id_, map(str, facts.get("keywords") or []))
            keywords.keep_only(of_items)
            self._facts[home] = _Facts(entries, len(passages.records), of_items, keywords)
            return self._facts[home]


def _is_active(skill: object, active: str | None) -> bool:
    return active is None or not skill or skill == active
