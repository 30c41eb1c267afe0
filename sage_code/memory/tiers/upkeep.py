"""Looks after the memory of a user: what is in it, words and vectors made again, an agent deleted with everything.

Nothing here reaches the rows of another user, also where a team shares the database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.errors import UsageError
from sage_code.memory.tiers.engines.opening import is_server
from sage_code.memory.tiers.ranking.parts import words_of_text
from sage_code.memory.tiers.tables import agents, messages, overview
from sage_code.memory.tiers.values import Agent

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine, Kind
    from sage_code.settings.table import Settings

# Rows whose words are made again in one transaction: other writers wait for less than a second.
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Overview:
    """Where a memory is, and what it holds of a user."""

    uri: str
    engine: str  # sqlite, postgresql
    size: int
    user: str
    agents: tuple[Agent, ...]
    rows: dict[str, int]  # by table, of all agents of the user
    waiting: int  # messages of the user without vectors


def overview_of(engine: Engine, user: str) -> Overview:
    """What is stored of a user."""
    with engine.reading() as rows:
        every = agents.agents_of(rows, user)
        counts = [overview.counts_of(rows, agent.id) for agent in every]
        waiting = overview.waiting_of(rows, user)
    total = {table: sum(one[table] for one in counts) for table in overview.COUNTED}
    kind = "postgresql" if is_server(engine.uri) else "sqlite"
    return Overview(engine.uri, kind, engine.size(), user, tuple(every), total, waiting)


def agents_of_user(engine: Engine, user: str) -> list[Agent]:
    """The agents of a user, by name."""
    with engine.reading() as rows:
        return agents.agents_of(rows, user)


def agent_named(engine: Engine, user: str, name: str) -> Agent:
    """The user's agent with this name; UsageError that names the others if there is none."""
    with engine.reading() as rows:
        agent = agents.agent_of(rows, user, name)
        others = [] if agent is not None else agents.agents_of(rows, user)
    if agent is None:
        names = ", ".join(one.name for one in others)
        raise UsageError(f"{user} has no agent {name[:80]!r}", f"there are: {names}" if names else "there is none yet")
    return agent


def rebuild(
    engine: Engine, every: Sequence[Agent], settings: Settings, progress: Callable[[str, int], None] | None = None
) -> dict[str, int]:
    """Make the words and vectors of agents again from their rows; returns how many messages and passages they have."""
    from sage_code.memory.tiers.archival_memory import ArchivalMemory  # lazy: NumPy
    from sage_code.memory.tiers.recall_memory import RecallMemory

    said = progress or (lambda _what, _number: None)
    done = {"messages": 0, "passages": 0}
    for agent in every:
        done["messages"] += _index_again(engine, "message", agent, said)
        done["passages"] += _index_again(engine, "passage", agent, said)
    seen = 0

    def count(number: int) -> None:
        nonlocal seen
        said("vectors", number - seen)
        seen = number

    for agent in every[:1]:  # the vectors of all of them
        RecallMemory(engine, agent, settings).catch_up(progress=count)
    for agent in every:
        ArchivalMemory(engine, agent, settings).catch_up()
    engine.maintain()
    return done


def rows_of(engine: Engine, agent: Agent) -> dict[str, int]:
    """How many rows an agent has in each table."""
    with engine.reading() as rows:
        return overview.counts_of(rows, agent.id)


def forget_agent(engine: Engine, agent: Agent) -> dict[str, int]:
    """Delete an agent and everything that it remembers, for good; returns the number of rows by table."""
    kinds: tuple[Kind, ...] = ("message", "passage")
    with engine.writing() as rows:
        rows.lock_agent(agent.id)
        counts = overview.counts_of(rows, agent.id)
        for kind in kinds:
            engine.remove(rows, kind, overview.sequences_of(rows, kind, agent.id))
        agents.delete_agent(rows, agent.id)
    engine.erase()
    return counts


def _index_again(engine: Engine, kind: Kind, agent: Agent, said: Callable[[str, int], None]) -> int:
    """Index the words of all rows of a kind again, and drop their vectors; returns how many rows there are."""
    after, number = -1, 0
    while True:
        with engine.writing() as rows:
            rows.lock_agent(agent.id)
            batch = overview.texts_of(rows, kind, agent.id, after, _BATCH)
            sequences = [sequence for sequence, _ in batch]
            engine.remove(rows, kind, sequences)
            engine.add_words(rows, kind, [(sequence, words_of_text(text)) for sequence, text in batch])
            if kind == "message":
                messages.mark_unembedded(rows, sequences)
        if not batch:
            return number
        after, number = sequences[-1], number + len(batch)
        said(f"words of {kind}s", len(batch))
