"""Summaries: messages that stand for others. Their metadata name those, and may hold thousands of ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sage_code.memory.tiers.engines.protocol import Json, Transaction


def set_metadata(rows: Transaction, agent_id: str, message_id: str, metadata: Mapping[str, Any]) -> None:
    """Replace the metadata of a summary. They are not masked: the caller puts only ids and its own words in."""
    rows.run(
        "UPDATE messages SET metadata = ? WHERE agent_id = ? AND id = ? AND role = 'summary'",
        (Json(dict(metadata)), agent_id, message_id),
    )
