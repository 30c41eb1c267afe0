"""Archival memory: texts that an agent keeps for later, with tags and the code that they are about.

A passage is masked on its way in, and found by words and meaning. What resembles it is offered to its author; nothing
is merged. A search shows no weak matches, and says of each passage whether its code still says the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID, uuid4

from sage_code.errors import Busy, Conflict, UsageError
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.tiers.engines.protocol import Part
from sage_code.memory.tiers.ranking.parts import parts, words_of_text
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import passages
from sage_code.memory.tiers.values import Agent, Passage, Scope, now
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings
from sage_code.text.masking import mask, mask_all

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.embed.protocol import Embedder
    from sage_code.memory.code.check import RefState
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction

MAX_CHARS = 200_000
MAX_QUESTION_CHARS = 10_000
_MAX_TAGS, _MAX_TAG_CHARS = 50, 100
# Quotation marks and brackets: what a model writes around a list of tags.
_NOT_IN_TAGS = str.maketrans(dict.fromkeys("\"'`[]{}()\\", " "))
# The least probability of a result. With the probes of `recall/calibration.py`, which share hardly a word, this shows
# 72 % of the related texts and 4 % of the unrelated ones. Beside a good result, those far below it are weak.
MIN_PROBABILITY = 0.035
_SHARE_OF_BEST = 0.1
# Candidates by words and by meaning.
_POOL = 100
# The words of a question or of a new passage that are looked up: its beginning says what it is about.
_MOST_TERMS = 64
# Of more passages with the wanted tags than this, the nearest by meaning are compared.
_MOST_TAGGED = 2_000
# A small archive says little about how rare a word is: so many more passages are assumed, some of them with the word.
_ASSUMED, _ASSUMED_WITH_WORD = 200.0, 2.0
# A passage resembles another one if they share this part of all their words, or this part and the meaning, or if their
# meaning alone is as near as the setting `dedup_threshold` says.
_SAME_WORDS = 0.8
_MANY_WORDS, _NEAR_MEANING = 0.5, 0.75
_MOST_SIMILAR = 3
_BATCH = 500
# What a plugin gets of a long passage.
_SHOWN_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class SimilarPassage:
    """A passage that may say the same as a new one."""

    passage: Passage
    similarity: float  # the larger one of the cosine and the share of common words


@dataclass(frozen=True, slots=True)
class SavedPassage:
    """A passage that was stored, what resembles it, and the kinds of secrets that were masked in it."""

    passage: Passage
    similar: tuple[SimilarPassage, ...] = ()
    masked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that answers a question, why, and what has become of its code."""

    passage: Passage
    score: float  # the probability that it is about the question
    words: float  # the weighted share of the question's words that it has
    cosine: float
    states: tuple[RefState, ...] = ()
    plugins: tuple[str, ...] = ()  # what plugins have changed about it

    @property
    def is_stale(self) -> bool:
        """Whether code that it is about has changed or gone."""
        return any(state.is_stale for state in self.states)


# Named here, because `list` is a method of the class.
Results: TypeAlias = list[FoundPassage]
Passages: TypeAlias = list[Passage]


