"""Messages for the tests of profiles."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

START = datetime(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class Said:
    """A message."""

    id: str
    content: str
    role: str = "user"
    speaker: str = "ann"
    created_at: datetime = START


def says(content: str, number: int = 0, role: str = "user") -> Said:
    """A message of a person, or of an agent."""
    speaker = "ann" if role == "user" else ""
    return Said(f"m{number}", content, role, speaker, START + timedelta(minutes=number))
