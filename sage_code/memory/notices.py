"""Collects notices for the user, each once: a damaged file that was skipped, a list that was rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

_MAX_NOTICES = 100  # enough to report a folder full of damaged files


class Notices:
    """Notices that wait to be shown; safe to share between threads."""

    def __init__(self) -> None:
        self.listener: Callable[[str], None] | None = None  # gets each notice at once; then none is kept
        self._said: set[str] = set()
        self._waiting: list[str] = []
        self._guard = Lock()

    def add(self, text: str) -> None:
        """Add a notice, unless it was added before."""
        with self._guard:
            if text in self._said or len(self._said) >= _MAX_NOTICES:
                return
            self._said.add(text)
            if self.listener is None:
                self._waiting.append(text)
                return
        self.listener(text)

    def take(self) -> list[str]:
        """The notices that were not taken yet."""
        with self._guard:
            taken, self._waiting = self._waiting, []
        return taken
