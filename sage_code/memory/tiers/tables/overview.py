"""What is stored of an agent, over all tables: how many rows, and the texts from which words and vectors are made."""

from __future__ import annotations

from collections.abc import Mapping

from sage_code.memory.tiers.engines.protocol import Kind, Transaction

# The tables whose rows belong to an agent and are worth counting.
COUNTED = (
    "blocks",
    "block_history",
    "sessions",
    "messages",
    "passages",
    "entries",
    "channel_summaries",
    "profile_facts",
)
_TABLES: Mapping[Kind, str] = {"message": "messages", "passage": "passages"}


def counts_of(rows: Transaction, agent_id: str) -> dict[str, int]:
    """How many rows an agent has in each table."""
    asked = ", ".join(f"(SELECT count(*) FROM {table} WHERE agent_id = ?)" for table in COUNTED)
    found = rows.one(f"SELECT {asked}", [agent_id] * len(COUNTED)) or [0] * len(COUNTED)
    return dict(zip(COUNTED, map(int, found), strict=True))


def waiting_of(rows: Transaction, user: str) -> int:
    """How many messages of a user have no vectors yet."""
    found = rows.one(
        "SELECT count(*) FROM unembedded u JOIN messages r ON r.sequence = u.sequence"
        " JOIN agents a ON a.id = r.agent_id WHERE a.user_id = ?",
        (user,),
    )
    return int(found[0]) if found is not None else 0


def texts_of(rows: Transaction, kind: Kind, agent_id: str, after: int, limit: int) -> list[tuple[int, str]]:
    """The agent's messages or passages behind a sequence: sequence and text, in the order of sequences."""
    found = rows.all(
        f"SELECT sequence, content FROM {_TABLES[kind]} WHERE agent_id = ? AND sequence > ? ORDER BY sequence LIMIT ?",
        (agent_id, after, limit),
    )
    return [(sequence, content) for sequence, content in found]


def sequences_of(rows: Transaction, kind: Kind, agent_id: str) -> list[int]:
    """The sequences of all messages or passages of an agent."""
    return [row[0] for row in rows.all(f"SELECT sequence FROM {_TABLES[kind]} WHERE agent_id = ?", (agent_id,))]
