"""What a fleet keeps beside its table, as objects: what is in the table, the run that is open, its orders and results.

fleet/TABLE/head.json                        what the table holds: each repository's commit, and the last run
fleet/TABLE/open.json                        the run that is not finished; at most one
fleet/TABLE/repositories/NAME/RUN.json       the keys of a repository's files since that run
fleet/TABLE/runs/RUN/plan.json               what the run does
fleet/TABLE/runs/RUN/in/SHARD                the texts of a shard's files, for a worker on any machine
fleet/TABLE/runs/RUN/out/SHARD.json          the fragments of a shard; the first worker to write it wins
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from sage_code.errors import FormatTooNew, IndexCorrupt
from sage_code.store.remote.objects import Objects, Stored

# History of the objects: 1: first version.
FORMAT = 1
# A shard's input may not unpack to more; a hundred times what one holds.
_MAX_UNPACKED = 2 << 30


@dataclass(frozen=True, slots=True)
class Indexed:
    """A repository as it is in the table."""

    owner: str
    source: str
    commit: str
    fingerprint: str
    run: str  # the run that wrote its list of files
    files: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """What the table holds."""

    repositories: dict[str, Indexed] = field(default_factory=dict)
    run: str = ""
    rows: int = 0
    at: str = ""
    tag: str = ""  # of the object, for its conditional replacement; "" if there is none


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: from which repositories to which, and its shards."""

    run: str
    model: str
    dim: int
    at: str
    repositories: dict[str, Indexed]  # that are new or have changed
    removed: tuple[str, ...]  # that are off the list
    shards: dict[str, int]  # bytes of source by shard


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What a worker has written."""

    shard: str
    fragments: tuple[dict[str, Any], ...]  # metadata of Lance
    files: int
    chunks: int
    seconds: dict[str, float]
    worker: str


class FleetState:
    """The objects of one table's fleet."""

    def __init__(self, objects: Objects, table: str) -> None:
        self._objects, self._top = objects, f"fleet/{table}"

    # -- the table ------------------------------------------------------------------------------------------------

    def head(self) -> Head:
        """What the table holds, by the last finished run."""
        found = self._objects.get(f"{self._top}/head.json")
        if found is None:
            return Head()
        data = _decoded(found)
        repositories = {name: Indexed(**one) for name, one in data["repositories"].items()}
        return Head(repositories, data["run"], data["rows"], data["at"], found.tag)

    def replace_head(self, head: Head) -> bool:
        """Replace the head that `head` was made from; False if somebody else has."""
        key, data = f"{self._top}/head.json", asdict(head)
        tag = data.pop("tag")
        body = _encoded(data)
        if not tag:
            return self._objects.create(key, body)
        if not self._objects.address.is_remote:
            self._objects.put(key, body)  # a folder has no conditional replacement; its lock is held
            return True
        return self._objects.replace(key, body, tag)

    def keys_of(self, name: str, run: str) -> frozenset[str]:
        """The keys of a repository's files since that run."""
        found = self._objects.get(f"{self._top}/repositories/{name}/{run}.json")
        if found is None:
            raise IndexCorrupt(
                f"the list of files of {name} is missing in {self._objects.address}", "delete the fleet's table"
            )
        return frozenset(_decoded(found)["keys"])

    def put_keys(self, name: str, run: str, keys: Iterable[str]) -> None:
        """Keep the keys of a repository's files."""
        self._objects.put(f"{self._top}/repositories/{name}/{run}.json", _encoded({"keys": sorted(keys)}))

    def drop_keys(self, name: str, run: str) -> None:
        """Delete a list of keys that the head names no more."""
        self._objects.delete(f"{self._top}/repositories/{name}/{run}.json")

    # -- the run --------------------------------------------------------------------------------------------------

    def open_run(self) -> Plan | None:
        """The run that is not finished."""
        pointer = self._objects.get(f"{self._top}/open.json")
        if pointer is None:
            return None
        run = str(_decoded(pointer)["run"])
        found = self._objects.get(f"{self._top}/runs/{run}/plan.json")
        if found is None:
            return None
        data = _decoded(found)
        repositories = {name: Indexed(**one) for name, one in data["repositories"].items()}
        return Plan(
            data["run"], data["model"], data["dim"], data["at"], repositories, tuple(data["removed"]), data["shards"]
        )

    def begin(self, plan: Plan) -> bool:
        """Make the plan the open run; False if another one is open."""
        self._objects.put(f"{self._top}/runs/{plan.run}/plan.json", _encoded(asdict(plan)))
        return self._objects.create(f"{self._top}/open.json", _encoded({"run": plan.run}))

    def end(self, run: str) -> None:
        """The run is over: nothing of it is needed any more."""
        pointer = self._objects.get(f"{self._top}/open.json")
        if pointer is not None and _decoded(pointer)["run"] == run:
            self._objects.delete(f"{self._top}/open.json")
        self.sweep(keep="", only=run)

    def sweep(self, keep: str, only: str = "") -> None:
        """Delete what is left of other runs than `keep`: of plans that were never begun, and of finished runs."""
        prefix = f"{self._top}/runs/{only}" if only else f"{self._top}/runs"
        for key in list(self._objects.keys(prefix)):
            run = key.removeprefix(f"{self._top}/runs/").partition("/")[0]
            if run != keep and (not only or run == only):
                self._objects.delete(key)

    def put_input(self, run: str, shard: str, files: list[list[str]]) -> None:
        """Keep the files of a shard: repository, owner, path, text and content hash of each."""
        self._objects.put(f"{self._top}/runs/{run}/in/{shard}", zlib.compress(orjson.dumps(files), 1))

    def input(self, run: str, shard: str) -> list[list[str]] | None:
        """The files of a shard; None if they are gone."""
        found = self._objects.get(f"{self._top}/runs/{run}/in/{shard}")
        if found is None:
            return None
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(found.data, _MAX_UNPACKED)
        if unpacking.unconsumed_tail:
            raise IndexCorrupt(f"shard {shard} of run {run} unpacks to more than it may hold", "run it again")
        rows: list[list[str]] = orjson.loads(data)
        return rows

    def inputs(self, run: str) -> set[str]:
        """The shards whose input is there."""
        return {key.rpartition("/")[2] for key in self._objects.keys(f"{self._top}/runs/{run}/in")}

    def finish(self, run: str, result: ShardResult) -> bool:
        """Keep a shard's result; False if another worker was first."""
        return self._objects.create(f"{self._top}/runs/{run}/out/{result.shard}.json", _encoded(asdict(result)))

    def result(self, run: str, shard: str) -> ShardResult | None:
        """The result of a shard; None if there is none."""
        found = self._objects.get(f"{self._top}/runs/{run}/out/{shard}.json")
        return result_of(_decoded(found)) if found is not None else None

    def finished(self, run: str) -> list[str]:
        """The shards that have a result."""
        keys = self._objects.keys(f"{self._top}/runs/{run}/out")
        return sorted(key.rpartition("/")[2].removesuffix(".json") for key in keys)


def result_of(data: dict[str, Any]) -> ShardResult:
    """A result from its JSON."""
    return ShardResult(
        data["shard"], tuple(data["fragments"]), data["files"], data["chunks"], data["seconds"], data["worker"]
    )


def _encoded(data: dict[str, Any]) -> bytes:
    return orjson.dumps({"format": FORMAT, **data})


def _decoded(found: Stored) -> dict[str, Any]:
    try:
        data = orjson.loads(found.data)
    except orjson.JSONDecodeError as error:
        raise IndexCorrupt("an object of the fleet is no JSON", "`sage fleet index` after deleting it") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FormatTooNew("the fleet was written by another version of Sage", "use the same version everywhere")
    data.pop("format")
    return data
