"""Keeps answers that take seconds for a while; who asks meanwhile waits for the same answer instead of another one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Answer = TypeVar("_Answer")
# As many projects and spans of time as somebody looks at in a sitting.
_MOST = 50


@dataclass(slots=True)
class _Place(Generic[_Answer]):
    """Where one answer is kept."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    until: float = 0.0
    answer: _Answer | None = None


class Kept(Generic[_Answer]):
    """Answers, each for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._places: dict[Hashable, _Place[_Answer]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Answer], *, again: bool = False) -> _Answer:
        """The kept answer, or a new one: if there is none, if it is too old, or if `again` asks for it."""
        asked = time.monotonic()
        with self._lock:
            place = self._places.setdefault(key, _Place())
            while len(self._places) > _MOST:
                del self._places[next(iter(self._places))]
        with place.lock:
            oldest = asked + self._seconds if again else asked  # one that was made while we waited is new
            if place.answer is None or place.until < oldest:
                place.answer = make()
                place.until = time.monotonic() + self._seconds
            return place.answer
