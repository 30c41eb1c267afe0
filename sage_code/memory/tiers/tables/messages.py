"""Messages: stored once each, found by sequence, session or id, with their neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, marks, moment, nested, seconds
from sage_code.memory.tiers.engines.scoping import conditions
from sage_code.memory.tiers.tables.agents import count_messages, set_message_ids
from sage_code.memory.tiers.values import Agent, Message, NewMessage, Scope

# What makes a `Message`, of `FROM`.
COLUMNS = (
    "r.sequence, r.id, r.role, r.content, r.created_at, s.id, s.project, s.channel, r.speaker, r.tool_name, r.tokens,"
    " r.metadata"
)
FROM = "messages r JOIN sessions s ON s.number = r.session"
# The most values that go into one statement; SQLite's own limit is 32,766.
_AT_ONCE = 10_000
# How far the messages before and after a found one reach.
NEIGHBOURS = 2


class Stored(NamedTuple):
    """A message that was new, and its sequence."""

    sequence: int
    message: NewMessage


def known_ids(rows: Transaction, ids: Sequence[str]) -> set[str]:
    """Which of these ids are stored."""
    found: set[str] = set()
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        found.update(str(row[0]) for row in rows.all(f"SELECT id FROM messages WHERE id IN ({marks(some)})", some))
    return found


def insert_messages(rows: Transaction, agent_id: str, new: Sequence[tuple[int, NewMessage]]) -> list[Stored]:
    """Store messages, each with the number of its session. All have a new id, a time and tokens."""
    sequences = rows.insert(
        "messages",
        ("id", "agent_id", "session", "role", "created_at", "speaker", "tool_name", "tokens", "metadata", "content"),
        (
            (
                message.id, agent_id, session, message.role, message.created_at, message.speaker, message.tool_name,
                message.tokens, Json(dict(message.metadata)) if message.metadata else "{}", message.content,
            )
            for session, message in new
        ),
    )  # fmt: skip
    return [Stored(sequence, message) for sequence, (_, message) in zip(sequences, new, strict=True)]


def messages_at(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> dict[int, Message]:
    """The agent's messages with these sequences."""
    found: dict[int, Message] = {}
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        sql = f"SELECT {COLUMNS} FROM {FROM} WHERE r.agent_id = ? AND r.sequence IN ({marks(some)})"
        found |= {row[0]: message_of(row) for row in rows.all(sql, (agent_id, *some))}
    return found


class CandidateRow(NamedTuple):
    """What the ranking of a search needs of a message; a whole one takes longer to make."""

    role: str
    content: str
    created: float  # seconds since 1970
    session: int
    speaker: str


