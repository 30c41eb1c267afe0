"""Copies everything from one database to another and proves it: counts and digests of every table, agent by agent.

Rows that the target has already are left alone unless they have changed since, so a copy that was interrupted goes on
where it stopped. The source is not changed. Words and vectors are derived from the rows and made again at the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sage_code.errors import StoreError, UsageError
from sage_code.memory.tiers.engines.protocol import Engine, Transaction
from sage_code.memory.tiers.ranking.parts import words_of_text
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import agents, copying, messages, passages
from sage_code.memory.tiers.values import Agent
from sage_code.settings.table import Settings

_MODULUS = 1 << 128


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """How many rows of a table the source and the target have, and whether they say the same."""

    table: str
    rows: int
    digest: str
    rows_at_target: int
    digest_at_target: str

    @property
    def is_same(self) -> bool:
        """Whether the target has exactly the rows of the source."""
        return (self.rows, self.digest) == (self.rows_at_target, self.digest_at_target)


def move(
    source: Engine,
    target: Engine,
    settings: Settings,
    progress: Callable[[str, int], None] | None = None,
    *,
    user: str = "",
) -> list[CopiedTable]:
    """Copy all agents of the source, or those of one user, and compare. StoreError if the target differs afterwards."""
    said = progress or (lambda _table, _rows: None)
    with source.reading() as rows:
        every = agents.agents_of(rows, user) if user else agents.all_agents(rows)
    if not every:
        raise UsageError(f"there is nothing in {source.uri}", "nothing was copied")
    for agent in every:
        _make_room(target, agent)
        _copy(source, target, agent, said)
    _embed(target, every, settings, said)
    target.maintain()
    proof = _proof(source, target, every)
    if different := [one for one in proof if not one.is_same]:
        more = any(one.rows_at_target > one.rows for one in different)
        raise StoreError(
            f"{target.uri} differs from {source.uri} in {', '.join(one.table for one in different)}",
            "it has rows that were deleted here since: use an empty database"
            if more
            else "something wrote to one of them meanwhile: end it and run the command again",
        )
    return proof


def _make_room(target: Engine, agent: Agent) -> None:
    """Make the agent at the target, with the id that it has; one of the same name that has no rows gives way.

    An earlier copy that was used since is not overwritten.
    """
    with target.writing() as rows:
        there = agents.agent_of(rows, agent.user, agent.name)
        if there is not None and there.id == agent.id and _is_newer(there, agent):
            raise UsageError(
                f"{target.uri} has a newer memory of {agent.user}'s agent {agent.name}",
                "nothing of this agent was copied: the other direction may be the one you want",
            )
        if there is not None and there.id != agent.id:
            if there.message_count or agents.has_rows(rows, there.id):
                raise UsageError(
                    f"{target.uri} has a memory of {agent.user}'s agent {agent.name} already",
                    "nothing of this agent was copied: rename one of the two (`memory_agent`), or forget one",
                )
            agents.delete_agent(rows, there.id)
            there = None
        if there is None:
            agents.insert_agent(rows, agent)


def _is_newer(there: Agent, here: Agent) -> bool:
    """Whether an agent has more messages or later edits than the same agent of another database."""
    edited = [one.last_memory_update.timestamp() if one.last_memory_update else 0.0 for one in (there, here)]
    return there.message_count > here.message_count or edited[0] > edited[1]


def _copy(source: Engine, target: Engine, agent: Agent, said: Callable[[str, int], None]) -> None:
    """Copy the rows of one agent, a transaction for each batch."""
    with source.reading() as rows:
        for table in copying.TABLES:
            _copy_table(rows, target, agent, table, said)
        with target.reading() as there:
            known = there.all("SELECT id, number FROM sessions WHERE agent_id = ?", (agent.id,))
            numbers: dict[str, int] = dict(known)
        for batch in copying.pages(rows, copying.MESSAGES, agent.id):
            with target.writing() as there:
                stored = copying.insert_of_sessions(there, agent.id, batch, numbers)
                if stored:
                    target.add_words(there, "message", [(number, words_of_text(text)) for number, text in stored])
                    messages.mark_unembedded(there, [number for number, _ in stored])
            said("messages", len(batch))
        _copy_table(rows, target, agent, copying.IMPORTS, said)
    with target.writing() as there:
        agents.restore_counts(there, agent)


def _copy_table(
    rows: Transaction, target: Engine, agent: Agent, table: copying.Table, said: Callable[[str, int], None]
) -> None:
    """Copy the rows of one agent in one table."""
    for batch in copying.pages(rows, table, agent.id):
        with target.writing() as there:
            copying.insert(there, table, agent.id, batch)
            if table.name == "passages":
                _index_passages(target, there, agent, [row[0] for row in batch])
        said(table.name, len(batch))


def _index_passages(target: Engine, rows: Transaction, agent: Agent, ids: list[str]) -> None:
    """Index the words of passages that have none yet."""
    new = passages.without_words(target, rows, agent.id, ids)
    target.add_words(rows, "passage", [(sequence, words_of_text(content)) for sequence, content in new])


def _embed(target: Engine, every: list[Agent], settings: Settings, said: Callable[[str, int], None]) -> None:
    """Make the vectors at the target."""
    from sage_code.memory.tiers.archival_memory import ArchivalMemory  # lazy: NumPy

    done = 0

    def count(number: int) -> None:
        nonlocal done
        said("vectors", number - done)
        done = number

    RecallMemory(target, every[0], settings).catch_up(progress=count)
    for agent in every:
        ArchivalMemory(target, agent, settings).catch_up()


def _proof(source: Engine, target: Engine, every: list[Agent]) -> list[CopiedTable]:
    """Counts and digests of every table in both databases."""
    found = []
    sums = [_sums(engine, every) for engine in (source, target)]
    for name in sums[0]:
        (rows, digest), (there, other) = sums[0][name], sums[1][name]
        found.append(CopiedTable(name, rows, f"{digest:032x}", there, f"{other:032x}"))
    return found


def _sums(engine: Engine, every: list[Agent]) -> dict[str, tuple[int, int]]:
    """The number of rows and the digest of each table, over these agents."""
    sums: dict[str, tuple[int, int]] = {}
    with engine.reading() as rows:
        for agent in every:
            there = agents.agent_with_id(rows, agent.id)
            known = [] if there is None else [agents.plain(there)]
            _add(sums, "agents", known)
            for table in (*copying.TABLES, copying.MESSAGES, copying.IMPORTS):
                _add(sums, table.name, [])
                for batch in copying.pages(rows, table, agent.id):
                    _add(sums, table.name, batch)
    return sums


def _add(sums: dict[str, tuple[int, int]], table: str, batch: list[list[object]]) -> None:
    count, total = sums.get(table, (0, 0))
    sums[table] = (count + len(batch), (total + sum(map(copying.digest, batch))) % _MODULUS)
