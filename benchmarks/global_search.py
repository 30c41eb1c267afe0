"""Measures the search over a fleet of repositories at several sizes: build, disk, recall and time of a question.

    python benchmarks/global_search.py --trees DIR... --sizes 100000 1000000 10000000 --folder /tmp/global

`--trees` are folders that `sage index` has indexed (in `SAGE_HOME`). Their chunks are the real ones; a larger table is
made of copies of them: other repositories and owners, a share of the rarer words renamed, and vectors moved by noise of
a fixed seed. The text of a copy is the beginning of the chunk's words, so that ten million fit on a disk. A step
that is done is kept in `results-SIZE.json` of the folder and is not done twice.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# As `sage search` and the servers have it: threads that spin between small products would measure the load.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sage_code.search.fleet import FleetSearcher
from sage_code.search.fleet_candidates import FleetCandidates
from sage_code.search.query import parse_query
from sage_code.search.snippets import SearchOptions
from sage_code.settings.loading import Settings
from sage_code.store import fleet_index
from sage_code.store.fleet_table import fleet_rows, fleet_schema
from sage_code.store.lance import Store, store_uri
from sage_code.store.remote.address import Address

SEED = 20_261_118
# Length of the noise against a vector of length 1: a copy has a cosine of about 0.87 with its origin and 0.75 with
# another copy, so neighbours of a chunk are not only its own copies.
NOISE = 0.55
# Words of a synthetic chunk: its names and path first. Real chunks have about 120.
WORDS = 48
# Every copy gives one word in so many a new name, unless it is one of the most common ones.
RENAMED, COMMON = 4, 3_000
ROWS_A_FRAGMENT = 500_000
SAMPLE = 40
DIM = 256


def read_base(trees: list[str]) -> pa.Table:
    """The rows of the real chunks."""
    from sage_code.compiled.published import needed_snapshot

    tables = []
    for tree in trees:
        root = os.path.realpath(tree)
        generation = needed_snapshot(root)
        store = Store(store_uri(""), generation.generation.model, generation.generation.dim)
        keys = [key for segment in generation.segments for key in segment.keys]
        name = os.path.basename(root)
        tables.append(fleet_rows(name, name, store.read(keys), generation.generation.dim))
    return pa.concat_tables(tables).combine_chunks()


class Growth:
    """Copies of the real chunks, all different and the same in every run."""

    def __init__(self, base: pa.Table) -> None:
        self._base = base
        split = [text.split()[:WORDS] for text in base["words"].to_pylist()]
        counted = Counter(word for words in split for word in words)
        vocabulary = [word for word, _ in counted.most_common()]
        number = {word: at for at, word in enumerate(vocabulary)}
        self._vocabulary = vocabulary
        flat = np.array([number[word] for words in split for word in words], np.int32)
        self._offsets = np.cumsum([0, *map(len, split)]).astype(np.int32)
        self._flat = pa.array(flat)
        vectors = base["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        self._vectors = vectors.reshape(-1, DIM)

    def __len__(self) -> int:
        return self._base.num_rows

    def copy(self, number: int) -> pa.Table:
        """The copy with this number; number 0 has the real words and vectors."""
        rng = np.random.default_rng(SEED + number)
        names = np.array(self._vocabulary, object)
        if number:
            at = np.arange(COMMON, len(names))
            at = at[rng.random(len(at)) < 1 / RENAMED]
            names[at] = names[at] + f"{number:x}"
        words = pa.array(names, pa.string()).take(self._flat)
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(self._offsets), words), " ")
        vectors = self._vectors
        if number:
            noise = rng.standard_normal(vectors.shape, np.float32) * np.float32(NOISE / DIM**0.5)
            vectors = vectors + noise
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        repositories = self._base["repository"].combine_chunks()
        suffix = f"-{number}"
        columns = {name: self._base[name] for name in self._base.column_names}
        if number:
            columns["repository"] = pc.binary_join_element_wise(repositories, suffix, "")
            columns["owner"] = pa.array([f"owner-{number % 50}"] * len(self), pa.string())
            columns["definitions"] = pa.array(['["",[]]'] * len(self), pa.string())
            columns["text"] = joined
            columns["length"] = pc.cast(pc.utf8_length(joined), pa.int32())
            columns["words"] = joined
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, DIM)
        return pa.table(columns, schema=fleet_schema(DIM))


def batches(growth: Growth, first: int, rows: int) -> Iterator[pa.RecordBatch]:
    """Rows from number `first` on."""
    copy, skip = divmod(first, len(growth))
    while rows > 0:
        table = growth.copy(copy).slice(skip, rows)
        rows -= table.num_rows
        copy, skip = copy + 1, 0
        yield from table.to_batches(max_chunksize=8_192)


class Results:
    """What is measured, kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def put(self, name: str, value: object) -> None:
        """Keep one figure and print it."""
        self.known[name] = value
        self._path.write_text(json.dumps(self.known, indent=1))
        print(name, json.dumps(value), flush=True)


