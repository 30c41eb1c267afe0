"""What the agents of a user remember, opened for a page: lazily, once, and without making what is not there.

A page that only looks must leave no trace. So `existing` opens a database that is there for an agent that is in it, and
says None otherwise; `made` is for somebody who has decided to write, and makes both.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from sage_code.memory.tiers.engines.opening import default_path, is_server, is_there, open_engine
from sage_code.memory.tiers.opened import opened_agent, user_of
from sage_code.memory.tiers.tables import agents, channels, overview, passages, profiles, sessions
from sage_code.settings.loading import load_settings
from sage_code.text.masking import mask

if TYPE_CHECKING:
    from sage_code.memory.channels.user_profiles import UserProfiles
    from sage_code.memory.tiers.archival_memory import ArchivalMemory
    from sage_code.memory.tiers.core_memory import CoreMemory
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.tables.channels import Channel
    from sage_code.memory.tiers.values import Agent, Block, Session
    from sage_code.settings.table import Settings

# What the overview shows of a list.
_LAST_SESSIONS = 8
_LAST_CHANNELS = 8


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list is shown."""

    page: int  # from 1
    size: int
    total: int

    @classmethod
    def at(cls, page: int, size: int, total: int) -> Paging:
        """The page with this number, or the last one if there are fewer."""
        return cls(min(max(page, 1), max(-(-total // size), 1)), size, total)

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(-(-self.total // self.size), 1)

    @property
    def skip(self) -> int:
        """How many rows come before this page."""
        return (self.page - 1) * self.size

    @property
    def last(self) -> int:
        """The number of the last row on this page, from 1."""
        return min(self.skip + self.size, self.total)


class AgentMemory:
    """The memory of one agent, with what its searches keep open."""

    def __init__(self, engine: Engine, agent: Agent, settings: Settings) -> None:
        self.engine, self.agent, self.settings = engine, agent, settings

    @cached_property
    def recall(self) -> RecallMemory:
        """What was said."""
        from sage_code.memory.tiers.recall_memory import RecallMemory  # lazy: the ranking

        return RecallMemory(self.engine, self.agent, self.settings)

    @cached_property
    def archive(self) -> ArchivalMemory:
        """The passages, without the states of their code."""
        return self.archive_of("")

    def archive_of(self, root: str) -> ArchivalMemory:
        """The passages as they are seen from a project."""
        from sage_code.memory.tiers.archival_memory import ArchivalMemory  # lazy: the ranking

        return ArchivalMemory(self.engine, self.agent, self.settings, root or None)

    def core(self, *, only_reads: bool = True) -> CoreMemory:
        """The blocks."""
        from sage_code.memory.tiers.core_memory import CoreMemory  # lazy: XML and differences

        return CoreMemory(self.engine, self.agent, self.settings, only_reads=only_reads)

    @cached_property
    def people(self) -> UserProfiles:
        """What is known about people."""
        from sage_code.memory.channels.user_profiles import UserProfiles  # lazy: the rules for facts

        return UserProfiles(self.engine, self.agent, self.settings)


class AgentMemories:
    """The memories of the user's agents. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened: dict[tuple[object, ...], AgentMemory] = {}  # of one state of the settings and of the file

    def existing(self, name: str = "") -> AgentMemory | None:
        """The memory of the agent with this name, or of the one of the settings; None if there is none yet."""
        settings = load_settings(None)
        return self._found(settings, name) if is_there(settings.memory_uri) else None

    def made(self, name: str = "") -> AgentMemory:
        """The memory of the agent, which is made if there is none; an agent that is named has to be there."""
        found = self.existing(name)
        if found is not None:
            return found
        settings = load_settings(None)
        if name and name != settings.memory_agent:
            from sage_code.errors import UsageError

            raise UsageError(f"you have no agent {name[:80]!r}", "`sage memory agents` lists them")
        engine = open_engine(settings.memory_uri)
        opened_agent(engine, settings)
        engine.close()
        made = self._found(settings, "")
        assert made is not None
        return made

    def _found(self, settings: Settings, name: str) -> AgentMemory | None:
        """The memory of an agent in a database that is there, opened once."""
        key = (settings, name or settings.memory_agent, _identity(settings.memory_uri))
        with self._lock:
            if (known := self._opened.get(key)) is not None:
                with known.engine.reading() as rows:
                    if agents.agent_with_id(rows, known.agent.id) is not None:
                        return known
                del self._opened[key]  # the agent was forgotten
            # One engine serves all agents; a database that was replaced is opened again. The old one is not closed:
            # another request may be using it.
            same = [one for other, one in self._opened.items() if (other[0], other[2]) == (key[0], key[2])]
            engine = same[0].engine if same else open_engine(settings.memory_uri)
            with engine.reading() as rows:
                agent = agents.agent_of(rows, user_of(settings), name or settings.memory_agent)
            if not same:
                self._opened.clear()
            if agent is None:
                if not same:
                    engine.close()
                return None
            self._opened[key] = AgentMemory(engine, agent, settings)
            return self._opened[key]


def _identity(uri: str) -> tuple[object, ...]:
    """Which database is at an address now: a file that was deleted and made again is another one."""
    if is_server(uri):
        return (uri,)
    found = os.stat(os.path.expanduser(uri) if uri else default_path())
    return (uri, default_path(), found.st_dev, found.st_ino)


@dataclass(frozen=True, slots=True)
class MemoryOverview:
    """What an agent remembers, in numbers and in its last rows."""

    agent: Agent
    agents: tuple[Agent, ...]  # all of the user's
    place: str  # of the database, without a password
    size: int
    counts: dict[str, int]
    waiting_vectors: int
    sessions: tuple[Session, ...]
    blocks: tuple[Block, ...]
    channels: tuple[Channel, ...]  # those in which messages wait for a summary, longest first
    people: int


def overview_of(memory: AgentMemory) -> MemoryOverview:
    """What an agent remembers; nothing is counted row by row that has a counter."""
    from sage_code.memory.tiers.block_xml import in_order  # lazy: only shown here

    agent_id = memory.agent.id
    with memory.engine.reading() as rows:
        agent = agents.agent_with_id(rows, agent_id) or memory.agent
        last = sessions.sessions_of(rows, agent_id, limit=_LAST_SESSIONS)
        counts = {
            "messages": agent.message_count,
            "sessions": sessions.count_of_sessions(rows, agent_id),
            "passages": passages.count_passages(rows, agent_id),
        }
        dirty = channels.dirty_channels(rows, agent_id, _LAST_CHANNELS)
        people = profiles.participants_of(rows, agent_id)
        every = agents.agents_of(rows, agent.user)
        waiting = overview.waiting_of(rows, agent.user)
    counts["facts"] = sum(count for _, count, _ in people)
    return MemoryOverview(
        agent,
        tuple(every),
        memory.engine.uri,
        memory.engine.size(),
        counts,
        waiting,
        tuple(map(masked_session, last)),
        tuple(map(masked_block, in_order(memory.core().blocks()))),
        tuple(dirty),
        len(people),
    )


def as_uuid(text: str) -> str:
    """An id as it is stored; empty if the text is none."""
    try:
        return str(UUID(text))
    except ValueError:
        return ""


def masked(text: str) -> str:
    """A text without secrets. What is stored was masked when it came in; rules that are newer find more."""
    return mask(text)[0]


def masked_session(session: Session) -> Session:
    """A session whose title can be shown; its id stays, because addresses name it."""
    return replace(session, title=masked(session.title))


def masked_block(block: Block) -> Block:
    """A block whose texts can be shown."""
    return replace(block, value=masked(block.value), description=masked(block.description))
