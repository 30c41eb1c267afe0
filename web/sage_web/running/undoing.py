"""What can be undone: the last changes of this running page, each with the way back.

What Sage deletes is erased from its files at once. So that a slip can be undone, the page keeps what was deleted in
its own memory, for a quarter of an hour and never on a disk.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_KEPT = 50
_KEPT_S = 15 * 60.0


@dataclass(frozen=True, slots=True)
class Undoable:
    """A change that can be undone."""

    said: str  # what was done, for the person
    undo: Callable[[], str]  # takes it back; returns the address that shows it
    until: float


class Undoing:
    """The changes that can be undone, by tokens that only the page knows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, Undoable] = {}  # the last one at the end

    def keep(self, said: str, undo: Callable[[], str]) -> str:
        """Remember a change; returns its token."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._forget_old()
            self._kept[token] = Undoable(said, undo, time.monotonic() + _KEPT_S)
            while len(self._kept) > _KEPT:
                del self._kept[next(iter(self._kept))]
        return token

    def find(self, token: str) -> Undoable | None:
        """The change with this token, if it can still be undone."""
        with self._lock:
            self._forget_old()
            return self._kept.get(token)

    def take(self, token: str) -> Undoable | None:
        """The same, for the one who undoes it: nobody does it twice."""
        with self._lock:
            self._forget_old()
            return self._kept.pop(token, None)

    def clear(self) -> None:
        """Forget everything, because something was erased for good that may be in it."""
        with self._lock:
            self._kept.clear()

    def _forget_old(self) -> None:
        moment = time.monotonic()
        for token in [token for token, one in self._kept.items() if one.until < moment]:
            del self._kept[token]