class Clock:
    """Clock and processor time of a step."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), _cpu()

    def taken(self) -> dict[str, float]:
        """Since the start."""
        return {"clock_s": round(time.perf_counter() - self._clock, 1), "cpu_s": round(_cpu() - self._cpu, 1)}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def size_of(path: str) -> int:
    """Bytes on the disk."""
    return sum(entry.stat().st_size for entry in Path(path).rglob("*") if entry.is_file())


def write(growth: Growth, uri: str, rows: int) -> None:
    """Append rows until there are enough; what an interrupted run has written is kept."""
    have = lance.dataset(uri).count_rows() if os.path.exists(uri) else 0
    schema = fleet_schema(DIM)
    while have < rows:
        count = min(ROWS_A_FRAGMENT, rows - have)
        reader = pa.RecordBatchReader.from_batches(schema, batches(growth, have, count))
        lance.write_dataset(reader, uri, mode="append" if have else "create", max_rows_per_file=ROWS_A_FRAGMENT)
        have += count
        print(f"{have:,} rows", flush=True)


class _Table(FleetSearcher):
    """The searcher of one table."""

    def __init__(self, table: Address) -> None:
        super().__init__(Settings())
        self._address = table

    def _table(self, embedder: object) -> Address:  # noqa: ARG002 - the benchmark has its own
        return self._address


def questions(base: pa.Table) -> list[str]:
    """Questions made of docstrings of the real chunks: their first sentences, all different."""
    found: dict[str, None] = {}
    for packed in base["definitions"].to_pylist()[:: max(base.num_rows // 4_000, 1)]:
        sentence = json.loads(packed)[0].strip().split("\n")[0].split(". ")[0]
        if 4 <= len(sentence.split()) <= 12 and sentence.isascii() and ":" not in sentence:
            found[sentence] = None
    return list(found)


def recall(table: Address, asked: list[str]) -> float:
    """The share of the ten truly nearest chunks that the index finds, for some questions."""
    dataset = lance.dataset(table.uri)
    candidates = FleetCandidates(dataset, fleet_index.FleetStatistics())
    vectors = _Table(table)._model().embed_query(asked)
    best = [np.empty(0, np.float32)] * len(asked), [np.empty(0, np.int64)] * len(asked)
    for batch in dataset.scanner(columns=["vector"], with_row_address=True, batch_size=65_536).to_batches():
        rows = batch.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(-1, DIM)
        addresses = batch.column("_rowaddr").to_numpy().astype(np.int64)
        scores = vectors @ rows.T
        for at in range(len(asked)):
            joined = np.concatenate([best[0][at], scores[at]])
            where = np.concatenate([best[1][at], addresses])
            top = np.argsort(-joined, kind="stable")[:10]
            best[0][at], best[1][at] = joined[top], where[top]
    hits = 0
    for vector, true in zip(vectors, best[1], strict=True):
        hits += len({place.address for place in candidates.nearest(vector, None)[:10]} & set(true.tolist()))
    return hits / 10 / len(asked)


def times(table: Address, asked: list[str]) -> dict[str, float]:
    """Warm searches, from the question to the snippets; each question is asked once."""
    searcher = _Table(table)
    for question in asked[:20]:
        searcher.search(parse_query(question), SearchOptions())
    clock, cpu = [], []
    for question in asked[20:]:
        query, started, used = parse_query(question), time.perf_counter(), _cpu()
        searcher.search(query, SearchOptions())
        clock.append(1000 * (time.perf_counter() - started))
        cpu.append(1000 * (_cpu() - used))
    return {
        "p50_ms": round(statistics.median(clock), 1),
        "p95_ms": round(statistics.quantiles(clock, n=20)[18], 1),
        "p50_cpu_ms": round(statistics.median(cpu), 1),
        "questions": len(clock),
    }


def main() -> None:
    """Build and measure each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", nargs="+", required=True, help="indexed folders")
    parser.add_argument("--sizes", nargs="+", type=int, default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=120)
    given = parser.parse_args()
    base = read_base(given.trees)
    growth = Growth(base)
    all_asked = questions(base)
    asked = all_asked[:: max(len(all_asked) // given.questions, 1)][: given.questions]
    given.folder.mkdir(parents=True, exist_ok=True)
    for size in given.sizes:
        table = Address(str(given.folder / f"fleet-{size}.lance"))
        results = Results(given.folder / f"results-{size}.json")
        for step, work in (("write", lambda t=table, n=size: write(growth, t.uri, n)),
                           ("indexes", lambda t=table: fleet_index.index_fleet(t))):  # fmt: skip
            if step not in results.known:
                clock = Clock()
                work()
                results.put(step, clock.taken() | {"bytes": size_of(table.uri)})
        results.put("load", os.getloadavg()[0])
        results.put("recall@10", recall(table, asked[:SAMPLE]))
        results.put("search", times(table, asked))
        results.put("search lang:python owner:owner-3", times(table, [f"{q} lang:python owner:owner-3" for q in asked]))
        results.put("search repo:dask", times(table, [f"{q} repo:dask" for q in asked]))


if __name__ == "__main__":
    main()
