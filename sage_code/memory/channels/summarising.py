"""Keeps the rolling summary and the profile of a channel up to date, one window of messages at a time.

What waits is read in the order of storing, in windows of `summary_window` messages, each merged with the summary
before it: however much comes at once, nothing that was decided falls out between two summaries. A short rest is read
together with the messages before it. The summary, what it has read, and the facts about people are stored in one
transaction, and only if no other process has stored a summary meanwhile: each is made once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sage_code.memory.channels.channel_profile import merged_profile
from sage_code.memory.channels.user_profiles import UserProfiles
from sage_code.memory.context.summary import EXTRACTIVE, StructuredSummary
from sage_code.memory.tiers.storable import storable, storable_all
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.tables.channels import Channel, StoredSummary
from sage_code.memory.tiers.values import Agent, Message, now

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Summariser
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction
    from sage_code.settings.table import Settings

# Longer than the summary of a compaction: it is read by somebody who was not there.
ROLLING_WORDS = 150
PROFILE_WORDS = 150
# Windows that one channel makes up for; what is older is found by a search, not in a summary.
_MOST_WINDOWS = 40
# Of a channel that a service summarises: an import of old transcripts must not cost a thousand calls.
_MOST_ASKED = 3
# Versions that are kept, to see how a summary has come about.
_KEPT = {"rolling": 20, "profile": 100}


@dataclass(frozen=True, slots=True)
class Step:
    """A window that was summarised."""

    channel: str
    summary: StoredSummary
    read: int  # messages that were new
    waiting: int  # messages that wait behind them


class ChannelSummaries:
    """The summaries of all channels of one agent."""

    def __init__(self, engine: Engine, agent: Agent, settings: Settings, summariser: Summariser) -> None:
        self.engine, self.agent, self.settings, self.summariser = engine, agent, settings, summariser
        self.people = UserProfiles(engine, agent, settings)

    def newest(self, name: str, kind: channels.Kind = "rolling") -> StoredSummary | None:
        """The newest version of a channel's summary or profile."""
        with self.engine.reading() as rows:
            return self._newest(rows, name, kind)

    def versions(self, name: str, kind: channels.Kind = "rolling", limit: int = 100) -> list[StoredSummary]:
        """The versions that are kept, newest first."""
        with self.engine.reading() as rows:
            return channels.summaries_of(rows, self.agent.id, name, kind, limit)

    def summarise(self, name: str, when: datetime | None = None) -> StoredSummary | None:
        """Summarise everything that waits in a channel now, however little; None if nothing was ever said there."""
        for _ in range(_MOST_WINDOWS):
            step = self.step(name, when)
            if step is None or not step.waiting:
                break
        return self.newest(name)

    def step(self, name: str, when: datetime | None = None) -> Step | None:
        """Summarise the next window of a channel; None if nothing waits, or if another process has just done it."""
        moment, size = when or now(), self.settings.summary_window
        with self.engine.reading() as rows:
            channel = channels.channel_of(rows, self.agent.id, name) or Channel(name)
            windows = _MOST_WINDOWS if self.summariser.name == EXTRACTIVE else _MOST_ASKED
            unseen = channels.unseen_messages(rows, self.agent.id, channel, size * windows)
            new = unseen[:size]
            room = size - len(new)
            first = new[0].sequence if new else 0
            earlier = channels.earlier_messages(rows, self.agent.id, name, first, room) if new and room else []
            previous, profile = (self._newest(rows, name, kind) for kind in ("rolling", "profile"))
        if not new:
            self._settle(channel, moment)
            return None
        before = None if previous is None else StructuredSummary.from_json(previous.summary)
        made = self.summariser.summarise([*earlier, *new], ROLLING_WORDS, before)
        learned = self.people.learned(new, earlier)
        rolling = StoredSummary(
            name,
            "rolling",
            (previous.version if previous else 0) + 1,
            storable_all(made.to_json()),
            (previous.messages if previous else 0) + len(new),
            moment,
        )
        longer = self._profile(profile, made, rolling, moment)
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = channels.channel_of(rows, self.agent.id, name)
            newest = self._newest(rows, name, "rolling")
            is_mine = (newest.version if newest else 0) == rolling.version - 1
            if not is_mine or (present or channel).seen_id != channel.seen_id:
                return None
            if present is None:
                channels.add_waiting(rows, self.agent.id, name, len(unseen), moment)
            channels.add_summary(rows, self.agent.id, rolling, _KEPT["rolling"])
            if longer is not None:
                channels.add_summary(rows, self.agent.id, longer, _KEPT["profile"])
            self.people.store(rows, learned, moment)
            waiting = channels.mark_seen(rows, self.agent.id, name, new[-1].id, moment)
        return Step(name, rolling, len(new), waiting)

    def _profile(
        self, before: StoredSummary | None, made: StructuredSummary, rolling: StoredSummary, moment: datetime
    ) -> StoredSummary | None:
        """The next version of the channel's profile, if it is time for one and it says something else."""
        age = timedelta(minutes=self.settings.profile_minutes)
        # A profile from the future was made before the clock was set back.
        if before is not None and timedelta(0) <= moment - before.made_at < age:
            return None
        old = None if before is None else StructuredSummary.from_json(before.summary)
        new = self._condensed(old, made, rolling)
        if old is not None and replace(new, problem=old.problem) == old:
            return None
        version = (before.version if before else 0) + 1
        return StoredSummary(rolling.channel, "profile", version, storable_all(new.to_json()), rolling.messages, moment)

    def _condensed(
        self, old: StructuredSummary | None, made: StructuredSummary, rolling: StoredSummary
    ) -> StructuredSummary:
        """What is permanent of a profile and a rolling summary. A language model is given the summary as a message."""
        if made.by == EXTRACTIVE:
            return merged_profile(old, made, PROFILE_WORDS)
        text = Message(0, f"rolling-{rolling.version}", "summary", storable(made.text), rolling.made_at, "")
        found = self.summariser.summarise([text], PROFILE_WORDS, old)
        return merged_profile(old, made, PROFILE_WORDS) if found.problem else found

    def _settle(self, channel: Channel, moment: datetime) -> None:
        """Note that nothing waits in a channel: its messages were forgotten, or were summarised meanwhile."""
        if channel.dirty_at is None:
            return
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = channels.channel_of(rows, self.agent.id, channel.name)
            if present is not None and present.seen_id == channel.seen_id:
                channels.mark_seen(rows, self.agent.id, channel.name, channel.seen_id, moment)

    def _newest(self, rows: Transaction, name: str, kind: channels.Kind) -> StoredSummary | None:
        return next(iter(channels.summaries_of(rows, self.agent.id, name, kind)), None)
