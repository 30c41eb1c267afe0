"""`sage fleet index`: plan → shards by workers → one commit → head. `_Coordinator.run` reads as that.

A coordinator that is killed anywhere leaves a run that the next one goes on with: shards that are done stay done, and
what is committed is not committed again. Two coordinators at a time are kept apart by a lock, or by a lease where the
store is remote; should a lease end too early, the objects' and the table's own conflicts keep the table right.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sage_code.discover.rules import discover_rules
from sage_code.errors import Conflict, SageError, StoreError, UsageError
from sage_code.fleet.executors import checked, opened
from sage_code.fleet.plan import Problem, make_plan
from sage_code.fleet.publishing import FleetTable
from sage_code.fleet.roster import Repository
from sage_code.fleet.shard import Order, do_shard
from sage_code.fleet.state import FleetState, Head, Plan, ShardResult, result_of
from sage_code.fleet.tables import FleetPlace, fleet_place
from sage_code.index.manifest import file_key
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings
from sage_code.store import fleet_index

# How often a shard may fail, by a dead worker or by an error, before the run gives up. Files that hang or crash a
# grammar do not come here: they end a child of the worker.
_ATTEMPTS = 6
# Without any result for so long, the shards that are out are given to other workers too: the first result counts.
_SILENCE_S = 600.0
_LOOK_S = 1.0
# Shards that are with the executor at a time: a cluster's queue need not hold a hundred thousand.
_OUT = 512


@dataclass(frozen=True, slots=True)
class FleetStats:
    """What an index of the fleet did; `sage fleet index --json`."""

    repositories: int  # on the list
    changed: int
    removed: int
    runs: int
    resumed: int  # of the runs, those that another coordinator had begun
    shards: int
    shards_before: int  # of them, those that were done before
    failures: int  # of workers
    files: int
    chunks: int  # written
    rows: int  # in the table
    seconds: float
    worker_seconds: dict[str, float]
    problems: list[dict[str, str]]


def index_fleet(
    repositories: Sequence[Repository], settings: Settings, *, workers: str = "", progress: Progress | None = None
) -> FleetStats:
    """Bring the fleet's table up to date with the repositories."""
    checked(workers)  # also when nothing has changed and none is needed
    place = fleet_place(settings)
    coordinator = _Coordinator(repositories, settings, place, workers, progress or Silent())
    with place.alone(coordinator.say_waiting):
        return coordinator.run()


