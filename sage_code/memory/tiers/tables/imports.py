"""Imports: how far each file of messages was read, so that the next reader goes on there. No text of a file is kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sage_code.memory.tiers.engines.protocol import Json, Transaction, nested


def read_until(rows: Transaction, agent_id: str, path: str) -> dict[str, Any]:
    """What was noted about a file when it was last read; empty if it never was."""
    found = rows.one("SELECT cursor FROM imports WHERE agent_id = ? AND path = ?", (agent_id, path))
    cursor = nested(found[0]) if found is not None else None
    return cursor if isinstance(cursor, dict) else {}


def note_read(rows: Transaction, agent_id: str, path: str, cursor: Mapping[str, Any], when: datetime) -> None:
    """Note how far a file was read."""
    rows.run(
        "INSERT INTO imports (agent_id, path, cursor, done_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (agent_id, path) DO UPDATE SET cursor = excluded.cursor, done_at = excluded.done_at",
        (agent_id, path, Json(dict(cursor)), when),
    )
