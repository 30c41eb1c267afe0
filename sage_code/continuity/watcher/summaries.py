"""When the watcher has channels summarised, and the child process's part of it.

A child process makes the summaries that are due, since the database and the summariser would make the watcher big. It
is started when the database has changed since the last time, or when a channel of the last time has become due; it says
when that is. A database of another place (`memory_uri`) is asked every few minutes.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from typing import Any

# The first look, when agents that start with the machine have started too.
_FIRST_S = 20.0
_TICK_S, _JITTER = 60.0, 0.1
# After a child that failed, and for a database that cannot be looked at from here.
_AGAIN_S = 300.0
# What one child does at most; the next one goes on.
_MOST_TICKS = 5


class SummaryClock:
    """Says when a child process is to be started. It looks at two files a minute."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - no secret
        self._next = time.monotonic() + _FIRST_S
        self._stamp: object = None
        self._due = 0.0  # the wall's clock: a machine that slept is late, and the work too
        self._runs = False

    def is_due(self) -> bool:
        """Whether a child is to be started now; `done` must be called with what it says."""
        if self._runs or time.monotonic() < self._next:
            return False
        self._next = time.monotonic() + _TICK_S * (1 + self._chance.uniform(-_JITTER, _JITTER))
        self._runs = _database_stamp() != self._stamp or time.time() >= self._due
        return self._runs

    def done(self, said: Mapping[str, Any]) -> None:
        """Note what a child said: `wait`, the seconds until something is due; none if nothing waits."""
        wait = said.get("wait") if said else _AGAIN_S
        self._due = time.time() + float(wait) if isinstance(wait, int | float) else float("inf")
        self._stamp = _database_stamp()  # with what the child has written
        self._runs = False


def summarise_due() -> dict[str, Any]:
    """Make the summaries that are due; how many, how many channels failed, and after how many seconds more is due."""
    from sage_code.memory.channels.scheduler import Scheduler, next_due
    from sage_code.memory.context.choosing import summariser_of
    from sage_code.memory.tiers.engines.opening import open_engine
    from sage_code.memory.tiers.opened import user_of
    from sage_code.settings.loading import load_settings

    settings = load_settings(None)
    nothing: dict[str, Any] = {"summarised": 0, "failed": 0, "wait": None}
    if not settings.channel_summaries:
        return nothing
    is_elsewhere = bool(settings.memory_uri)
    if not is_elsewhere and _database_stamp() is None:
        return nothing  # no message was stored yet
    engine = open_engine(settings.memory_uri)
    try:
        scheduler = Scheduler(engine, user_of(settings), settings, summariser_of(settings))
        done = failed = 0
        for _ in range(_MOST_TICKS):
            tick = scheduler.once()
            done, failed = done + len(tick.steps), failed + len(tick.failed)
            if not tick.left:
                break
        wait = next_due(engine, user_of(settings), settings)
    finally:
        engine.close()
    if is_elsewhere:
        wait = _AGAIN_S if wait is None else min(wait, _AGAIN_S)
    return {"summarised": done, "failed": failed, "wait": wait}


def _database_stamp() -> object:
    """What changes with the database of this machine; None if there is none."""
    from sage_code.memory.tiers.engines.opening import default_path  # lazy: the first look

    found = []
    for ending in ("", "-wal"):
        try:
            state = os.stat(default_path() + ending)
        except OSError:
            continue
        found.append((state.st_mtime_ns, state.st_size))
    return tuple(found) or None