class _Coordinator:
    """One call of `index_fleet`, which may take several runs."""

    def __init__(
        self,
        repositories: Sequence[Repository],
        settings: Settings,
        place: FleetPlace,
        workers: str,
        progress: Progress,
    ) -> None:
        self._repositories, self._settings, self._place = repositories, settings, place
        self._workers, self._progress = workers, progress
        self._state = FleetState(place.objects, place.name)
        self._table = FleetTable(place.table, place.dim)
        self._count: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._problems: dict[str, Problem] = {}
        self._looked_at: set[str] = set()

    def run(self) -> FleetStats:
        """Finish the run that is open, then plan and finish others until each repository was looked at."""
        started = time.monotonic()
        with contextlib.ExitStack() as pool:
            executor: Executor | None = None
            while (plan := self._next()) is not None:
                if plan.shards and executor is None:  # a change of nothing starts no worker
                    self._progress.stage("starting workers")
                    executor = pool.enter_context(opened(self._workers))
                self._finish(plan, executor)
        if self._count["runs"]:
            self._progress.stage("tidying the table")
            self._table.tidy()
        self._index()
        rows = self._table.rows()
        return FleetStats(
            repositories=len(self._repositories),
            rows=rows,
            seconds=round(time.monotonic() - started, 3),
            worker_seconds={name: round(value, 3) for name, value in self._seconds.items()},
            problems=[asdict(problem) for problem in self._problems.values()],
            **{name: self._count[name] for name in _COUNTED},
        )

    def _index(self) -> None:
        """Make or extend the indexes that searches use; also those that an earlier coordinator did not come to."""
        if fleet_index.is_indexed(self._place.table):
            return
        self._place.still_alone()
        self._progress.stage("building the indexes")
        try:
            fleet_index.index_fleet(self._place.table)
        except (OSError, RuntimeError, ValueError) as error:
            why = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
            hint = "run `sage fleet index` again: the rows are published, and searches without indexes read all of them"
            raise StoreError(f"the indexes of {self._place.table} could not be made: {why}", hint) from error

    def say_waiting(self) -> None:
        self._progress.note("another process is indexing this fleet; waiting for it")

    # -- what is to be done ---------------------------------------------------------------------------------------

    def _next(self) -> Plan | None:
        """The open run, or a new one; None if each repository was looked at, some of them perhaps a while ago."""
        plan = self._state.open_run()
        if plan is not None:
            missing = set(plan.shards) - set(self._state.finished(plan.run)) - self._state.inputs(plan.run)
            if not missing or self._state.head().run == plan.run:
                self._count["resumed"] += 1
                self._progress.note(f"going on with the run of {plan.at}")
                return plan
            self._place.still_alone()
            self._state.end(plan.run)  # its inputs are gone, so nothing of it can be published
        if self._looked_at and self._looked_at >= {one.name for one in self._repositories}:
            return None
        self._place.still_alone()
        self._state.sweep(keep="")
        model = (self._place.model, self._place.dim)
        rules = discover_rules(self._settings)
        planned = make_plan(
            self._state, self._state.head(), self._repositories, rules, model, self._progress, self._looked_at
        )
        plan = planned.plan
        self._looked_at.update(planned.looked_at)
        self._problems.update((problem.repository, problem) for problem in planned.problems)
        if plan is not None and not self._state.begin(plan):
            raise Conflict("another process has begun a run of this fleet", "run `sage fleet index` again later")
        return plan

    # -- one run --------------------------------------------------------------------------------------------------

    def _finish(self, plan: Plan, executor: Executor | None) -> None:
        """Shards, commit, head: each is done only if it is not done yet."""
        head = self._state.head()
        if head.run != plan.run:
            self._table.prepare()
            # In the order of the plan, not in that of the workers: the table is the same whoever made it.
            results = sorted(self._shards(plan, executor), key=lambda result: result.shard)
            self._progress.stage("publishing")
            gone = self._gone(head, plan)
            fragments = [fragment for result in results for fragment in result.fragments]
            self._table.publish(plan.run, gone, fragments, self._place.still_alone)
            self._replace_head(head, plan)
            self._note(plan, results)
        for name in (*plan.repositories, *plan.removed):
            if name in head.repositories and head.repositories[name].run != plan.run:
                self._state.drop_keys(name, head.repositories[name].run)
        self._state.end(plan.run)
        self._count["runs"] += 1

    def _gone(self, head: Head, plan: Plan) -> dict[str, frozenset[str] | None]:
        """The files of the table that the run makes outdated, by repository; None means all."""
        gone: dict[str, frozenset[str] | None] = dict.fromkeys(plan.removed)
        for name, new in plan.repositories.items():
            old = head.repositories.get(name)
            if old is not None and old.owner != new.owner:
                gone[name] = None
            elif old is not None:
                gone[name] = self._state.keys_of(name, old.run) - self._state.keys_of(name, plan.run)
        return gone

    def _replace_head(self, head: Head, plan: Plan) -> None:
        """Say what the table holds now."""
        kept = {name: one for name, one in head.repositories.items() if name not in plan.removed}
        new = replace(
            head,
            repositories=kept | plan.repositories,
            run=plan.run,
            rows=self._table.rows(),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
        if not self._state.replace_head(new) and self._state.head().run != plan.run:
            raise Conflict("another process has finished a run of this fleet", "run `sage fleet index` again")

    def _note(self, plan: Plan, results: Sequence[ShardResult]) -> None:
        """Count what a run has done."""
        self._count.update(
            changed=len(plan.repositories),
            removed=len(plan.removed),
            shards=len(plan.shards),
            files=sum(result.files for result in results),
            chunks=sum(result.chunks for result in results),
        )
        for result in results:
            self._seconds.update(result.seconds)

    # -- its shards -----------------------------------------------------------------------------------------------

    def _shards(self, plan: Plan, executor: Executor | None) -> Iterator[ShardResult]:
        """The results of all shards: those that are there, then those that workers make."""
        done = [shard for shard in self._state.finished(plan.run) if shard in plan.shards]
        self._count["shards_before"] += len(done)
        self._progress.stage(f"indexing {len(plan.repositories):,} repositories, shards", len(plan.shards))
        for shard in done:
            result = self._state.result(plan.run, shard)
            if result is None:
                raise StoreError(f"the result of shard {shard} is gone", "run `sage fleet index` again")
            self._progress.advance()
            yield result
        left = [shard for shard in plan.shards if shard not in set(done)]
        if left:
            assert executor is not None, "a plan with shards has workers"
            yield from self._worked(plan, left, executor)

    def _worked(self, plan: Plan, shards: list[str], executor: Executor) -> Iterator[ShardResult]:
        """The results of these shards, as workers finish them; a shard whose worker fails is given to another."""
        waiting, attempts = shards[::-1], Counter[str]()
        out: dict[Future[dict[str, Any]], str] = {}
        left, heard = set(shards), time.monotonic()
        try:
            while left:
                while waiting and len(out) < _OUT:
                    shard = waiting.pop()
                    if shard in left:
                        out[executor.submit(do_shard, asdict(self._order(plan, shard)))] = shard
                finished, _ = wait(out, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                self._place.still_alone_lately()
                for future in finished:
                    shard = out.pop(future)
                    result = self._outcome(future, shard, attempts)
                    if result is None:
                        waiting.append(shard)
                    elif shard in left:
                        left.discard(shard)
                        self._progress.advance()
                        yield result
                if finished:
                    heard = time.monotonic()
                elif time.monotonic() - heard > _SILENCE_S:
                    heard = time.monotonic()
                    for shard in set(out.values()):
                        self._count_failure(shard, attempts, "no answer")
                        waiting.append(shard)
        finally:
            for future in out:
                future.cancel()

    def _outcome(self, future: Future[dict[str, Any]], shard: str, attempts: Counter[str]) -> ShardResult | None:
        """The result of a shard; None if it must be tried again. What no other attempt can mend is raised."""
        try:
            return result_of(future.result())
        except (UsageError, KeyboardInterrupt):
            raise
        except (SageError, BrokenExecutor, CancelledError, OSError) as error:
            self._count_failure(shard, attempts, str(error) or type(error).__name__)
        except Exception as error:
            # Clusters have exceptions of their own for a worker that has died; a wrapped one of ours says what it was.
            if isinstance(cause := getattr(error, "cause", None), UsageError):
                raise cause from error
            self._count_failure(shard, attempts, str(error) or type(error).__name__)
        return None

    def _count_failure(self, shard: str, attempts: Counter[str], why: str) -> None:
        attempts[shard] += 1
        self._count["failures"] += 1
        if attempts[shard] >= _ATTEMPTS:
            hint = "run `sage fleet index` again: shards that are done stay done"
            raise StoreError(f"shard {shard} failed {_ATTEMPTS} times, last: {why.strip().splitlines()[0][:200]}", hint)

    def _order(self, plan: Plan, shard: str) -> Order:
        """What a worker must know to do a shard."""
        return Order(
            store=self._place.store.uri,
            table=self._place.name,
            run=plan.run,
            shard=shard,
            model=self._settings.code_embedding_model,
            vectors=plan.model,
            dim=plan.dim,
            cutter=file_key("", ""),
            parse_timeout_s=self._settings.parse_timeout_s,
        )


_COUNTED = ("changed", "removed", "runs", "resumed", "shards", "shards_before", "failures", "files", "chunks")
