"""A scope as a condition in SQL, the same for every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Kind
    from sage_code.memory.tiers.values import Scope


def conditions(kind: Kind, scope: Scope) -> tuple[str, list[object]]:
    """The condition on a row `r` of the table of this kind, and its values. Only rows of the agent ever fulfil it."""
    found: list[str] = ["r.agent_id = ?"]
    values: list[object] = [scope.agent.id]
    if kind == "message":
        sessions = [(name, value) for name, value in (("project", scope.project), ("id", scope.session)) if value]
        if sessions:
            wanted = " AND ".join(f"{name} = ?" for name, _ in sessions)
            found.append(f"r.session IN (SELECT number FROM sessions WHERE agent_id = ? AND {wanted})")
            values += [scope.agent.id, *(value for _, value in sessions)]
        if scope.role:
            found.append("r.role = ?")
            values.append(scope.role)
    elif scope.project:
        found.append("r.project = ?")
        values.append(scope.project)
    for name, moment in (("r.created_at >= ?", scope.since), ("r.created_at < ?", scope.until)):
        if moment is not None:
            found.append(name)
            values.append(moment)
    return " AND ".join(found), values
