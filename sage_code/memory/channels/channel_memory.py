"""The memory of one channel, for a program that embeds Sage: what was said, its summary and profile, its people.

    with ChannelMemory.open("#support") as channel:
        channel.add("user", "My name is Ana and I deploy on Fridays.", speaker="Ana")
        channel.summarise()
        prompt = channel.context(max_tokens=8_000, participant="Ana").text

A channel is any stream of messages: the sessions of agents in a project (its name is the project's root), a chat room,
a pull request. It belongs to one agent of one user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sage_code.errors import UsageError
from sage_code.memory.channels.summarising import ChannelSummaries
from sage_code.memory.context.choosing import summariser_of, with_fallback
from sage_code.memory.context.summary import StructuredSummary, Summariser
from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.tables.channels import MAIN, Channel, StoredSummary
from sage_code.memory.tiers.values import Agent, Message, NewMessage

if TYPE_CHECKING:
    from sage_code.memory.channels.user_profiles import UserProfile
    from sage_code.memory.context.components import BuiltContext
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.settings.table import Settings

_MAX_NAME_CHARS = 1_000


class ChannelMemory:
    """One channel of an agent."""

    def __init__(
        self, engine: Engine, agent: Agent, settings: Settings, name: str = MAIN, summariser: Summariser | None = None
    ) -> None:
        if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME_CHARS:
            raise UsageError(f"no channel can be called {name[:80]!r}", "a name is printable and not empty")
        self.engine, self.agent, self.settings, self.name = engine, agent, settings, name
        self.recall = RecallMemory(engine, agent, settings)
        self.summaries = ChannelSummaries(engine, agent, settings, _chosen(settings, summariser))
        self.people = self.summaries.people

    @classmethod
    def open(
        cls,
        name: str = MAIN,
        *,
        agent: str = "",
        user: str = "",
        uri: str | None = None,
        settings: Settings | None = None,
        summariser: Summariser | None = None,
    ) -> Self:
        """Open a channel of the agent with this name, which is made if there is none; `with` closes the database."""
        from sage_code.memory.tiers.engines.opening import open_engine
        from sage_code.memory.tiers.opened import opened_agent
        from sage_code.settings.loading import load_settings

        known = load_settings(None) if settings is None else settings
        engine = open_engine(known.memory_uri if uri is None else uri)
        try:
            return cls(engine, opened_agent(engine, known, agent, user), known, name, summariser)
        except BaseException:
            engine.close()
            raise

    def add(
        self,
        role: str,
        content: str,
        *,
        speaker: str = "",
        session: str = "",
        id: str = "",  # noqa: A002 - the name of the field
        created_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Store what somebody said in the channel; returns the id of the message."""
        new = NewMessage(role, content, id, session or self.name, created_at, speaker, metadata=metadata or {})
        return next(iter(self.add_all([new])), id)  # none is new if the message was stored before

    def add_all(self, new: Sequence[NewMessage]) -> list[str]:
        """Store messages in one transaction; returns the ids of those that were new."""
        return self.recall.add(new, channel=self.name)

    def channel(self) -> Channel:
        """How many messages wait for a summary, and since when."""
        with self.engine.reading() as rows:
            return channels.channel_of(rows, self.agent.id, self.name) or Channel(self.name)

    def messages(self, limit: int = 120) -> list[Message]:
        """What was said last, oldest first."""
        with self.engine.reading() as rows:
            return channels.last_messages(rows, self.agent.id, self.name, limit)

    def summary(self) -> StructuredSummary | None:
        """The rolling summary as it is now."""
        return _value(self.summaries.newest(self.name))

    def profile(self) -> StructuredSummary | None:
        """What stays true of the channel."""
        return _value(self.summaries.newest(self.name, "profile"))

    def summarise(self) -> StructuredSummary | None:
        """Summarise at once what waits, however little it is; None if nothing was ever said here."""
        return _value(self.summaries.summarise(self.name))

    def user_profile(self, participant: str = "") -> UserProfile:
        """What is known about a person."""
        return self.people.profile(participant)

    def context(
        self, max_tokens: int = 8_000, *, participant: str | None = None, system: str | None = None
    ) -> BuiltContext:
        """What an agent should see before it answers `participant`: the last one who spoke, if none is named.

        `system` takes the place of the agent's blocks.
        """
        from sage_code.memory.channels.channel_context import (  # lazy: most callers store and summarise
            TRANSCRIPT_MESSAGES,
            KnownInChannel,
            channel_context,
            people_in,
        )

        said = self.messages(TRANSCRIPT_MESSAGES)
        asking = participant if participant is not None else next(iter(people_in(said)), "")
        own = CoreMemory(self.engine, self.agent, self.settings).compile() if system is None else system
        known = KnownInChannel(own, asking, self.user_profile(asking).text, self.profile(), self.summary(), said)
        return channel_context(known, self.settings, max_tokens)

    def close(self) -> None:
        """Close the database."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _chosen(settings: Settings, summariser: Summariser | None) -> Summariser:
    return summariser_of(settings) if summariser is None else with_fallback(summariser)


def _value(stored: StoredSummary | None) -> StructuredSummary | None:
    return None if stored is None else StructuredSummary.from_json(stored.summary)