def candidates_at(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> dict[int, CandidateRow]:
    """The agent's messages with these sequences, as candidates."""
    found: dict[int, CandidateRow] = {}
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        sql = (
            "SELECT sequence, role, content, created_at, session, speaker FROM messages"
            f" WHERE agent_id = ? AND sequence IN ({marks(some)})"
        )
        for sequence, role, content, created, session, speaker in rows.all(sql, (agent_id, *some)):
            found[sequence] = CandidateRow(role, content, seconds(created), session, speaker)
    return found


class FactsRow(NamedTuple):
    """What is said about a message without its text."""

    id: str
    role: str
    created_at: datetime


def facts_at(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> list[FactsRow]:
    """Ids, roles and times of the agent's messages with these sequences."""
    found: list[FactsRow] = []
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        sql = f"SELECT id, role, created_at FROM messages WHERE agent_id = ? AND sequence IN ({marks(some)})"
        found += [FactsRow(str(id_), role, moment(made)) for id_, role, made in rows.all(sql, (agent_id, *some))]
    return found


def allowed_of(rows: Transaction, scope: Scope, sequences: Sequence[int]) -> set[int]:
    """Those of the messages that are in a scope."""
    wanted, values = conditions("message", scope)
    if not sequences:
        return set()
    found = rows.all(
        f"SELECT r.sequence FROM messages r WHERE {wanted} AND r.sequence IN ({marks(sequences)})",
        [*values, *sequences],
    )
    return {row[0] for row in found}


def messages_with_ids(rows: Transaction, agent_id: str, ids: Sequence[str]) -> dict[str, Message]:
    """The agent's messages with these ids."""
    found: dict[str, Message] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        sql = f"SELECT {COLUMNS} FROM {FROM} WHERE r.agent_id = ? AND r.id IN ({marks(some)})"
        found |= {(message := message_of(row)).id: message for row in rows.all(sql, (agent_id, *some))}
    return found


def messages_of_session(
    rows: Transaction, agent_id: str, session_id: str, *, limit: int | None = None, newest: bool = False
) -> list[Message]:
    """The messages of a session, oldest first; with `newest` the last ones."""
    order = "DESC" if newest else "ASC"
    sql = (
        f"SELECT {COLUMNS} FROM {FROM} WHERE r.agent_id = ? AND s.agent_id = ? AND s.id = ?"
        f" ORDER BY r.created_at {order}, r.sequence {order}" + (" LIMIT ?" if limit is not None else "")
    )
    values: list[object] = [agent_id, agent_id, session_id, *([limit] if limit is not None else [])]
    found = [message_of(row) for row in rows.all(sql, values)]
    return found[::-1] if newest else found


def page_of_session(rows: Transaction, agent_id: str, session: int, skip: int, limit: int) -> list[Message]:
    """A part of the messages of a session, by its number, oldest first."""
    # The rows are found in the index of sessions before their texts are read.
    sql = (
        f"SELECT {COLUMNS} FROM {FROM} WHERE r.sequence IN (SELECT sequence FROM messages WHERE session = ?"
        " AND agent_id = ? ORDER BY created_at, sequence LIMIT ? OFFSET ?) ORDER BY r.created_at, r.sequence"
    )
    return [message_of(row) for row in rows.all(sql, (session, agent_id, limit, skip))]


def place_in_session(rows: Transaction, agent_id: str, message: Message) -> int:
    """How many messages of its session come before a message."""
    found = rows.one(
        "SELECT count(*) FROM messages n JOIN messages r ON n.session = r.session AND n.agent_id = r.agent_id"
        " WHERE r.agent_id = ? AND r.sequence = ? AND (n.created_at, n.sequence) < (r.created_at, r.sequence)",
        (agent_id, message.sequence),
    )
    return int(found[0]) if found is not None else 0


def newest_in(rows: Transaction, scope: Scope, limit: int, skip: int = 0) -> list[Message]:
    """The messages in a scope, newest first."""
    wanted, values = conditions("message", scope)
    sql = (
        f"SELECT {COLUMNS} FROM {FROM} WHERE r.sequence IN (SELECT r.sequence FROM messages r WHERE {wanted}"
        " ORDER BY r.created_at DESC, r.sequence DESC LIMIT ? OFFSET ?) ORDER BY r.created_at DESC, r.sequence DESC"
    )
    return [message_of(row) for row in rows.all(sql, [*values, limit, skip])]


def neighbours_of(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> dict[int, list[int]]:
    """For each message the sequences of up to two messages before and two after it in its session, with its own in
    between, in the order of the session."""
    # One seek in the index for each neighbour, all in one statement: a server is asked once.
    beside = ", ".join(
        f"(SELECT n.sequence FROM messages n WHERE n.session = r.session AND (n.created_at, n.sequence) {sign}"
        f" (r.created_at, r.sequence) ORDER BY n.created_at {order}, n.sequence {order} LIMIT 1 OFFSET {skipped})"
        for sign, order, steps in (("<", "DESC", range(NEIGHBOURS - 1, -1, -1)), (">", "ASC", range(NEIGHBOURS)))
        for skipped in steps
    )
    found: dict[int, list[int]] = {}
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        sql = f"SELECT r.sequence, {beside} FROM messages r WHERE r.agent_id = ? AND r.sequence IN ({marks(some)})"
        for own, *others in rows.all(sql, (agent_id, *some)):
            around = [*others[:NEIGHBOURS], own, *others[NEIGHBOURS:]]
            found[own] = [sequence for sequence in around if sequence is not None]
    return found


def unembedded(rows: Transaction, limit: int) -> list[tuple[int, int, str]]:
    """Messages that have no vectors yet: sequence, number of the agent, text."""
    found = rows.all(
        "SELECT r.sequence, a.number, r.content FROM unembedded u JOIN messages r ON r.sequence = u.sequence"
        " JOIN agents a ON a.id = r.agent_id ORDER BY u.sequence LIMIT ?",
        (limit,),
    )
    return [(sequence, number, content) for sequence, number, content in found]


def mark_unembedded(rows: Transaction, sequences: Sequence[int]) -> None:
    """Note messages that have no vectors yet."""
    rows.many(
        "INSERT INTO unembedded (sequence) VALUES (?) ON CONFLICT (sequence) DO NOTHING", ((one,) for one in sequences)
    )


def claim_unembedded(rows: Transaction, sequences: Sequence[int]) -> set[int]:
    """Note that messages get their vectors in this transaction; returns those that no other one has given them."""
    claimed: set[int] = set()
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        found = rows.all(f"DELETE FROM unembedded WHERE sequence IN ({marks(some)}) RETURNING sequence", some)
        claimed.update(row[0] for row in found)
    return claimed


def sequences_in(rows: Transaction, scope: Scope, message_id: str = "") -> list[int]:
    """The messages in a scope, or one of them, and the summaries that were made of any of them."""
    wanted, values = conditions("message", scope)
    one = (" AND r.id = ?", [message_id]) if message_id else ("", [])
    found = rows.all(f"SELECT r.sequence, r.id FROM messages r WHERE {wanted}{one[0]}", [*values, *one[1]])
    sequences = {row[0] for row in found}
    ids = {str(row[1]) for row in found}
    # In their order, because a summary quotes the one before it.
    summaries = rows.all(
        "SELECT sequence, id, metadata FROM messages WHERE agent_id = ? AND role = 'summary' ORDER BY sequence",
        (scope.agent.id,),
    )
    for sequence, id_, metadata in summaries:
        if not ids.isdisjoint(nested(metadata).get("summary_of") or ()):
            sequences.add(sequence)
            ids.add(str(id_))
    return sorted(sequences)


def delete_messages(rows: Transaction, agent: Agent, sequences: Sequence[int]) -> int:
    """Delete messages of an agent, and sessions that have none left; returns how many of these. Words and vectors are
    removed before."""
    doomed, gone = set(sequences), 0
    numbers: Counter[int] = Counter()
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        where = f"WHERE agent_id = ? AND sequence IN ({marks(some)})"
        found = rows.all(f"SELECT id, session FROM messages {where}", (agent.id, *some))
        numbers.update(row[1] for row in found)
        ids = {str(row[0]) for row in found}
        if not ids.isdisjoint(agent.message_ids):
            kept = tuple(id_ for id_ in agent.message_ids if id_ not in ids)
            agent = replace(agent, message_ids=kept)
            set_message_ids(rows, agent.id, kept)
        rows.run(f"DELETE FROM messages {where}", (agent.id, *some))
    for number, count in numbers.items():
        # The title of a session is the beginning of one of its messages.
        rows.run("UPDATE sessions SET messages = messages - ?, title = '' WHERE number = ?", (count, number))
        gone += rows.run("DELETE FROM sessions WHERE number = ? AND messages <= 0 AND state IS NULL", (number,))
    # Words are not counted message by message; their mean stays the same.
    left = max(agent.message_count - len(doomed), 0)
    share = agent.word_count * left // max(agent.message_count, 1)
    count_messages(rows, agent.id, left - agent.message_count, share - agent.word_count)
    return gone


def message_of(row: Row) -> Message:
    """A message from its `COLUMNS`."""
    sequence, id_, role, content, created, session, project, channel, speaker, tool, tokens, metadata = row
    return Message(
        sequence, str(id_), role, content, moment(created), session, project, channel, speaker, tool, tokens,
        nested(metadata),
    )  # fmt: skip
