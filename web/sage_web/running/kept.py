"""Answers that take seconds: made in a thread of their own and kept for a while.

Nobody waits for one: a request that did would hold one of the six connections that a browser has for all its tabs. Who
asks gets the answer, or is told to ask again in a moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sage_code.errors import SageError

_Answer = TypeVar("_Answer")
# As many projects and spans of time as somebody looks at in a sitting.
_MOST = 50
# Most answers that are quick need no second question.
_PATIENCE_S = 0.25


@dataclass(slots=True)
class _Making(Generic[_Answer]):
    """One answer, from the moment at which it was asked for."""

    ready: threading.Event = field(default_factory=threading.Event)
    until: float = 0.0
    answer: _Answer | None = None
    error: SageError | None = None

    @property
    def is_good(self) -> bool:
        """Whether it is still being made, or not too old."""
        return not self.ready.is_set() or time.monotonic() < self.until


class Kept(Generic[_Answer]):
    """Answers, each for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._makings: dict[Hashable, _Making[_Answer]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], _Answer], *, again: bool = False) -> _Answer | None:
        """The kept answer; None while it is being made. `again` makes a new one unless one is being made.

        What has gone wrong is raised once, and tried again by the next question.
        """
        with self._lock:
            making = self._makings.get(key)
            if making is None or not making.is_good or (again and making.ready.is_set()):
                making = self._makings[key] = _Making()
                while len(self._makings) > _MOST:
                    del self._makings[next(iter(self._makings))]
                threading.Thread(target=self._make, args=(making, make), daemon=True).start()
        if not making.ready.wait(_PATIENCE_S):
            return None
        if making.error is not None:
            raise making.error
        return making.answer

    def _make(self, making: _Making[_Answer], make: Callable[[], _Answer]) -> None:
        """Make an answer, in a thread of its own. A bug is raised there, so that the terminal shows it."""
        try:
            making.answer = make()
            making.until = time.monotonic() + self._seconds
        except SageError as error:
            making.error = error
        except Exception as error:
            making.error = SageError(f"unexpected {type(error).__name__}", "this is a bug: the terminal shows where")
            raise
        finally:
            making.ready.set()
