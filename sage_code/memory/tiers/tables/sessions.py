"""Sessions: the runs of an agent that messages belong to, and the state of a task that another session continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sage_code.memory.tiers.engines.protocol import Json, Row, Transaction, marks, moment, nested
from sage_code.memory.tiers.values import Scope, Session

_COLUMNS = "number, id, project, channel, title, source, started_at, last_at, messages, state"
_FACTS = ("project", "channel", "title", "source")
# The most values that go into one statement; SQLite's own limit is 32,766.
_AT_ONCE = 10_000


def session_of(rows: Transaction, agent_id: str, session_id: str) -> Session | None:
    """The session of an agent with this id."""
    found = rows.one(f"SELECT {_COLUMNS} FROM sessions WHERE agent_id = ? AND id = ?", (agent_id, session_id))
    return None if found is None else _session(found)


def sessions_of(
    rows: Transaction,
    agent_id: str,
    *,
    project: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 50,
    skip: int = 0,
) -> list[Session]:
    """The sessions of an agent that have messages or a state, the last used first."""
    where, values = _in_span(agent_id, project, since, until)
    found = rows.all(
        f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY last_at DESC, number DESC LIMIT ? OFFSET ?",
        [*values, limit, skip],
    )
    return [_session(row) for row in found]


def count_of_sessions(
    rows: Transaction,
    agent_id: str,
    *,
    project: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> int:
    """How many sessions an agent has."""
    where, values = _in_span(agent_id, project, since, until)
    found = rows.one(f"SELECT count(*) FROM sessions WHERE {where}", values)
    return int(found[0]) if found is not None else 0


def projects_of(rows: Transaction, agent_id: str) -> list[str]:
    """The projects that an agent's sessions were in, the last used first."""
    found = rows.all(
        "SELECT project FROM sessions WHERE agent_id = ? AND project <> '' GROUP BY project"
        " ORDER BY max(last_at) DESC, project",
        (agent_id,),
    )
    return [str(row[0]) for row in found]


def _in_span(agent_id: str, project: str, since: datetime | None, until: datetime | None) -> tuple[str, list[object]]:
    """The condition on the sessions of a project that something was said in during a span of time."""
    wanted, values = ["agent_id = ?"], [agent_id]  # type: list[str], list[object]
    for condition, value in (("project = ?", project), ("last_at >= ?", since), ("started_at < ?", until)):
        if value:
            wanted.append(condition)
            values.append(value)
    return " AND ".join(wanted), values


class MadeSession(NamedTuple):
    """Where a session is, and which stream of messages it belongs to."""

    number: int
    project: str
    channel: str


def make_session(rows: Transaction, agent_id: str, session_id: str, when: datetime, **known: str) -> int:
    """The number of a session, which is made if there is none."""
    [made] = make_sessions(rows, agent_id, {session_id: when}, **known).values()  # its stored id may differ
    return made.number


def make_sessions(
    rows: Transaction, agent_id: str, begun: Mapping[str, datetime], **known: str
) -> dict[str, MadeSession]:
    """Sessions by their ids; others are made, with the time at which they begin. Ids are storable. What is `known` of
    all of them (project, channel, title, source) is added to what was known before."""
    fields = {name: known.get(name, "") for name in _FACTS}
    found = _facts_of(rows, agent_id, list(begun))
    if missing := [session for session in begun if session not in found]:
        rows.many(
            "INSERT INTO sessions (agent_id, id, project, channel, title, source, started_at, last_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id, id) DO NOTHING",
            ((agent_id, session, *fields.values(), begun[session], begun[session]) for session in missing),
        )
        found |= _facts_of(rows, agent_id, missing)
    given = {name: value for name, value in fields.items() if value}
    others = [
        number
        for number, *before in found.values()
        if any(before[_FACTS.index(name)] != value for name, value in given.items())
    ]
    if others:
        changes = ", ".join(f"{name} = ?" for name in given)
        rows.run(f"UPDATE sessions SET {changes} WHERE number IN ({marks(others)})", (*given.values(), *others))
    return {
        session: MadeSession(number, given.get("project") or project, given.get("channel") or channel)
        for session, (number, project, channel, *_) in found.items()
    }


def _facts_of(rows: Transaction, agent_id: str, sessions: Sequence[str]) -> dict[str, Row]:
    """The numbers of sessions and what is known of them, by their ids."""
    found: dict[str, Row] = {}
    for start in range(0, len(sessions), _AT_ONCE):
        some = sessions[start : start + _AT_ONCE]
        columns = ", ".join(_FACTS)
        sql = f"SELECT id, number, {columns} FROM sessions WHERE agent_id = ? AND id IN ({marks(some)})"
        found |= {row[0]: row[1:] for row in rows.all(sql, (agent_id, *some))}
    return found


def count_sessions(rows: Transaction, added: Mapping[int, Sequence[datetime]]) -> None:
    """Note the messages that were added to sessions, by their times."""
    rows.many(
        "UPDATE sessions SET messages = messages + ?,"
        " started_at = CASE WHEN messages = 0 OR started_at > ? THEN ? ELSE started_at END,"
        " last_at = CASE WHEN messages = 0 OR last_at < ? THEN ? ELSE last_at END WHERE number = ?",
        (
            (len(times), first, first, last, last, number)
            for number, times in added.items()
            for first, last in [(min(times), max(times))]
        ),
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
