"""Indexes many repositories into one table three ways and compares: one process, Ray and Dask with kills on the way.

    python benchmarks/fleet.py --packages .venv/lib/python3.11/site-packages
    python benchmarks/fleet.py --packages DIR --repositories 12 --kills 2 --coordinators 1

The store is a real S3 server (seaweedfs) of its own; each way has a home and a prefix of its own. The tables are
compared row by row with all columns, vectors bit by bit, then by their answers to the same questions: once with every
vector compared (exact), once with the indexes that `sage fleet index` has built, whose training draws by chance. The
price of a chunk is that of the one process, and from it the paper calculation for a hundred million chunks.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
from fleet_kills import Killer, Outcome, index
from fleet_repositories import make_repositories
from global_search import DIM, questions
from measure import machine, table
from numpy.typing import NDArray

from sage_code.fleet.state import FleetState
from sage_code.fleet.tables import FleetPlace, fleet_place
from sage_code.search.everywhere import Searchers
from sage_code.search.fleet import FleetSearcher
from sage_code.search.fleet_candidates import FleetCandidates, Place
from sage_code.search.query import parse_query
from sage_code.search.snippets import SearchOptions
from sage_code.settings.loading import Settings, load_settings
from sage_code.store import fleet_index
from sage_code.store.fleet_index import FleetStatistics
from sage_code.store.remote.address import Address

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "store"))
from s3_server import CountingProxy, S3Server, running_s3

SEED = 20_261_118
NEAREST = 100
# The statistics are a sample of so many rows at most, so they grow no further.
STATISTICS_ROWS = 200_000
PAPER_CHUNKS = 100_000_000
GB = 1e9
Answer = tuple[tuple[str, str, int, int], ...]


@dataclass(slots=True)
class Rows:
    """What a table holds."""

    count: int
    sorted_digest: str
    digest: str  # in the order of the table
    keys: int  # different (repository, path, number)
    repositories: int
    vectors: NDArray[np.float32]
    places: list[Place]
    definitions: list[str]


@dataclass(slots=True)
class Way:
    """One way of indexing, with what came of it."""

    workers: str
    place: FleetPlace
    environment: dict[str, str]
    outcome: Outcome
    requests: int


def main() -> None:
    """Index three times, compare, and calculate."""
    given = _options()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=given.folder, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        fleet = make_repositories(given.packages, folder, given.repositories, given.source_mb, SEED)
        with running_s3() as server:
            ways = []
            for number, workers in enumerate(("1", *given.ways)):
                killer = Killer(given.kills, given.coordinators, SEED + number) if number else None
                ways.append(_indexed(server, folder, fleet, workers, killer))
                _report_run(ways[-1])
            _compare(ways, given.questions)
            _price(ways[0], folder, given)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True, help="a folder of packages: the content")
    parser.add_argument("--repositories", type=int, default=200)
    parser.add_argument("--source-mb", type=float, default=64, help="of all repositories, at most")
    parser.add_argument("--ways", nargs="*", default=["ray:4", "dask:4"], help="beside the one process")
    parser.add_argument("--kills", type=int, default=20, help="of workers, in each of the ways")
    parser.add_argument("--coordinators", type=int, default=5, help="that are killed in each of the ways")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument(
        "--core-hour-price", type=float, default=0.04, help="of the paper calculation; 0.04 unless said"
    )
    parser.add_argument("--gb-month-price", type=float, default=0.023, help="the same; 0.023 unless said")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="for repositories and homes")
    return parser.parse_args()


# -- indexing -------------------------------------------------------------------------------------------------------


def _indexed(server: S3Server, folder: Path, fleet: Path, workers: str, killer: Killer | None) -> Way:
    """Index the fleet in a home and a prefix of its own; what counts requests is between it and the server."""
    home = folder / f"home-{workers.replace(':', '-')}"
    home.mkdir()
    environment = {
        **server.environment(), "HOME": str(home), "SAGE_HOME": str(home / ".sage"), "SAGE_STORE_URI": server.bucket(),
        "RAY_TMPDIR": str(folder), "DASK_TEMPORARY_DIRECTORY": str(home), "LANCE_LOG": "error",
    }  # fmt: skip
    with _set(environment):
        settings = load_settings(None)
        place = fleet_place(settings)
    proxy = CountingProxy(server)
    try:
        counted = environment | {"AWS_ENDPOINT_URL": proxy.endpoint}
        outcome = index(fleet, workers, counted, FleetState(place.objects, place.name), killer)
    finally:
        proxy.stop()
    return Way(workers, place, environment, outcome, proxy.requests)


@contextlib.contextmanager
def _set(environment: dict[str, str]) -> Iterator[None]:
    """With these variables."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _report_run(way: Way) -> None:
    outcome, stats = way.outcome, way.outcome.stats
    worker = ", ".join(f"{name} {value:,.1f}" for name, value in stats["worker_seconds"].items())
    stages = ", ".join(f"{name} {value:,.1f}" for name, value in outcome.clock.items())
    used = ", ".join(f"{name} {value:,.1f}" for name, value in outcome.processor.items())
    print(f"\n--workers {way.workers}: {outcome.seconds:,.1f} s by the clock, {outcome.starts} starts")
    print(
        f"  {stats['repositories']} repositories, {stats['shards']} shards, {stats['files']:,} files, "
        f"{stats['chunks']:,} chunks "
        f"written as the last coordinator knows, {stats['rows']:,} rows; {len(stats['problems'])} not indexed"
    )
    print(f"  clock by stage, s: {stages}")
    print(f"  worker seconds (processor: cutter included): {worker}; processor of coordinators: {used}")
    print(f"  {way.requests:,} requests, {way.requests / max(stats['rows'], 1):.4f} a chunk")
    if outcome.coordinators_killed or outcome.workers_killed:
        stages = ", ".join(f"{count} in {stage}" for stage, count in outcome.coordinators_killed.items())
        print(
            f"  killed while the run went on: {outcome.workers_killed} workers that were doing a shard, "
            f"{outcome.coordinators_killed.total()} coordinators ({stages}); "
            f"{outcome.left_behind} processes left behind"
        )
    sys.stdout.flush()


