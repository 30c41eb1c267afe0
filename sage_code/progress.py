"""How long work reports itself: a few calls that a terminal bar, an MCP notification or nothing at all answers."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told about the stages of a run. Every call is optional to honour and must return quickly."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins: `total` steps, or None when nobody knows."""

    def advance(self, steps: int = 1) -> None:
        """Some steps of the current stage are done."""

    def note(self, text: str) -> None:
        """One line the user should see."""


class Silent:
    """Says nothing."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, steps: int = 1) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""
