"""Agents: whose rows they are, which messages are in their context, how many are stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import uuid4

from sage_code.memory.tiers.engines.protocol import Row, Transaction, moment, texts
from sage_code.memory.tiers.values import Agent, now

_COLUMNS = "id, number, user_id, name, message_ids, message_count, word_count, last_memory_update, created_at"


def agent_of(rows: Transaction, user: str, name: str) -> Agent | None:
    """The agent of this user with this name."""
    return _agent(rows.one(f"SELECT {_COLUMNS} FROM agents WHERE user_id = ? AND name = ?", (user, name)))


def agent_with_id(rows: Transaction, agent_id: str) -> Agent | None:
    """The agent with this id, whoever's it is."""
    return _agent(rows.one(f"SELECT {_COLUMNS} FROM agents WHERE id = ?", (agent_id,)))


def agents_of(rows: Transaction, user: str) -> list[Agent]:
    """All agents of a user, by name."""
    found = rows.all(f"SELECT {_COLUMNS} FROM agents WHERE user_id = ? ORDER BY name", (user,))
    return [agent for row in found if (agent := _agent(row)) is not None]


def all_agents(rows: Transaction) -> list[Agent]:
    """Every agent of every user."""
    found = rows.all(f"SELECT {_COLUMNS} FROM agents ORDER BY number")
    return [agent for row in found if (agent := _agent(row)) is not None]


def insert_agent(rows: Transaction, agent: Agent) -> None:
    """Store an agent of another database, under its id."""
    rows.run(
        "INSERT INTO agents (id, user_id, name, created_at) VALUES (?, ?, ?, ?)",
        (agent.id, agent.user, agent.name, agent.created_at),
    )


def restore_counts(rows: Transaction, agent: Agent) -> None:
    """Give an agent the context, the counts and the time that it has in another database."""
    rows.run(
        "UPDATE agents SET message_ids = ?, message_count = ?, word_count = ?, last_memory_update = ? WHERE id = ?",
        (agent.message_ids, agent.message_count, agent.word_count, agent.last_memory_update, agent.id),
    )


def has_rows(rows: Transaction, agent_id: str) -> bool:
    """Whether anything but its default blocks was stored for an agent."""
    tables = ("sessions", "passages", "entries", "profile_facts", "block_history")
    asked = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE agent_id = ?" + (" AND version > 1" if table == "block_history" else "")
        for table in tables
    )
    return rows.one(f"SELECT 1 FROM ({asked}) AS found LIMIT 1", [agent_id] * len(tables)) is not None


def plain(agent: Agent) -> list[object]:
    """What an agent is, without the number that its database has given it."""
    return [
        agent.id, agent.user, agent.name, list(agent.message_ids), agent.message_count, agent.word_count,
        agent.last_memory_update, agent.created_at,
    ]  # fmt: skip


def make_agent(rows: Transaction, user: str, name: str) -> Agent:
    """The agent of this user with this name, which is made if there is none."""
    rows.run(
        "INSERT INTO agents (id, user_id, name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (user_id, name) DO NOTHING",
        (str(uuid4()), user, name, now()),
    )
    agent = agent_of(rows, user, name)
    assert agent is not None
    return agent


def set_message_ids(rows: Transaction, agent_id: str, ids: Sequence[str]) -> None:
    """Say which messages are in the agent's context."""
    rows.run("UPDATE agents SET message_ids = ? WHERE id = ?", (tuple(ids), agent_id))


def count_messages(rows: Transaction, agent_id: str, messages: int, words: int) -> None:
    """Add to the numbers of stored messages and words, or take away from them."""
    rows.run(
        "UPDATE agents SET message_count = message_count + ?, word_count = word_count + ? WHERE id = ?",
        (messages, words, agent_id),
    )


def memory_changed(rows: Transaction, agent_id: str, when: datetime) -> None:
    """Note when the agent's blocks were changed last."""
    rows.run("UPDATE agents SET last_memory_update = ? WHERE id = ?", (when, agent_id))


def delete_agent(rows: Transaction, agent_id: str) -> None:
    """Delete an agent and all rows that belong to it. Its words and vectors are removed before."""
    rows.run("DELETE FROM agents WHERE id = ?", (agent_id,))


def _agent(row: Row | None) -> Agent | None:
    if row is None:
        return None
    id_, number, user, name, message_ids, messages, words, changed, created = row
    updated = None if changed is None else moment(changed)
    return Agent(str(id_), number, user, name, texts(message_ids), messages, words, updated, moment(created))
