"""Recalls the knowledge that belongs to a question, with the calculation of every score.

Meaning comes from the memory index, keywords and facts from the knowledge lists; `recall/knowledge_score.py` combines
them. An item is recalled if its score reaches the threshold of its type.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from sage_code.errors import MemoryDamaged
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.memory.knowledge_store import KnowledgeStore, threshold_of
from sage_code.memory.recall.keywords import Keywords
from sage_code.memory.recall.knowledge_score import arithmetic, combined
from sage_code.paths import anybody_listens
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.index.passages import Passages
    from sage_code.memory.recall.ranking import Signals

# More items than this do not help, however high they score.
MAX_RECALLED = 10
_MAX_QUESTION_CHARS = 10_000
# What `nearest` shows; items that score less have nothing to do with the question.
_MAX_NEAREST = 3
_MIN_NEAREST = 0.15


@dataclass(frozen=True, slots=True)
class Recalled:
    """The score of an item, and how it was calculated."""

    id: str
    score: float
    threshold: float
    words: float
    cosine: float
    meaning: float
    keywords: float | None
    arithmetic: str
    scope: Scope
    plugins: tuple[str, ...] = ()  # what plugins have changed about it

    @property
    def is_recalled(self) -> bool:
        """Whether the score reaches the threshold."""
        return self.score >= self.threshold


class _Candidate(NamedTuple):
    """An item that takes part in a recall."""

    id: str
    score: float
    meaning: float
    keywords: float | None
    row: int
    kind: str
    signals: Signals  # of all rows of its home
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts and keywords of a home's items, and the state that they were read from."""

    entries: object
    rows: int
    of_items: Mapping[str, Mapping[str, Any]]
    keywords: Keywords


