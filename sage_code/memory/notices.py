"""What was noticed on the way and is to be said once: a damaged file that was passed over, a list that was rebuilt."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

_MOST = 100  # kept for somebody who takes them; a folder of damaged files is said by its first


class Notices:
    """Collects what there is to say; each thing is said once. Threads may share one."""

    def __init__(self) -> None:
        self.listener: Callable[[str], None] | None = None  # says a notice at once, instead of keeping it
        self._said: set[str] = set()
        self._waiting: list[str] = []
        self._guard = Lock()

    def add(self, text: str) -> None:
        """Something to say, unless it was said before."""
        with self._guard:
            if text in self._said or len(self._said) >= _MOST:
                return
            self._said.add(text)
            if self.listener is None:
                self._waiting.append(text)
                return
        self.listener(text)

    def take(self) -> list[str]:
        """What has not been said yet."""
        with self._guard:
            taken, self._waiting = self._waiting, []
        return taken
