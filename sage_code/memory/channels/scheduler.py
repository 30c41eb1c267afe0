"""Makes the summaries that are due, in one loop: `sage scheduler run`, or one tick in a child process of the watcher.

A channel is due when `summary_messages` wait, or when the first of fewer waits for `summary_minutes`. Both are in the
database, so a process that sleeps, is killed or comes later misses nothing. One process of a user leads and does the
work (`Engine.leading`); others ask at each tick and take over when it has died. A tick has a limit of steps and of
time, and a channel that fails waits longer each time, so that no channel keeps the others waiting.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import xxhash

from sage_code.errors import SageError
from sage_code.memory.channels.summarising import ChannelSummaries, Step
from sage_code.memory.tiers.tables import agents, channels
from sage_code.memory.tiers.values import Agent, now

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Summariser
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.settings.table import Settings

# What one tick does at most. More that is due is done by the next one, which then comes after `_SOON_S`.
MOST_STEPS, MOST_SECONDS = 200, 20.0
_SOON_S = 0.5
# Processes that were started together do not ask together for ever.
_JITTER = 0.1
# A tick comes at the latest so long after the machine woke up or its clock was set.
_SLICE_S = 5.0
# A clock that is set back by less may be a correction of the time server's.
_SKEW = timedelta(minutes=2)
# A channel whose summary fails is tried again after so many ticks, twice as many each time.
_MOST_TICKS_BETWEEN = 64
_MOST_SHOWN = 1_000_000


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick has done."""

    leads: bool
    steps: tuple[Step, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()  # channel, and what went wrong
    left: bool = False  # more is due


@dataclass(slots=True)
class _Failure:
    """A channel that failed, and how many ticks it waits."""

    wait: int = 1
    left: int = 1


@dataclass(slots=True)
class Scheduler:
    """The loop for the agents of one user; the clock is the wall's and may jump."""

    engine: Engine
    user: str
    settings: Settings
    summariser: Summariser
    clock: Callable[[], datetime] = now
    on_tick: Callable[[Tick], None] = lambda _: None
    chance: random.Random = field(default_factory=random.Random)
    _failures: dict[tuple[str, str], _Failure] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; a step that has begun is finished first."""
        with self.engine.leading(job_of(self.user)) as is_leader:
            while not stop.is_set():
                tick = self.tick(stop) if is_leader() else Tick(leads=False)
                self.on_tick(tick)
                if tick.left:
                    stop.wait(_SOON_S)
                else:
                    self._sleep(stop)

    def once(self) -> Tick:
        """One tick, if no other process leads."""
        with self.engine.leading(job_of(self.user)) as is_leader:
            return self.tick() if is_leader() else Tick(leads=False)

    def tick(self, stop: threading.Event | None = None) -> Tick:
        """Make the summaries that are due now, as many as a tick may."""
        end = time.monotonic() + MOST_SECONDS
        steps: list[Step] = []
        failed: list[tuple[str, str]] = []
        for failure in self._failures.values():
            failure.left -= 1
        for agent, name, summaries in self._due():
            if len(steps) >= MOST_STEPS or time.monotonic() > end or (stop is not None and stop.is_set()):
                return Tick(True, tuple(steps), tuple(failed), left=True)
            try:
                step = summaries.step(name, self.clock())
            except SageError as error:
                failed.append((name, error.message))
                self._note_failure(agent, name)
                continue
            self._failures.pop((agent.id, name), None)
            steps += [] if step is None else [step]
        return Tick(True, tuple(steps), tuple(failed), left=any(step.waiting for step in steps))

    def _due(self) -> list[tuple[Agent, str, ChannelSummaries]]:
        """The channels that are due, those that wait longest first."""
        moment = self.clock()
        found = []
        with self.engine.reading() as rows:
            for agent in agents.agents_of(rows, self.user):
                summaries = ChannelSummaries(self.engine, agent, self.settings, self.summariser)
                due = channels.due_channels(
                    rows,
                    agent.id,
                    least=self.settings.summary_messages,
                    before=moment - timedelta(minutes=self.settings.summary_minutes),
                    after=moment + _SKEW,
                    limit=MOST_STEPS + len(self._failures) + 1,
                )
                found += [(agent, one.name, summaries) for one in due if not self._waits(agent, one.name)]
        return found

    def _waits(self, agent: Agent, name: str) -> bool:
        failure = self._failures.get((agent.id, name))
        return failure is not None and failure.left > 0

    def _note_failure(self, agent: Agent, name: str) -> None:
        before = self._failures.get((agent.id, name))
        wait = min(2 * before.wait, _MOST_TICKS_BETWEEN) if before else 1
        self._failures[agent.id, name] = _Failure(wait, wait)

    def _sleep(self, stop: threading.Event) -> None:
        """Wait for the next tick, in slices: a machine that sleeps stops the clock that this waits by."""
        pause = self.settings.scheduler_tick_s * (1 + self.chance.uniform(-_JITTER, _JITTER))
        end, wall = time.monotonic() + pause, time.time() + pause
        while (left := end - time.monotonic()) > 0 and time.time() < wall and not stop.wait(min(left, _SLICE_S)):
            pass


def status_of(engine: Engine, user: str, settings: Settings) -> dict[str, Any]:
    """Whether a process leads, how many messages wait in how many channels, and how many channels are due."""
    with engine.leading(job_of(user)) as is_leader:
        leads = not is_leader()
    moment = now()
    before = moment - timedelta(minutes=settings.summary_minutes)
    with engine.reading() as rows:
        dirty = [
            one
            for agent in agents.agents_of(rows, user)
            for one in channels.due_channels(
                rows, agent.id, least=0, before=moment, after=moment + _SKEW, limit=_MOST_SHOWN
            )
        ]
    due = [one for one in dirty if one.waiting >= settings.summary_messages or (one.dirty_at or moment) <= before]
    return {"leads": leads, "waiting": sum(one.waiting for one in dirty), "dirty": len(dirty), "due": len(due)}


def next_due(engine: Engine, user: str, settings: Settings) -> float | None:
    """The seconds until a channel is due, if nothing more is said; None if nothing waits."""
    moment = now()
    with engine.reading() as rows:
        first = [
            dirty
            for agent in agents.agents_of(rows, user)
            if (dirty := channels.first_dirty(rows, agent.id)) is not None
        ]
    if not first:
        return None
    return max((min(first) + timedelta(minutes=settings.summary_minutes) - moment).total_seconds(), 0.0)


def job_of(user: str) -> str:
    """The name of the job that one process of a user leads; it is part of the name of a file."""
    return f"scheduler-{xxhash.xxh3_64_hexdigest(user.encode('utf-8', 'replace'))}"