class ArchivalMemory:
    """The archive of one agent; no method reads or changes passages of another one."""

    def __init__(self, engine: Engine, agent: Agent, settings: Settings, project_root: str | None = None) -> None:
        self.engine, self.agent, self.settings, self.project_root = engine, agent, settings, project_root
        self._is_ready = False

    def insert(self, content: str, tags: str | Iterable[str] = (), code_refs: Sequence[Any] = ()) -> SavedPassage:
        """Store a passage; `tags` may be one text with commas, `code_refs` are named as for checkpoints.

        What resembles it is in the result. Both are kept: only their author knows whether one replaces the other.
        """
        text, found = _checked(content)
        kinds: list[str] = []
        refs = mask_all(self._refs(code_refs), kinds)
        passage = Passage(
            str(uuid4()), text, tags_of(tags), now(), self.project_root or "", tuple(ref.to_dict() for ref in refs)
        )
        embedder = self._embedder()
        vectors, words = _embedded(embedder, [text])[0], words_of_text(text)
        with self.engine.reading() as rows:
            similar = self._similar(rows, vectors, words)
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            sequence = passages.insert_passage(rows, self.agent.id, passage)
            self.engine.add_words(rows, "passage", [(sequence, words)])
            self.engine.add_vectors(rows, "passage", [Part(sequence, self.agent.number)] * len(vectors), vectors)
        self._publish(passage)
        return SavedPassage(passage, similar, (*found, *kinds))

    def search(self, query: str, top_k: int = 5, tags: str | Iterable[str] | None = None) -> Results:
        """The passages that have all of the tags and answer a question, best first; of equal ones the newest."""
        if top_k < 1:
            raise UsageError("top_k must be at least 1", "ask for one result or more")
        query, wanted = storable(query[:MAX_QUESTION_CHARS]), tags_of(tags or ())
        if not query.strip():
            raise UsageError("the question has no words", "ask in words")
        if not anybody_listens():
            return self._with_states(self._search(query, top_k, wanted))
        return self._with_states(self._plugged_search(query, top_k, wanted))

    def _plugged_search(self, query: str, top_k: int, wanted: Sequence[str]) -> Results:
        """The passages with what plugins change; they can add only what is this agent's own."""
        from sage_code.memory.recall import plugged  # lazy: most users have no plugins

        def check(text: str, filters: Mapping[str, Any]) -> None:
            tags_of(filters["tags"])
            if not text.strip():
                raise UsageError("the question has no words", "ask in words")

        question = plugged.asked("passages", query, {"tags": [*wanted]}, top_k, check)
        found = self._search(storable(question.question), question.limit, tags_of(question.filters["tags"]))
        results = plugged.Results[FoundPassage](
            "passages",
            lambda one: one.passage.id,
            _plugged_row,
            lambda one, score, notes: replace(one, score=score, plugins=notes),
            self._by_id,
        )
        return results.answered(question, found, top_k)

    def _by_id(self, passage_id: str) -> FoundPassage | None:
        """A passage that no search has found; None if this agent has none of that id."""
        try:
            with self.engine.reading() as rows:
                return FoundPassage(self._known(rows, passage_id)[1], 0.0, 0.0, 0.0)
        except UsageError:
            return None

    def _search(self, query: str, top_k: int, wanted: Sequence[str]) -> Results:
        """The answer without plugins and without the states of code."""
        from sage_code.memory.recall.calibration import calibration_of  # lazy: NumPy

        embedder = self._embedder()
        vector, calibration = embedder.embed_query([query])[0], calibration_of(embedder)
        terms = _terms(words_of_text(query))
        with self.engine.reading() as rows:
            weights = self._weights(rows, terms)
            cosines = self._pool(rows, weights, vector, wanted)
            words = self.engine.words_of(rows, "passage", list(cosines))
            total = sum(weights.values()) or 1.0
            found = []
            for sequence, cosine in cosines.items():
                has = set(words.get(sequence, "").split())
                share = sum(weight for term, weight in weights.items() if term in has) / total
                score = round(float(calibration.probability(share, cosine)), 4)
                if score >= MIN_PROBABILITY:
                    found.append((score, sequence, share, cosine))
            known = passages.passages_at(rows, self.agent.id, [sequence for _, sequence, _, _ in found])
        found = [one for one in found if one[1] in known]
        found.sort(key=lambda one: (one[0], known[one[1]].created_at, one[1]), reverse=True)
        return [
            FoundPassage(known[sequence], score, share, cosine)
            for score, sequence, share, cosine in found[:top_k]
            if score >= _SHARE_OF_BEST * found[0][0]
        ]

    def list(self, tags: str | Iterable[str] | None = None, limit: int = 50) -> Passages:
        """The passages that have all of the tags, newest first."""
        with self.engine.reading() as rows:
            found = passages.passages_of(rows, self.agent.id, tags=tags_of(tags or ()), limit=limit)
        return [passage for _, passage in found]

    def show(self, passage_id: str) -> FoundPassage:
        """One passage, with the state of its code."""
        with self.engine.reading() as rows:
            passage = self._known(rows, passage_id)[1]
        return self._with_states([FoundPassage(passage, 1.0, 1.0, 1.0)])[0]

    def edit(
        self, passage_id: str, content: str, tags: str | Iterable[str] = (), *, expected: Passage | None = None
    ) -> SavedPassage:
        """Replace the text and the tags of a passage; its code and its time stay.

        Who has read it gives it as `expected`, and gets a `Conflict` if somebody has changed it since.
        """
        text, found = _checked(content)
        own = tags_of(tags)
        vectors, words = _embedded(self._embedder(), [text])[0], words_of_text(text)
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            sequence, old = self._known(rows, passage_id)
            if expected is not None and (old.content, old.tags) != (expected.content, expected.tags):
                raise Conflict(
                    "somebody has changed this passage since you read it; nothing was changed",
                    "read it again and repeat the edit",
                )
            self.engine.remove(rows, "passage", [sequence])
            passages.update_passage(rows, self.agent.id, sequence, text, own)
            self.engine.add_words(rows, "passage", [(sequence, words)])
            self.engine.add_vectors(rows, "passage", [Part(sequence, self.agent.number)] * len(vectors), vectors)
        self.engine.erase()
        self._publish(old)
        return SavedPassage(replace(old, content=text, tags=own), (), found)

    def restore(self, passage: Passage) -> Passage:
        """Undo `delete`: the passage as it was, with its id and its time."""
        text, _ = _checked(passage.content)
        again = replace(passage, content=text)
        vectors, words = _embedded(self._embedder(), [text])[0], words_of_text(text)
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            if passages.passage_with_id(rows, self.agent.id, passage.id) is not None:
                return again
            sequence = passages.insert_passage(rows, self.agent.id, again)
            self.engine.add_words(rows, "passage", [(sequence, words)])
            self.engine.add_vectors(rows, "passage", [Part(sequence, self.agent.number)] * len(vectors), vectors)
        return again

    def delete(self, passage_id: str) -> Passage:
        """Delete a passage for good: its row, words and vectors."""
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            sequence, passage = self._known(rows, passage_id)
            self.engine.remove(rows, "passage", [sequence])
            passages.delete_passage(rows, self.agent.id, sequence)
        self.engine.erase()
        return passage

    def count(self) -> int:
        """How many passages are stored."""
        with self.engine.reading() as rows:
            return passages.count_passages(rows, self.agent.id)

    def catch_up(self) -> None:
        """Make vectors for the passages that have none, as after a copy from another database."""
        self._is_ready = False
        self._embedder()

    def _refs(self, given: Sequence[Any]) -> tuple[CodeRef, ...]:
        if not given:
            return ()
        from sage_code.memory.code.named_refs import resolve_refs  # lazy: the parser

        return resolve_refs(self.project_root, given)

    def _publish(self, passage: Passage) -> None:
        """Tell those who listen that a passage is new or says something else."""
        if anybody_listens():
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            publishing.memory_saved("passage", passage.id, "agent", self.project_root)

    def _known(self, rows: Transaction, passage_id: str) -> tuple[int, Passage]:
        """A passage and its sequence; another agent's is as unknown as one that does not exist."""
        try:
            found = passages.passage_with_id(rows, self.agent.id, str(UUID(passage_id)))
        except ValueError:
            found = None
        if found is None:
            raise UsageError(f"the archive has no passage {passage_id[:80]!r}", "a search shows the ids")
        return found

    def _embedder(self) -> Embedder:
        """The model, known to the database. Passages whose vectors were dropped for another model get new ones."""
        from sage_code.memory.index.prose_embedder import prose_embedder  # lazy: NumPy, perhaps a large model

        embedder = prose_embedder(self.settings)
        if not self._is_ready:
            self.engine.use_model(embedder.name, embedder.dim)
            try:
                self._make_up(embedder)
                self._is_ready = True
            except Busy:
                pass  # another process writes: what has no vectors yet is found by its words
        return embedder

    def _make_up(self, embedder: Embedder) -> None:
        """Make vectors for the agent's passages that have none."""
        probe = embedder.embed_query(["memory"])[0]
        with self.engine.reading() as rows:
            every = passages.sequences_with(rows, self.agent.id, ())
            known = self.engine.cosines(rows, "passage", probe, every)
        missing = [sequence for sequence in every if sequence not in known]
        for start in range(0, len(missing), _BATCH):
            with self.engine.writing() as rows:
                rows.lock_agent(self.agent.id)
                some = missing[start : start + _BATCH]
                done = self.engine.cosines(rows, "passage", probe, some)  # another process may have been faster
                found = passages.passages_at(rows, self.agent.id, [one for one in some if one not in done])
                vectors = _embedded(embedder, [passage.content for passage in found.values()])
                for sequence, of in zip(found, vectors, strict=True):
                    self.engine.add_vectors(rows, "passage", [Part(sequence, self.agent.number)] * len(of), of)

    def _weights(self, rows: Transaction, terms: Sequence[str]) -> dict[str, float]:
        """The rarity of each word of a question."""
        count = passages.count_passages(rows, self.agent.id)
        frequencies = self.engine.frequencies(rows, "passage", terms)
        weights = {}
        for term in terms:
            number = min(frequencies.get(term, 0), count)
            weights[term] = math.log(1 + (count + _ASSUMED - number) / (number + _ASSUMED_WITH_WORD))
        return weights

    def _pool(
        self, rows: Transaction, weights: dict[str, float], vector: NDArray[np.float32], tags: Sequence[str]
    ) -> dict[int, float]:
        """The passages to compare, with their cosines; those without vectors have 0."""
        scope = Scope(self.agent)
        if tags:
            pool = passages.sequences_with(rows, self.agent.id, tags)
            cosines = self.engine.cosines(rows, "passage", vector, pool)
            pool = sorted(pool, key=lambda sequence: -cosines.get(sequence, 0.0))[:_MOST_TAGGED]
        else:
            by_words = self.engine.with_words(rows, "passage", weights, scope, _POOL) if weights else []
            cosines = dict(self.engine.nearest(rows, "passage", vector, scope, _POOL))
            pool = list(dict.fromkeys([*(sequence for sequence, _ in by_words), *cosines]))
            missing = [sequence for sequence in pool if sequence not in cosines]
            cosines |= self.engine.cosines(rows, "passage", vector, missing)
        return {sequence: cosines.get(sequence, 0.0) for sequence in pool}

    def _similar(self, rows: Transaction, vectors: NDArray[np.float32], words: str) -> tuple[SimilarPassage, ...]:
        """The passages that may say the same, most similar first."""
        scope, own = Scope(self.agent), set(words.split())
        # A long text resembles another one if its first part does.
        cosines = dict(self.engine.nearest(rows, "passage", vectors[0], scope, 2 * _MOST_SIMILAR))
        weights = self._weights(rows, _terms(words))
        for sequence, _ in self.engine.with_words(rows, "passage", weights, scope, 2 * _MOST_SIMILAR) if own else ():
            cosines.setdefault(sequence, 0.0)
        theirs = self.engine.words_of(rows, "passage", list(cosines))
        found: dict[int, float] = {}
        for sequence, cosine in cosines.items():
            other = set(theirs.get(sequence, "").split())
            shared = len(own & other) / (len(own | other) or 1)
            if (
                cosine >= self.settings.dedup_threshold
                or shared >= _SAME_WORDS
                or (shared >= _MANY_WORDS and cosine >= _NEAR_MEANING)
            ):
                found[sequence] = round(min(max(cosine, shared), 1.0), 4)
        known = passages.passages_at(rows, self.agent.id, list(found))
        similar = [SimilarPassage(passage, found[sequence]) for sequence, passage in known.items()]
        return tuple(sorted(similar, key=lambda one: -one.similarity)[:_MOST_SIMILAR])

    def _with_states(self, found: Sequence[FoundPassage]) -> Results:
        """The results with the state of their code, if it is that of the project at hand."""
        refs = {
            one.passage.id: [CodeRef.from_dict(ref) for ref in one.passage.code_refs]
            for one in found
            if one.passage.code_refs and self.project_root is not None and one.passage.project == self.project_root
        }
        if not refs or self.project_root is None:
            return list(found)
        from sage_code.memory.code.check import Checker  # lazy: the parser
        from sage_code.memory.code.referring_memories import title_of

        checker = Checker(self.project_root)

        def states(passage: Passage) -> tuple[RefState, ...]:
            return checker.judge("passage", passage.id, title_of(passage.content), refs.get(passage.id, ()))

        return [replace(one, states=states(one.passage)) for one in found]


