"""What is known about people: facts from what they said, shown in 800 characters, corrected and deleted by the person.

A fact comes from one message and names it. Later messages take facts back ("I moved to …"); what a person takes back by
hand stays gone, whatever is read again. A participant is the name of a speaker; the empty name is the person whose
agent it is. Only what people say themselves counts: messages of role `user`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import xxhash

from sage_code.errors import UsageError
from sage_code.memory.context.profile.facts import Fact, facts_in, retired
from sage_code.memory.context.profile.rendering import profile_text
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import profiles
from sage_code.memory.tiers.tables.profiles import BY_HAND, StoredFact
from sage_code.memory.tiers.values import Agent, Message, now
from sage_code.text.masking import mask

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction
    from sage_code.settings.table import Settings

# What was said just before, for an answer that means nothing without its question.
_BEFORE = 2
# What people say to coding agents is mostly about the work of the moment: of 45 facts in 543 such messages most were
# passing, of the 10 with this score fewer (2026-11-18, SpecStory).
_LEAST_IN_PROJECTS = 0.6
_MAX_FACT_CHARS = 300
_MAX_FACTS_BY_HAND = 200


@dataclass(frozen=True, slots=True)
class UserProfile:
    """What is known about a person."""

    participant: str
    text: str
    facts: tuple[StoredFact, ...] = ()  # oldest first, also those that the text has no room for


@dataclass(slots=True)
class Learned:
    """What messages say about people, before it is stored."""

    facts: list[tuple[str, Fact]] = field(default_factory=list)  # with the participant
    retired: dict[str, list[str]] = field(default_factory=dict)  # message → ids of facts that it takes back


class UserProfiles:
    """The profiles of all people that an agent has heard."""

    def __init__(self, engine: Engine, agent: Agent, settings: Settings) -> None:
        self.engine, self.agent, self.settings = engine, agent, settings

    def participants(self) -> list[tuple[str, int, datetime]]:
        """The people that something is known about: name, number of facts, time of the last one."""
        with self.engine.reading() as rows:
            return profiles.participants_of(rows, self.agent.id)

    def profile(self, participant: str = "") -> UserProfile:
        """What is known about a person now."""
        facts = self.facts(participant)
        return UserProfile(participant, profile_text(list(map(_fact, facts)), self.settings.profile_chars), facts)

    def facts(self, participant: str = "", *, retired: bool = False) -> tuple[StoredFact, ...]:
        """The facts about a person, oldest first; with `retired` also those that were taken back."""
        with self.engine.reading() as rows:
            return tuple(profiles.facts_of(rows, self.agent.id, participant, retired=retired))

    def learned(self, new: Sequence[Message], earlier: Sequence[Message] = ()) -> Learned:
        """What new messages say about the people who wrote them, and what they take back."""
        found = Learned()
        with self.engine.reading() as rows:
            forgotten = profiles.forgotten_at(rows, self.agent.id)
            names = {message.speaker for message in new if message.role == "user"}
            known = {name: [_fact(one) for one in profiles.facts_of(rows, self.agent.id, name)] for name in names}
        every = [*earlier[-_BEFORE:], *new]
        for at, message in enumerate(every[-len(new) :] if new else (), len(every) - len(new)):
            name = message.speaker
            if message.role != "user" or (name in forgotten and message.created_at <= forgotten[name]):
                continue
            before = every[max(at - _BEFORE, 0) : at]
            gone = {fact.id for fact in retired(known[name], message, before)}
            if gone:
                found.retired[message.id] = sorted(gone)
                known[name] = [fact for fact in known[name] if fact.id not in gone]
            least = _LEAST_IN_PROJECTS if message.project else 0.0
            for fact in (fact for fact in facts_in(message, before) if fact.score >= least):
                known[name].append(fact)
                found.facts.append((name, fact))
        return found

    def store(self, rows: Transaction, learned: Learned, when: datetime) -> None:
        """Store what was learned, in the transaction of the caller."""
        profiles.add_facts(
            rows,
            self.agent.id,
            [
                StoredFact(fact.id, name, storable(fact.text), fact.message_id, fact.said_at, fact.score, fact.subject)
                for name, fact in learned.facts
            ],
            when,
        )
        for message_id, ids in learned.retired.items():
            profiles.retire_facts(rows, self.agent.id, ids, message_id, when)

    def edit(self, participant: str, lines: Iterable[str]) -> UserProfile:
        """Make these lines what is known about a person: new ones are added, missing ones are taken back for good."""
        wanted = list(dict.fromkeys(text for line in lines if (text := " ".join(line.removeprefix("-").split()))))
        if len(wanted) > _MAX_FACTS_BY_HAND or any(len(text) > _MAX_FACT_CHARS for text in wanted):
            raise UsageError(
                f"a profile has up to {_MAX_FACTS_BY_HAND} lines of {_MAX_FACT_CHARS} characters", "shorten it"
            )
        moment = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = profiles.facts_of(rows, self.agent.id, participant)
            known = {fact.text for fact in present}
            gone = [fact.id for fact in present if fact.text not in wanted]
            profiles.retire_facts(rows, self.agent.id, gone, BY_HAND, moment)
            added = [self._by_hand(participant, text, moment) for text in wanted if text not in known]
            profiles.add_facts(rows, self.agent.id, added, moment)
        if gone:
            self.engine.erase()
        return self.profile(participant)

    def add(self, participant: str, text: str) -> UserProfile:
        """Add one line to what is known about a person; everything else stays."""
        line = " ".join(text.removeprefix("-").split())
        if not line or len(line) > _MAX_FACT_CHARS:
            raise UsageError(f"a fact is one line of up to {_MAX_FACT_CHARS} characters", "shorten it, or write two")
        moment = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = profiles.facts_of(rows, self.agent.id, participant)
            if len(present) >= _MAX_FACTS_BY_HAND:
                raise UsageError(f"a profile has up to {_MAX_FACTS_BY_HAND} lines", "take one back first")
            new = self._by_hand(participant, line, moment)
            if new.text not in {fact.text for fact in present}:
                profiles.add_facts(rows, self.agent.id, [new], moment)
        return self.profile(participant)

    def restore(self, fact: StoredFact) -> UserProfile:
        """Undo `retire`: the fact as it was, which only the caller still has; its text was erased here."""
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            if not profiles.restore_fact(rows, self.agent.id, fact, now()):
                raise UsageError("this fact cannot come back", "it was forgotten meanwhile, or it is back already")
        return self.profile(fact.participant)

    def retire(self, participant: str, fact_id: str) -> UserProfile:
        """Take one fact back for good; UsageError if there is none with this id."""
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = {fact.id for fact in profiles.facts_of(rows, self.agent.id, participant)}
            if fact_id not in present:
                raise UsageError(f"there is no fact {fact_id[:80]!r}", "`sage profile show --facts` lists them")
            profiles.retire_facts(rows, self.agent.id, [fact_id], BY_HAND, now())
        self.engine.erase()
        return self.profile(participant)

    def forget(self, participant: str) -> int:
        """Delete everything that is known about a person, for good; returns how many facts.

        Messages from before bring nothing back; what the person says from now on is learned again.
        """
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            gone = profiles.forget_profile(rows, self.agent.id, participant, now())
        if gone:
            self.engine.erase()
        return gone

    def _by_hand(self, participant: str, text: str, moment: datetime) -> StoredFact:
        """A fact that a person wrote. The time is part of its id: what was taken back can be written again."""
        key = f"{participant}\n{text}\n{moment.isoformat()}"
        safe = storable(mask(text)[0])
        return StoredFact(xxhash.xxh3_128_hexdigest(key.encode()), participant, safe, BY_HAND, moment)


def _fact(stored: StoredFact) -> Fact:
    return Fact(stored.id, stored.text, stored.message_id, stored.said_at, stored.score, stored.subject)