# -- comparing ------------------------------------------------------------------------------------------------------


def _compare(ways: list[Way], count: int) -> None:
    first: Rows | None = None
    asked: list[str] = []
    exact: list[Answer] = []
    indexed: list[Answer] = []
    print()
    for way in ways:
        with _set(way.environment):
            settings = load_settings(None)
            rows = _read(way.place)
            head = FleetState(way.place.objects, way.place.name).head()
            if first is None:
                first = rows
                found = questions(pa.table({"definitions": rows.definitions}))
                asked = found[:: max(len(found) // count, 1)][:count]
            own_exact, _ = _answers(_ExactFleet(settings, rows), settings, asked)
            own_indexed, milliseconds = _answers(FleetSearcher(settings), settings, asked)
        exact, indexed = exact or own_exact, indexed or own_indexed
        print(
            f"--workers {way.workers}: {rows.count:,} rows of {rows.repositories} repositories "
            f"({len(head.repositories)} in the head), digest of sorted rows {rows.sorted_digest[:16]}, "
            f"in order {rows.digest[:16]}, {rows.count - rows.keys} twice"
        )
        print(
            f"  as one process: rows with all columns, vectors bit by bit: {_yes(rows.sorted_digest, first)}; "
            f"in the same order: {'yes' if rows.digest == first.digest else 'no'}"
        )
        print(
            f"  answers as one process, every vector compared: {_same(own_exact, exact)}/{len(asked)}; with the "
            f"indexes: {_same(own_indexed, indexed)}/{len(asked)}, first hit {_same(own_indexed, indexed, 1)}"
            f"/{len(asked)}; indexes against every vector: {_same(own_indexed, own_exact)}/{len(asked)}; "
            f"{milliseconds:.0f} ms a question",
            flush=True,
        )


def _yes(digest: str, first: Rows) -> str:
    return "equal" if digest == first.sorted_digest else "NOT EQUAL"


def _same(mine: list[Answer], theirs: list[Answer], hits: int | None = None) -> int:
    return sum(one[:hits] == other[:hits] for one, other in zip(mine, theirs, strict=True))


def _read(place: FleetPlace) -> Rows:
    """All rows of a table."""
    digests, keys, repositories = [], set(), set()
    vectors: list[NDArray[np.float32]] = []
    places: list[Place] = []
    definitions: list[str] = []
    dataset = lance.dataset(place.table.uri, storage_options=place.table.options)
    for batch in dataset.scanner(with_row_address=True, scan_in_order=True, batch_size=8_192).to_batches():
        flat = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(-1, DIM)
        rows = batch.drop_columns(["vector"]).to_pylist()
        for row, vector in zip(rows, flat, strict=True):
            places.append(Place(row.pop("_rowaddr"), row["number"], row["siblings"]))
            digests.append(hashlib.sha256(repr(list(row.items())).encode() + vector.tobytes()).digest())
            keys.add((row["repository"], row["path"], row["number"]))
            repositories.add(row["repository"])
            definitions.append(row["definitions"])
        vectors.append(flat)
    in_order, in_any = hashlib.sha256(b"".join(digests)), hashlib.sha256(b"".join(sorted(digests)))
    return Rows(
        len(digests), in_any.hexdigest(), in_order.hexdigest(), len(keys), len(repositories),
        np.concatenate(vectors), places, definitions,
    )  # fmt: skip


class _ExactCandidates(FleetCandidates):
    """Compares a question with every vector."""

    def __init__(self, dataset: Any, statistics: FleetStatistics, rows: Rows) -> None:
        super().__init__(dataset, statistics)
        self._rows = rows

    def nearest(self, vector: NDArray[np.float32], allowed: str | None, count: int = NEAREST) -> list[Place]:
        """The nearest chunks; of equal ones those that come first in the table."""
        assert allowed is None, "the questions have no filters"
        if not vector.any():
            return []
        scores = self._rows.vectors @ vector
        return [self._rows.places[at] for at in np.argsort(-scores, kind="stable")[:count].tolist()]


class _ExactFleet(FleetSearcher):
    """The searcher of a fleet, without its vector index."""

    def __init__(self, settings: Settings, rows: Rows) -> None:
        super().__init__(settings)
        self._rows = rows

    def _open(self, table: Address) -> tuple[FleetCandidates, FleetStatistics]:
        if self._opened is None:
            dataset = lance.dataset(table.uri, storage_options=table.options)
            statistics = fleet_index.read_statistics(table, DIM)
            self._opened = _ExactCandidates(dataset, statistics, self._rows), statistics
        return self._opened


def _answers(fleet: FleetSearcher, settings: Settings, asked: list[str]) -> tuple[list[Answer], float]:
    """What `sage search --all` answers, and the time of a question."""
    searchers = Searchers(os.getcwd(), settings)
    searchers._fleet = fleet
    started, found = time.perf_counter(), []
    for question in asked:
        response = searchers.search(parse_query(question), SearchOptions(), everywhere=True)
        assert "left out" not in response.note, response.note
        found.append(tuple((hit.repository, hit.file, hit.start_line, hit.end_line) for hit in response.results))
    return found, 1000 * (time.perf_counter() - started) / max(len(asked), 1)


# -- what it costs --------------------------------------------------------------------------------------------------


def _price(way: Way, folder: Path, given: argparse.Namespace) -> None:
    """The price of a chunk by the run of one process, and of a hundred million of them."""
    stats, outcome = way.outcome.stats, way.outcome
    chunks = stats["rows"]
    source = sum(file.stat().st_size for file in (folder / "repositories").rglob("*") if ".git" not in file.parts)
    sizes = _sizes(way.place)
    vectors, others = _index_seconds(way.place, folder)
    paper = PAPER_CHUNKS / chunks
    steps = [
        ("a worker: reading, cutting, embedding, writing", stats["worker_seconds"]["processor"], paper),
        ("coordinator: git, listing, reading, planning", outcome.processor["planning"], paper),
        ("coordinator: shards and publishing", outcome.processor["shards"] + outcome.processor["publishing"], paper),
        ("indexes of words and filters", others, paper),
        (f"vector index of {isqrt(chunks):,} partitions, if linear", vectors, paper),
        (f"vector index, more for √N partitions ({isqrt(PAPER_CHUNKS):,})", vectors, paper**1.5 - paper),
    ]
    print(f"\nOne process, {chunks:,} chunks of {source / 1e6:.1f} MB ({source / chunks:.0f} B a chunk).")
    print(
        f"Paper: {PAPER_CHUNKS:,} chunks, {given.core_hour_price} a core hour, {given.gb_month_price} a GB and month."
    )
    lines, hours = [], 0.0
    for name, seconds, times in steps:
        hours += seconds * times / 3600
        measured = "(the same)" if "more for" in name else f"{seconds:,.1f}"
        lines.append((name, measured, f"{1e6 * seconds / chunks:,.0f}", f"{seconds * times / 3600:,.1f}"))
    lines.append(("all", "", "", f"{hours:,.1f} = {hours * given.core_hour_price:,.2f} once"))
    print(table(("step", "measured processor s", "µs a chunk", "paper processor hours"), lines))
    stored, total = Counter[str](), 0.0
    lines = []
    for name, size in sizes.items():
        stored["all"] += size
        times = min(paper, max(STATISTICS_ROWS / chunks, 1.0)) if name == "statistics" else paper
        total += size * times / GB
        lines.append((name, f"{size / 1e6:,.1f}", f"{size / chunks:,.0f}", f"{size * times / GB:,.1f}"))
    lines.append(("all", f"{stored['all'] / 1e6:,.1f}", f"{stored['all'] / chunks:,.0f}",
                  f"{total:,.1f} = {total * given.gb_month_price:,.2f} a month"))  # fmt: skip
    print(table(("in the store", "measured MB", "B a chunk", "paper GB"), lines))
    print(
        f"requests: {way.requests:,} measured, {1000 * way.requests / chunks:.1f} a thousand chunks; "
        f"{way.requests * paper / 1e6:,.1f} million on paper at this size of shards ({stats['shards']} of "
        f"{source / 1e6 / max(stats['shards'], 1):.1f} MB; a large run has shards of 16 MB, so fewer)"
    )
    worker = stats["worker_seconds"]
    parts = ", ".join(f"{name} {1e6 * worker[name] / chunks:,.0f}" for name in ("read", "cut", "embed", "write"))
    print(f"clock of the worker, µs a chunk (cut waits for its parser): {parts}", flush=True)


def _sizes(place: FleetPlace) -> dict[str, int]:
    """Bytes of the objects, by what they are."""
    import obstore

    kinds = {
        f"{place.name}.lance/data/": "rows (fragments)", f"{place.name}.lance/_indices/": "indexes",
        f"{place.name}.lance/": "versions of the table", f"{place.name}_statistics": "statistics",
        "fleet/": "heads and lists of files",
    }  # fmt: skip
    sizes = dict.fromkeys(kinds.values(), 0)
    for batch in obstore.list(place.objects._store):
        for entry in batch:
            kind = next((kind for start, kind in kinds.items() if entry["path"].startswith(start)), "other")
            sizes[kind] = sizes.get(kind, 0) + entry["size"]
    return sizes


def _index_seconds(place: FleetPlace, folder: Path) -> tuple[float, float]:
    """Processor seconds of the vector index and of the other indexes, made again on a copy in a folder."""
    copy = Address(str(folder / "copy.lance"))
    dataset = lance.dataset(place.table.uri, storage_options=place.table.options)
    lance.write_dataset(dataset.scanner().to_reader(), copy.uri)
    opened = lance.dataset(copy.uri)
    vectors = _processor(lambda: fleet_index._index_vectors(opened, opened.count_rows()))
    return vectors, _processor(lambda: fleet_index.index_fleet(copy))


def _processor(work: Callable[[], object]) -> float:
    """Processor seconds of this process, with the threads of Lance."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
