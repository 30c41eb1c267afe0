"""Sessions: the runs of an agent that messages belong to, and the state of a task that another session continues."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, moment, nested
from sage_code.memory.tiers.values import Scope, Session

_COLUMNS = "number, id, project, channel, title, source, started_at, last_at, messages, state"


def session_of(rows: Transaction, agent_id: str, session_id: str) -> Session | None:
    """The session of an agent with this id."""
    found = rows.one(f"SELECT {_COLUMNS} FROM sessions WHERE agent_id = ? AND id = ?", (agent_id, session_id))
    return None if found is None else _session(found)


def sessions_of(
    rows: Transaction, agent_id: str, *, project: str = "", since: datetime | None = None, limit: int = 50
) -> list[Session]:
    """The sessions of an agent that have messages or a state, the last used first."""
    wanted, values = ["agent_id = ?"], [agent_id]  # type: list[str], list[object]
    for condition, value in (("project = ?", project), ("last_at >= ?", since)):
        if value:
            wanted.append(condition)
            values.append(value)
    found = rows.all(
        f"SELECT {_COLUMNS} FROM sessions WHERE {' AND '.join(wanted)} ORDER BY last_at DESC, number DESC LIMIT ?",
        [*values, limit],
    )
    return [_session(row) for row in found]


class MadeSession(NamedTuple):
    """Where a session is, and which stream of messages it belongs to."""

    number: int
    project: str
    channel: str


def make_session(rows: Transaction, agent_id: str, session_id: str, when: datetime, **known: str) -> MadeSession:
    """A session, which is made if there is none. What is `known` of it (project, channel, title,
    source) is added to what was known before."""
    fields = {name: known.get(name, "") for name in ("project", "channel", "title", "source")}
    rows.run(
        "INSERT INTO sessions (agent_id, id, project, channel, title, source, started_at, last_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, id) DO NOTHING",
        (agent_id, session_id, *fields.values(), when, when),
    )
    given = {name: value for name, value in fields.items() if value}
    if given:
        changes = ", ".join(f"{name} = ?" for name in given)
        rows.run(
            f"UPDATE sessions SET {changes} WHERE agent_id = ? AND id = ?", (*given.values(), agent_id, session_id)
        )
    found = rows.one(
        "SELECT number, project, channel FROM sessions WHERE agent_id = ? AND id = ?", (agent_id, session_id)
    )
    assert found is not None
    return MadeSession(*found)


def count_session(rows: Transaction, number: int, messages: int, first: datetime, last: datetime) -> None:
    """Note messages that were added to a session, and the times that they reach from and to."""
    rows.run(
        "UPDATE sessions SET messages = messages + ?,"
        " started_at = CASE WHEN messages = 0 OR started_at > ? THEN ? ELSE started_at END,"
        " last_at = CASE WHEN messages = 0 OR last_at < ? THEN ? ELSE last_at END WHERE number = ?",
        (messages, first, first, last, last, number),
    )


def set_state(rows: Transaction, number: int, state: Mapping[str, Any] | None, when: datetime) -> None:
    """Replace the state of a session."""
    value = None if state is None else Json(dict(state))
    rows.run("UPDATE sessions SET state = ?, last_at = ? WHERE number = ?", (value, when, number))


def delete_whole(rows: Transaction, scope: Scope) -> int:
    """Delete the sessions of a scope with their entries and states; returns how many. Their messages are deleted
    before."""
    wanted, values = ["agent_id = ?"], [scope.agent.id]
    for condition, value in (("id = ?", scope.session), ("project = ?", scope.project)):
        if value:
            wanted.append(condition)
            values.append(value)
    where = " AND ".join(wanted)
    rows.run(
        f"DELETE FROM entries WHERE agent_id = ? AND session_id IN (SELECT id FROM sessions WHERE {where})",
        (scope.agent.id, *values),
    )
    return rows.run(f"DELETE FROM sessions WHERE {where}", values)


def _session(row: Row) -> Session:
    number, id_, project, channel, title, source, started, last, messages, state = row
    known = None if state is None else nested(state)
    return Session(number, id_, project, channel, title, source, moment(started), moment(last), messages, known)
