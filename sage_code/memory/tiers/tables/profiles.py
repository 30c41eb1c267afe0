"""Facts about people: each with the message that it comes from, and with the one that took it back.

A participant is the name of a speaker; an empty one is the person whose agent it is. A profile that was forgotten notes
when, so that messages from before do not bring it back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sage_code.memory.tiers.engines.protocol import Row, Transaction, marks, moment

# What a person wrote or took back by hand; the name in the place of a message's id.
BY_HAND = "by hand"
_COLUMNS = "id, participant, text, message_id, said_at, score, subject, retired_by, changed_at"
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class StoredFact:
    """Something that is known about a person."""

    id: str
    participant: str
    text: str
    message_id: str  # `BY_HAND`: the person wrote it
    said_at: datetime
    score: float = 1.0
    subject: str = ""
    retired_by: str = ""  # the message that took it back; `BY_HAND`: the person did
    changed_at: datetime | None = None


def facts_of(rows: Transaction, agent_id: str, participant: str, *, retired: bool = False) -> list[StoredFact]:
    """The facts about a person, oldest first; with `retired` also those that were taken back."""
    only = "" if retired else " AND retired_by = ''"
    found = rows.all(
        f"SELECT {_COLUMNS} FROM profile_facts WHERE agent_id = ? AND participant = ?{only} ORDER BY said_at, id",
        (agent_id, participant),
    )
    return [_fact(row) for row in found]


def participants_of(rows: Transaction, agent_id: str) -> list[tuple[str, int, datetime]]:
    """The people that something is known about: name, number of facts, and the time of the last one."""
    found = rows.all(
        "SELECT participant, count(*), max(said_at) FROM profile_facts WHERE agent_id = ? AND retired_by = ''"
        " GROUP BY participant ORDER BY participant",
        (agent_id,),
    )
    return [(name, count, moment(last)) for name, count, last in found]


def add_facts(rows: Transaction, agent_id: str, facts: Sequence[StoredFact], when: datetime) -> None:
    """Store facts that are not known yet. One that was taken back stays so."""
    rows.many(
        f"INSERT INTO profile_facts (agent_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (agent_id, id) DO NOTHING",
        (
            (agent_id, one.id, one.participant, one.text, one.message_id, one.said_at, one.score, one.subject,
             one.retired_by, when)
            for one in facts
        ),
    )  # fmt: skip


def retire_facts(rows: Transaction, agent_id: str, ids: Sequence[str], by: str, when: datetime) -> int:
    """Note that facts were taken back; returns how many. What a person takes back keeps its id and loses its text."""
    changed = 0
    wiped = ", text = '', subject = ''" if by == BY_HAND else ""
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        changed += rows.run(
            f"UPDATE profile_facts SET retired_by = ?, changed_at = ?{wiped} WHERE agent_id = ? AND retired_by = ''"
            f" AND id IN ({marks(some)})",
            (by, when, agent_id, *some),
        )
    return changed


def restore_fact(rows: Transaction, agent_id: str, fact: StoredFact, when: datetime) -> bool:
    """Give a fact that a person took back its text again; False if there is no such fact."""
    return bool(
        rows.run(
            "UPDATE profile_facts SET retired_by = '', text = ?, subject = ?, changed_at = ?"
            " WHERE agent_id = ? AND id = ? AND participant = ? AND retired_by = ?",
            (fact.text, fact.subject, when, agent_id, fact.id, fact.participant, BY_HAND),
        )
    )


def count_facts_of(rows: Transaction, agent_id: str, message_ids: Sequence[str]) -> int:
    """How many facts come from these messages."""
    total = 0
    for start in range(0, len(message_ids), _AT_ONCE):
        some = message_ids[start : start + _AT_ONCE]
        found = rows.one(
            f"SELECT count(*) FROM profile_facts WHERE agent_id = ? AND message_id IN ({marks(some)})",
            (agent_id, *some),
        )
        total += int(found[0]) if found is not None else 0
    return total


def forget_profile(rows: Transaction, agent_id: str, participant: str, when: datetime) -> int:
    """Delete everything that is known about a person; returns how many facts. Earlier messages bring nothing back."""
    gone = rows.run("DELETE FROM profile_facts WHERE agent_id = ? AND participant = ?", (agent_id, participant))
    rows.run(
        "INSERT INTO profiles (agent_id, participant, forgotten_at, changed_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (agent_id, participant) DO UPDATE SET forgotten_at = excluded.forgotten_at,"
        " changed_at = excluded.changed_at",
        (agent_id, participant, when, when),
    )
    return gone


def forgotten_at(rows: Transaction, agent_id: str) -> dict[str, datetime]:
    """When profiles were forgotten, by participant."""
    found = rows.all(
        "SELECT participant, forgotten_at FROM profiles WHERE agent_id = ? AND forgotten_at IS NOT NULL", (agent_id,)
    )
    return {name: moment(when) for name, when in found}


def forget_facts_of(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> None:
    """Delete the facts that come from these messages, before the messages are deleted."""
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        found = rows.all(
            f"SELECT id FROM messages WHERE agent_id = ? AND sequence IN ({marks(some)})", (agent_id, *some)
        )
        ids = [str(row[0]) for row in found]
        if ids:
            rows.run(f"DELETE FROM profile_facts WHERE agent_id = ? AND message_id IN ({marks(ids)})", (agent_id, *ids))


def _fact(row: Row) -> StoredFact:
    id_, participant, text, message_id, said, score, subject, retired_by, changed = row
    return StoredFact(
        id_, participant, text, message_id, moment(said), float(score), subject, retired_by, moment(changed)
    )
