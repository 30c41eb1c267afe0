"""Bounds how much one user or one address may ask, and how much work runs at once."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from contextlib import ExitStack, asynccontextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

# Users or addresses that are remembered; the one that asked longest ago is forgotten first.
_KEPT = 10_000
ALONE_S = 0.1


class Buckets:
    """One token bucket for each key: `burst` requests at once, then `rate` a second."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> float:
        """How many seconds until a request of this key is allowed; 0: now."""
        level = self._level(key)
        return 0.0 if level >= 1 or self._rate <= 0 else (1 - level) / self._rate

    def take(self, key: str) -> float:
        """Count a request; the seconds to wait if it is not allowed, and then it is not counted."""
        if self._rate <= 0:
            return 0.0
        level = self._level(key)
        if level < 1:
            return (1 - level) / self._rate
        self._levels[key] = (level - 1, self._clock())
        self._levels.move_to_end(key)
        if len(self._levels) > _KEPT:
            self._levels.popitem(last=False)
        return 0.0

    def _level(self, key: str) -> float:
        level, at = self._levels.get(key, (self._burst, 0.0))
        return min(self._burst, level + (self._clock() - at) * self._rate)


class Full(Exception):  # noqa: N818 - says what is wrong
    """No room is left in the queue, or the wait was too long."""


class Slots:
    """So many pieces of work at once, so many that wait, and no wait for ever. For the event loop's thread only.

    Python does one thing at a time, so pieces that run together all end late: each has `ALONE_S` before the next one
    begins beside it, which is long enough for a search and short enough not to wait for what takes seconds.
    """

    def __init__(self, running: int, waiting: int, patience_s: float) -> None:
        self._free, self._turn = asyncio.Semaphore(running), asyncio.Semaphore(1)
        self._waiting, self._patience_s = waiting, patience_s
        self.queued = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a slot; raises `Full` when too many wait."""
        if (self._turn.locked() or self._free.locked()) and self.queued >= self._waiting:
            raise Full
        with ExitStack() as turn:
            self.queued += 1
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._turn.acquire()
                    turn.callback(self._turn.release)
                    await self._free.acquire()
            except TimeoutError:
                raise Full from None
            finally:
                self.queued -= 1
            next_one = asyncio.get_running_loop().call_later(ALONE_S, turn.close)
            try:
                yield
            finally:
                next_one.cancel()
                self._free.release()
