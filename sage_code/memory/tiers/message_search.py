"""From a question to messages: a pool by words and by meaning, its neighbours, their order, the best passages.

The engine gives the candidates, `ranking/` orders them; nothing here depends on the engine. The work depends on the
size of the pool, not on the number of messages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from sage_code.errors import UsageError
from sage_code.memory.tiers.ranking.parts import parts
from sage_code.memory.tiers.ranking.question import Question, read_question
from sage_code.memory.tiers.ranking.ranker import Candidate, Ranked, Statistics, rank
from sage_code.memory.tiers.tables import agents, messages
from sage_code.memory.tiers.values import Message, Scope

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction

# Messages that the ranking compares, with their neighbours: so many by words and so many by meaning. With 150 of each,
# recall on BEAM and LoCoMo is the same (within 0.006) and a search of 10,000 messages took 146 ms instead of 49. The
# weights were learned on pools of this size (`benchmarks/recall.py`).
POOL_BY_WORDS, POOL_BY_MEANING = 60, 40
# A message with a lower score is not shown: 0.1 % of the messages that answer questions of BEAM and LoCoMo have less.
_LEAST_SCORE = 0.002
# Between messages of a session that are not known to follow each other.
_GAP = 10
# What a word is worth that speaks of the conversation itself ("mention", "in order"), when messages are collected.
_TALKING = 0.15


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that answers a question: its best passage, what was said around it, and why it was found."""

    message: Message
    score: float  # 0 to 1
    start: int  # of the best passage in the message
    end: int
    before: Message | None
    after: Message | None
    signals: Mapping[str, float]
    plugins: tuple[str, ...] = ()  # what plugins have changed about it

    @property
    def passage(self) -> str:
        """The best passage."""
        return self.message.content[self.start : self.end].strip()


def search_messages(
    engine: Engine, rows: Transaction, scope: Scope, query: str, embedder: Embedder, limit: int, now: datetime
) -> list[FoundMessage]:
    """The messages in a scope that answer a question best, best first."""
    question = read_question(query, now)
    if not question.terms:
        raise UsageError("the question has no words", "ask in words")
    vector = embedder.embed_query([question.text])[0]
    statistics = _statistics(engine, rows, scope, question)
    by_words = engine.with_words(rows, "message", _weights(question, statistics), scope, POOL_BY_WORDS)
    cosines = dict(engine.nearest(rows, "message", vector, scope, POOL_BY_MEANING))
    pool = list(dict.fromkeys([*(sequence for sequence, _ in by_words), *cosines]))
    around = messages.neighbours_of(rows, scope.agent.id, pool)
    every = list(dict.fromkeys([*pool, *(sequence for chain in around.values() for sequence in chain)]))
    known = messages.candidates_at(rows, scope.agent.id, every)
    words = engine.words_of(rows, "message", every)
    missing = [sequence for sequence in pool if sequence not in cosines]
    cosines |= engine.cosines(rows, "message", vector, missing)
    orders = _orders(known, around.values())
    wanted = set(pool)
    allowed = wanted if scope.is_whole else wanted | messages.allowed_of(rows, scope, list(known.keys() - wanted))
    candidates = [
        Candidate(
            key=sequence,
            role=one.role,
            speaker=one.speaker,
            text=one.content,
            words=words.get(sequence, ""),
            created=one.created,
            session=str(one.session),
            order=orders[sequence],
            cosine=cosines.get(sequence, 0.0),
            in_pool=sequence in wanted,
            allowed=scope.is_whole or sequence in allowed,
        )
        for sequence, one in known.items()
    ]
    ranked = [one for one in rank(question, candidates, statistics, limit) if one.score >= _LEAST_SCORE]
    chains = {one.key: _beside(one.key, known, orders) for one in ranked}
    shown = messages.messages_at(
        rows, scope.agent.id, list({sequence for chain in chains.values() for sequence in chain})
    )
    return [_found(one, shown, chains[one.key]) for one in ranked]


def found_message(message: Message) -> FoundMessage:
    """A message that no search has found, with its first passage."""
    start, end = parts(message.content)[0] if message.content else (0, 0)
    return FoundMessage(message, 0.0, start, end, None, None, {})


def _statistics(engine: Engine, rows: Transaction, scope: Scope, question: Question) -> Statistics:
    """How many messages the agent has, how long they are, and how many have each word of the question."""
    agent = agents.agent_with_id(rows, scope.agent.id) or scope.agent
    count = max(agent.message_count, 1)
    # Counted over all agents of the database; an agent cannot have more messages with a word than it has messages.
    frequencies = engine.frequencies(rows, "message", question.stems())
    own = {term: min(number, count) for term, number in frequencies.items()}
    return Statistics(count, max(agent.word_count / count, 1.0), own)


def _weights(question: Question, statistics: Statistics) -> dict[str, float]:
    """The rarity of each word of the question, by which messages are collected."""
    found = {}
    for term in question.terms:
        number = statistics.frequency.get(term.stem, 0)
        rarity = math.log(1 + (statistics.documents - number + 0.5) / (number + 0.5))
        found[term.stem] = rarity * (_TALKING if term.about_talking else 1.0)
    return found


def _orders(known: Mapping[int, messages.CandidateRow], chains: Iterable[Sequence[int]]) -> dict[int, int]:
    """The place of each message in its session; consecutive ones differ by one."""
    follows = {pair for chain in chains for pair in pairwise(chain)}
    orders: dict[int, int] = {}
    before, last = -1, -1
    for sequence in sorted(known, key=lambda one: (known[one].session, known[one].created, one)):
        if known[sequence].session != last:
            orders[sequence] = 0
        else:
            orders[sequence] = orders[before] + (1 if (before, sequence) in follows else _GAP)
        before, last = sequence, known[sequence].session
    return orders


def _beside(sequence: int, known: Mapping[int, messages.CandidateRow], orders: Mapping[int, int]) -> list[int]:
    """A message between the one before and the one after it, as far as they are loaded."""
    session, order = known[sequence].session, orders[sequence]
    near = {orders[one]: one for one in known if known[one].session == session and abs(orders[one] - order) <= 1}
    return [near[place] for place in sorted(near)]


def _found(ranked: Ranked, known: Mapping[int, Message], chain: Sequence[int]) -> FoundMessage:
    """A ranked message as an answer."""
    message = known[ranked.key]
    spans = parts(message.content)
    start, end = spans[min(ranked.best_part, len(spans) - 1)]
    place = chain.index(ranked.key)
    before = known.get(chain[place - 1]) if place > 0 else None
    after = known.get(chain[place + 1]) if place + 1 < len(chain) else None
    return FoundMessage(message, ranked.score, start, end, before, after, ranked.signals)
