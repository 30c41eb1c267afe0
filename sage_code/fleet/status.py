"""What the fleet's table holds, and how far the run is that is open; asks the store only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.fleet.roster import Repository
from sage_code.fleet.state import FleetState, Plan
from sage_code.fleet.tables import fleet_place
from sage_code.settings.loading import Settings


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run that is not finished: it goes on, or waits for `sage fleet index`."""

    run: str
    at: str
    repositories: int
    shards: int
    shards_done: int
    bytes: int
    bytes_done: int


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    """One repository: on the list, in the table, or both."""

    name: str
    owner: str
    source: str
    listed: bool
    indexed: bool
    commit: str
    files: int
    skipped: int


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """`sage fleet status --json`."""

    store: str
    table: str
    model: str
    rows: int
    indexed_at: str
    listed: int
    indexed: int
    run: RunStatus | None
    repositories: list[RepositoryStatus]


def fleet_status(repositories: Sequence[Repository], settings: Settings) -> FleetStatus:
    """The state of the fleet in the store of the settings."""
    place = fleet_place(settings)
    state = FleetState(place.objects, place.name)
    head, plan = state.head(), state.open_run()
    listed = {one.name: one for one in repositories}
    rows = []
    for name in sorted({*listed, *head.repositories}):
        one, known = listed.get(name), head.repositories.get(name)
        rows.append(
            RepositoryStatus(
                name=name,
                owner=one.owner if one else known.owner if known else "",
                source=one.source if one else known.source if known else "",
                listed=one is not None,
                indexed=known is not None,
                commit=known.commit if known else "",
                files=known.files if known else 0,
                skipped=known.skipped if known else 0,
            )
        )
    return FleetStatus(
        store=str(place.store),
        table=place.name,
        model=place.model,
        rows=head.rows,
        indexed_at=head.at,
        listed=len(listed),
        indexed=len(head.repositories),
        run=_run(state, plan) if plan is not None else None,
        repositories=rows,
    )


def _run(state: FleetState, plan: Plan) -> RunStatus:
    """How far the open run is."""
    done = [shard for shard in state.finished(plan.run) if shard in plan.shards]
    return RunStatus(
        run=plan.run,
        at=plan.at,
        repositories=len(plan.repositories),
        shards=len(plan.shards),
        shards_done=len(done),
        bytes=sum(plan.shards.values()),
        bytes_done=sum(plan.shards[shard] for shard in done),
    )
