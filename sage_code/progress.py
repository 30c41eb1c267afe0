"""Progress of a long run: the calls by which it reports to a terminal bar, an MCP notification or nothing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the stages of a run. A receiver may ignore any call, and must return quickly."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins; it has `total` steps, or None if that is not known."""

    def advance(self, steps: int = 1) -> None:
        """Some steps of the current stage are done."""

    def note(self, text: str) -> None:
        """One line the user should see."""


class Silent:
    """Ignores all progress."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, steps: int = 1) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""
