"""The finding: the outcome of one check, and how to repair what is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check. A note is worth knowing; a warning costs something; an error breaks Sage."""

    check: str
    level: Level
    message: str
    fix: str = ""  # a command or an action; empty when nothing needs doing
    took_ms: int = 0
