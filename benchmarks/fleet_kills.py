"""Runs `sage fleet index` for `fleet.py`, kills its workers and itself on the way, and says what it cost.

Moments are seeded: a kill is due when a drawn number of shards is done, and comes after a drawn delay. The first
coordinator dies while it plans, or soon after where planning is over sooner, and the last one when all shards are done;
the others die between shards. After each the same command is run again. Only a kill that hits a living process of a run
that goes on is counted.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from sage_code.fleet.state import FleetState

_LOOK_S = 0.2
# How long a worker may outlive its coordinator before it counts as left behind.
_ORPHANED_S = 15.0
_WORKER_DELAY_S, _COORDINATOR_DELAY_S, _PLANNING_S = 0.4, 1.0, 2.5
# A run of this many attempts is stuck.
_MOST_STARTS = 60


@dataclass(slots=True)
class Outcome:
    """One index of the fleet, from the first start to the end."""

    stats: dict[str, Any] = field(default_factory=dict)  # of the coordinator that came to the end
    seconds: float = 0.0
    starts: int = 0
    workers_killed: int = 0
    coordinators_killed: Counter[str] = field(default_factory=Counter)  # by stage
    left_behind: int = 0  # processes that outlived their coordinator
    processor: Counter[str] = field(default_factory=Counter)  # seconds of the coordinators, by stage
    clock: Counter[str] = field(default_factory=Counter)


class Killer:
    """What is to be killed, and when."""

    def __init__(self, workers: int, coordinators: int, seed: int) -> None:
        self.chance = random.Random(seed)
        # As shares of the shards; near the end there may be none left to lose a worker.
        self.workers = sorted(self.chance.uniform(0, 0.7) for _ in range(workers))
        between = sorted(self.chance.uniform(0.1, 0.9) for _ in range(coordinators - 2 if coordinators > 2 else 0))
        self.coordinators: list[tuple[str, float]] = [("shards", share) for share in between]
        if coordinators > 1:
            self.coordinators.insert(0, ("planning", 0.0))
        if coordinators:
            self.coordinators.append(("publishing", 1.0) if coordinators > 1 else ("shards", 0.5))
        self._worker_at = self._coordinator_at = 0.0  # when the one that is due dies; 0: none is due

    def worker_is_due(self, share: float) -> bool:
        """Whether a worker dies now."""
        if not self.workers or share < self.workers[0]:
            return False
        now = time.monotonic()
        self._worker_at = self._worker_at or now + self.chance.uniform(0, _WORKER_DELAY_S)
        return now >= self._worker_at

    def worker_was_killed(self) -> None:
        """The next one is due when its share is done."""
        self.workers.pop(0)
        self._worker_at = 0.0

    def coordinator_is_due(self, stage: str, share: float, lived: float) -> bool:
        """Whether the coordinator dies now."""
        if not self.coordinators:
            return False
        wanted, least = self.coordinators[0]
        late = stage in ("publishing", "indexes")
        if not (late if wanted == "publishing" else share >= least):
            return False
        now = time.monotonic()
        if not self._coordinator_at:
            delay = _PLANNING_S if wanted == "planning" else _COORDINATOR_DELAY_S
            self._coordinator_at = now + self.chance.uniform(0, delay) + (1.0 if lived < 1.0 else 0.0)
        return now >= self._coordinator_at

    def coordinator_was_killed(self) -> None:
        """The next one is due at its own moment."""
        self.coordinators.pop(0)
        self._coordinator_at = 0.0


class Watch:
    """How far the run in the store is."""

    def __init__(self, state: FleetState) -> None:
        self._state, self._shards, self._run = state, 0, ""

    def look(self) -> tuple[str, float]:
        """The stage, and the share of the shards that are done."""
        if not self._run:
            plan = self._state.open_run()
            if plan is None:
                return ("indexes", 1.0) if self._state.head().run else ("planning", 0.0)
            self._run, self._shards = plan.run, len(plan.shards)
        if self._state.head().run == self._run:
            return "indexes", 1.0
        share = len(self._state.finished(self._run)) / max(self._shards, 1)
        return ("publishing" if share >= 1 else "shards"), share


def index(
    fleet: Path, workers: str, environment: dict[str, str], state: FleetState, killer: Killer | None = None
) -> Outcome:
    """Run the command until it ends by itself."""
    port = int(environment["AWS_ENDPOINT_URL"].rpartition(":")[2])
    outcome, started, watch = Outcome(), time.monotonic(), Watch(state)
    command = [sys.executable, "-m", "sage_cli.entry", "fleet", "index", "--json", "--workers", workers]
    while outcome.starts < _MOST_STARTS:
        outcome.starts += 1
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaint:
            process = subprocess.Popen([*command, "--file", str(fleet)], stdout=printed, stderr=complaint,
                                       env={**os.environ, **environment}, start_new_session=True)  # fmt: skip
            was_killed = _follow(process, outcome, watch, killer, _Busy(port))
            if was_killed:
                continue
            if process.returncode:
                complaint.seek(0)
                raise SystemExit(f"{workers}: ended with {process.returncode}: {complaint.read().decode()[-3000:]}")
            printed.seek(0)
            outcome.stats = json.loads(printed.read())
            outcome.seconds = time.monotonic() - started
            return outcome
    raise SystemExit(f"{workers}: started {_MOST_STARTS} times and not at its end")


def _follow(
    process: subprocess.Popen[bytes], outcome: Outcome, watch: Watch, killer: Killer | None, busy: _Busy
) -> bool:
    """Wait for the end of one coordinator; whether we killed it."""
    one, begun = psutil.Process(process.pid), time.monotonic()
    used, looked, family = (0.0, 0.0), begun, list[psutil.Process]()
    while process.poll() is None:
        stage, share = watch.look()
        now, spent = time.monotonic(), (_used(one), _used_by_children(one))
        outcome.clock[stage] += now - looked
        outcome.processor[stage] += max(spent[0] - used[0], 0.0)
        if stage == "planning":  # git; later they are workers, which count for themselves
            outcome.processor[stage] += max(spent[1] - used[1], 0.0)
        looked, used = now, spent
        if killer is not None:
            family = _family(one) or family
            workers = busy.among(one.pid, family)
            if stage == "shards" and workers and killer.worker_is_due(share):
                if _killed(killer.chance.choice(workers), process):
                    outcome.workers_killed += 1
                    killer.worker_was_killed()
            elif killer.coordinator_is_due(stage, share, now - begun):
                family = _family(one) or family
                if _killed(one, process):
                    outcome.coordinators_killed[stage] += 1
                    killer.coordinator_was_killed()
                    process.wait()
                    outcome.left_behind += _clear_away(family)
                    return True
        time.sleep(_LOOK_S)
    outcome.left_behind += _clear_away(family)
    return False


def _killed(one: psutil.Process, coordinator: subprocess.Popen[bytes]) -> bool:
    """Kill a process; whether it was alive and its coordinator too."""
    try:
        if coordinator.poll() is not None or one.status() == psutil.STATUS_ZOMBIE:
            return False
        one.send_signal(signal.SIGKILL)
    except psutil.Error:
        return False
    return True


class _Busy:
    """Tells which workers are doing a shard: Ray's say so in their title, Dask's asked the store and use a core."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._used: dict[int, float] = {}

    def among(self, coordinator: int, family: list[psutil.Process]) -> list[psutil.Process]:
        """The workers that are doing a shard."""
        parsing, found = set(), []
        lines = [(one, _line(one)) for one in family]
        for one, line in lines:
            if "sage_code.chunk.workers" in line:
                parsing.add(_parent(one))
        for one, line in lines:
            if line.startswith("ray::do_shard"):
                found.append(one)
            elif "spawn_main" in line and _parent(one) == coordinator:
                used = _used(one)
                before = self._used.get(one.pid, used)
                self._used[one.pid] = used
                if one.pid in parsing or (used - before > _LOOK_S / 4 and _is_connected(one, self._port)):
                    found.append(one)
        return sorted(found, key=lambda one: one.pid)


def _family(one: psutil.Process) -> list[psutil.Process]:
    try:
        return one.children(recursive=True)
    except psutil.Error:
        return []


def _line(one: psutil.Process) -> str:
    try:
        return " ".join(one.cmdline())
    except psutil.Error:
        return ""


def _parent(one: psutil.Process) -> int:
    try:
        return one.ppid()
    except psutil.Error:
        return 0


def _used(one: psutil.Process) -> float:
    """Processor seconds of a process."""
    try:
        times = one.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _used_by_children(one: psutil.Process) -> float:
    """Processor seconds of its children that have ended."""
    try:
        times = one.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.children_user + times.children_system)


def _is_connected(one: psutil.Process, port: int) -> bool:
    try:
        return any(link.raddr and link.raddr.port == port for link in one.net_connections("tcp"))
    except psutil.Error:
        return False


def _clear_away(family: list[psutil.Process]) -> int:
    """Wait until the processes of a coordinator are gone; how many were not, and are killed here."""
    _, left = psutil.wait_procs(family, timeout=_ORPHANED_S)
    for one in left:
        print(f"  left behind after {_ORPHANED_S:.0f} s: {_line(one)[:120]}", flush=True)
        try:
            one.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(left, timeout=10)
    return len(left)