class Recaller:
    """Recalls the knowledge of one project; caches the keywords of its homes. Safe to share between threads."""

    def __init__(self, knowledge: KnowledgeStore) -> None:
        self._knowledge = knowledge
        self._facts: dict[MemoryHome, _Facts] = {}
        self._guard = Lock()

    def recall(
        self, question: str, *, skill: str | None = "", threshold: float | None = None, limit: int = MAX_RECALLED
    ) -> list[tuple[KnowledgeItem, Recalled]]:
        """The items whose scores reach their thresholds, best first; arguments as for `scores`."""
        found = [one for one in self.scores(question, skill=skill, threshold=threshold) if one.is_recalled]
        recalled = []
        for one in found[:limit]:
            try:
                recalled.append((self._knowledge.load(one.id), one))
            except MemoryDamaged as error:  # damaged since it was indexed
                self._knowledge.notices.add(error.message)
        return recalled

    def nearest(self, question: str, *, skill: str = "") -> list[Recalled]:
        """The best items below their thresholds, to show if nothing is recalled."""
        scores = self.scores(question, skill=skill, limit=_MAX_NEAREST)
        return [one for one in scores if not one.is_recalled and one.score >= _MIN_NEAREST]

    def scores(
        self, question: str, *, skill: str | None = "", threshold: float | None = None, limit: int = 50
    ) -> list[Recalled]:
        """The best items and their scores, recalled or not.

        Items of other skills than `skill` are left out; with None, items of all skills take part. `threshold` replaces
        the thresholds of the types.
        """
        if not anybody_listens():
            return self._scores(question, skill, threshold, limit)
        from sage_code.memory.recall.plugged import Results, asked  # lazy: most users have no plugins

        plugged = asked("knowledge", question, {"skill": skill}, limit, lambda _, _filters: None)
        skill = plugged.filters["skill"]
        found = self._scores(plugged.question, skill, threshold, limit)
        results = Results[Recalled](
            "knowledge",
            lambda one: one.id,
            lambda one: {"score": one.score, "threshold": one.threshold, **self._shown(one.id)},
            lambda one, score, notes: replace(one, score=score, plugins=notes),
            lambda id_: self._by_id(id_, skill, threshold),
        )
        return results.answered(plugged, found, limit)

    def _shown(self, id_: str) -> dict[str, Any]:
        """What a plugin gets to know of an item."""
        for memory_index in self._knowledge.memory_indexes:
            passages = memory_index.passages()
            if (row := passages.row_of.get(id_)) is not None:
                shown = self._facts_of(memory_index.home, passages).of_items.get(id_, {})
                facts = {name: shown.get(name) for name in ("type", "skill", "keywords")}
                return {**facts, "text": passages.records[row].shown.get("preview", "")}
        return {}

    def _by_id(self, id_: str, skill: str | None, threshold: float | None) -> Recalled | None:
        """The item with an id, if it may be recalled for a skill, as one that no recall has found."""
        for memory_index in self._knowledge.memory_indexes:
            facts = self._facts_of(memory_index.home, memory_index.passages()).of_items.get(id_)
            if facts is not None:
                if facts.get("status") == "done" or not _is_active(facts.get("skill", ""), skill):
                    return None
                least = (
                    threshold_of(str(facts.get("type")), self._knowledge.settings) if threshold is None else threshold
                )
                return Recalled(id_, 0.0, least, 0.0, 0.0, 0.0, None, "added by a plugin", memory_index.home.scope)
        return None

    def _scores(self, question: str, skill: str | None, threshold: float | None, limit: int) -> list[Recalled]:
        """The scores without plugins."""
        from sage_code.memory.recall.calibration import calibration_of  # lazy: NumPy
        from sage_code.memory.recall.ranking import signals, words_of

        question = question[:_MAX_QUESTION_CHARS]
        words = words_of(question)
        if not words:
            return []
        settings = self._knowledge.settings
        embedder = prose_embedder(settings)
        vector = embedder.embed_query([question])[0]
        calibration = calibration_of(embedder)
        weights = settings.embedding_weight, settings.keyword_weight
        found: dict[str, _Candidate] = {}
        for memory_index in self._knowledge.memory_indexes:
            passages = memory_index.passages()
            for why in memory_index.damaged.values():
                self._knowledge.notices.add(why)
            if not len(passages):
                continue
            signal = signals(passages, words, vector)
            meanings = calibration.probability(signal.words, signal.dense)
            known = self._facts_of(memory_index.home, passages)
            by_keyword = known.keywords.scores(question)
            rows = {passages.row_of[id_] for id_ in by_keyword if id_ in passages.row_of}
            rows |= set(meanings.argpartition(-min(4 * limit, len(meanings)))[-4 * limit :].tolist())
            for row in rows:
                record = passages.records[row]
                if passages.row_of.get(record.id) != row or record.id in found:
                    continue
                facts = known.of_items.get(record.id, record.shown)
                if facts.get("status") == "done" or not _is_active(facts.get("skill", ""), skill):
                    continue
                meaning, keywords = float(meanings[row]), by_keyword.get(record.id)
                score = combined(meaning, keywords, *weights)
                kind, scope = str(facts.get("type")), memory_index.home.scope
                found[record.id] = _Candidate(record.id, score, meaning, keywords, row, kind, signal, scope)
        best = heapq.nsmallest(limit, found.values(), key=lambda one: (-one.score, one.id))
        return [
            Recalled(
                one.id,
                round(one.score, 4),
                threshold_of(one.kind, settings) if threshold is None else threshold,
                round(float(one.signals.words[one.row]), 4),
                round(float(one.signals.dense[one.row]), 4),
                round(one.meaning, 4),
                None if one.keywords is None else round(one.keywords, 4),
                arithmetic(one.meaning, one.keywords, *weights),
                one.scope,
            )
            for one in best
        ]

    def _facts_of(self, home: MemoryHome, passages: Passages) -> _Facts:
        """Keywords, types and skills from the home's list, or from the item's file if that has changed since."""
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
