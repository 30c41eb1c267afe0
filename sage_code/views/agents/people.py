"""What is known about people and what goes on in channels, as a page shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sage_code.errors import UsageError
from sage_code.memory.context.summary import Point, StructuredSummary, Thread
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.tables.profiles import BY_HAND
from sage_code.text.masking import mask_all
from sage_code.views.agents.opened import Paging, as_uuid, masked

if TYPE_CHECKING:
    from sage_code.memory.tiers.tables.channels import Channel, Kind, StoredSummary
    from sage_code.memory.tiers.tables.profiles import StoredFact
    from sage_code.views.agents.opened import AgentMemory

CHANNELS_A_PAGE = 50
FACTS_A_PAGE = 100
_SHOWN_VERSIONS = 100
_POINTS = ("threads", "decisions", "unresolved", "code_refs", "quotes")
_Quoted = TypeVar("_Quoted", Point, Thread)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom something is known about; an empty name is the user."""

    name: str
    facts: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact with where it comes from."""

    fact: StoredFact
    is_by_hand: bool
    was_erased: bool  # the person took it back, and its text is gone

    @property
    def taken_back_by(self) -> str:
        """The message that took it back."""
        return "" if self.fact.retired_by == BY_HAND else self.fact.retired_by


@dataclass(frozen=True, slots=True)
class PersonPage:
    """What is known about a person: as agents see it, and fact by fact, newest first."""

    name: str
    text: str
    facts: tuple[KnownFact, ...]  # those of a page
    paging: Paging
    taken_back: tuple[KnownFact, ...]  # the last ones
    rows: int  # all that is stored, for the question before it is erased


@dataclass(frozen=True, slots=True)
class SummaryView:
    """A version of a channel's summary or profile."""

    version: int
    messages: int
    made_at: datetime
    summary: StructuredSummary


@dataclass(frozen=True, slots=True)
class ChannelList:
    """A page of channels, the last used first."""

    channels: tuple[Channel, ...]
    paging: Paging


@dataclass(frozen=True, slots=True)
class ChannelPage:
    """A channel with its summary, its profile, and the versions of one of them."""

    channel: Channel
    kind: Kind
    shown: SummaryView | None  # the version that was asked for, else the newest
    versions: tuple[SummaryView, ...]


def people_list(memory: AgentMemory) -> list[Person]:
    """The people that something is known about, the user first."""
    return [Person(*row) for row in sorted(memory.people.participants(), key=lambda row: (bool(row[0]), row[0]))]


def person_page(memory: AgentMemory, name: str, page: int = 1) -> PersonPage:
    """What is known about a person."""
    every = memory.people.facts(name, retired=True)[::-1]
    present = [fact for fact in every if not fact.retired_by]
    gone = [fact for fact in every if fact.retired_by]
    paging = Paging.at(page, FACTS_A_PAGE, len(present))
    return PersonPage(
        name,
        masked(memory.people.profile(name).text),
        tuple(map(_known, present[paging.skip : paging.last])),
        paging,
        tuple(map(_known, gone[:FACTS_A_PAGE])),
        len(every),
    )


def _known(fact: StoredFact) -> KnownFact:
    is_erased = bool(fact.retired_by) and not fact.text
    return KnownFact(replace(fact, text=masked(fact.text)), fact.message_id == BY_HAND, is_erased)


def channel_list(memory: AgentMemory, page: int) -> ChannelList:
    """A page of channels."""
    with memory.engine.reading() as rows:
        every = channels.channels_of(rows, memory.agent.id)
    paging = Paging.at(page, CHANNELS_A_PAGE, len(every))
    return ChannelList(tuple(every[paging.skip : paging.last]), paging)


def channel_page(memory: AgentMemory, name: str, kind: Kind = "rolling", version: int = 0) -> ChannelPage:
    """A channel; UsageError if nothing was ever said in it."""
    with memory.engine.reading() as rows:
        channel = next((one for one in channels.channels_of(rows, memory.agent.id) if one.name == name), None)
        if channel is None:
            raise UsageError(f"there is no channel {name[:100]}", "nothing was said there, or it was forgotten")
        found = channels.summaries_of(rows, memory.agent.id, name, kind, _SHOWN_VERSIONS)
    views = tuple(map(_view, found))
    chosen = next((one for one in views if one.version == version), views[0] if views else None)
    return ChannelPage(channel, kind, chosen, views)


def summarise(memory: AgentMemory, name: str) -> bool:
    """Summarise now what waits in a channel; whether there is a summary."""
    from sage_code.memory.channels.channel_memory import ChannelMemory  # lazy: the summarisers

    channel_page(memory, name)
    return ChannelMemory(memory.engine, memory.agent, memory.settings, name).summarise() is not None


def _view(stored: StoredSummary) -> SummaryView:
    made = mask_all(StructuredSummary.from_json(stored.summary), [])
    points: dict[str, Any] = {name: tuple(map(_linkable, getattr(made, name))) for name in _POINTS}
    return SummaryView(stored.version, stored.messages, stored.made_at, replace(made, **points))


def _linkable(point: _Quoted) -> _Quoted:
    """A point that names only messages: a model may have written anything in the place of an id."""
    return replace(point, message_ids=tuple(id_ for id_ in point.message_ids if as_uuid(id_)))