def _plugged_row(one: FoundPassage) -> dict[str, Any]:
    """What a plugin gets to know of a result."""
    passage = one.passage
    facts = {"tags": [*passage.tags], "project": passage.project, "time": passage.created_at.isoformat()}
    return {"score": one.score, "text": passage.content[:_SHOWN_CHARS], **facts}


def tags_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Tags in lower case, each once, from a list or from one text with commas."""
    texts = given.split(",") if isinstance(given, str) else [part for one in given for part in one.split(",")]
    cleaned = (" ".join(storable(text).translate(_NOT_IN_TAGS).lower().split()) for text in texts)
    tags = tuple(dict.fromkeys(tag for tag in cleaned if tag))
    if len(tags) > _MAX_TAGS or any(len(tag) > _MAX_TAG_CHARS for tag in tags):
        raise UsageError(
            f"a passage has at most {_MAX_TAGS} tags of at most {_MAX_TAG_CHARS} characters",
            "give fewer or shorter ones",
        )
    return tags


def _checked(content: str) -> tuple[str, tuple[str, ...]]:
    """The text of a passage as it is stored, and the kinds of secrets that were masked in it."""
    if not content.strip():
        raise UsageError("there is nothing to store", "give a text")
    if len(content) > MAX_CHARS:
        raise UsageError(f"a passage has at most {MAX_CHARS:,} characters", "shorten it, or store several")
    return mask(storable(content))


def _terms(words: str) -> list[str]:
    """The distinct words that are looked up, in their order."""
    return list(dict.fromkeys(words.split()))[:_MOST_TERMS]


def _embedded(embedder: Embedder, contents: Sequence[str]) -> list[NDArray[np.float32]]:
    """The vectors of the parts of each text."""
    spans = [parts(content) for content in contents]
    vectors = embedder.embed_code([text[a:b] for text, of in zip(contents, spans, strict=True) for a, b in of])
    found, start = [], 0
    for of in spans:
        found.append(vectors[start : start + len(of)])
        start += len(of)
    return found
