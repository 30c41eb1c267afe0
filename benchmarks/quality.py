"""How good search is, on labelled questions about real repositories: `python benchmarks/quality.py --help`.

Three ways to ask (the labelled folders, whole trees, without paths), what each signal brings, how long an answer takes,
and how much an agent has to read until the first right one, against ripgrep and reading files. The rule is that of
`sage_code/search/evaluation.py`. The repositories must be checked out and indexed before; `--index` does it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import quality_documentation
from measure import machine, table, wall

from sage_code import Project
from sage_code.embed.loading import load_embedder
from sage_code.embed.protocol import Embedder
from sage_code.search.engine import SearchEngine
from sage_code.search.evaluation import (
    K,
    Label,
    PathRule,
    Report,
    Score,
    ask_all,
    covers,
    locations,
    percentiles,
    read_labels,
    report,
)  # fmt: skip
from sage_code.search.features import NAMES, Candidates
from sage_code.search.query import Query, parse_query
from sage_code.search.ranking import Ranking, learned
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.trials import Setup, read_folders, run
from sage_code.settings.loading import load_settings
from sage_code.text.tokens import count_tokens
from sage_code.values import Location

# What BM25 and its coverage say, and what the model says; the rest is code-aware ranking.
_WORDS = frozenset(
    ["body", "body_relative", "name", "name_relative", "doc", "cover", "file_cover", "file_body", "path", "path_cover"]
)  # fmt: skip
_MEANING = frozenset(name for name in NAMES if "dense" in name)
# Files read after a grep before giving up.
_READ_FILES = 10
_COLD_RUNS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", required=True, help="labelled questions, JSON lines")
    parser.add_argument("--repos", required=True, help="the repositories and their labelled folders, JSON")
    parser.add_argument("--roots", required=True, help="checkouts by name; the labelled folders are indexed")
    parser.add_argument("--whole-roots", help="the same, with whole trees indexed")
    parser.add_argument(
        "--heldout", type=Path, help="packages that were held out of training, as `training` wrote them"
    )
    parser.add_argument("--index", action="store_true", help="index what is to be measured first")
    parser.add_argument("--only", nargs="*", default=[], help="these repositories")
    parser.add_argument(
        "--parts", nargs="*", default=["quality", "documentation", "ablations", "latency", "cold", "tokens"]
    )
    given = parser.parse_args()
    labels = [label for label in read_labels(given.labels) if not given.only or label.repo in given.only]
    below = read_folders(given.repos)
    folders = Setup(given.roots, below)
    whole = Setup(given.whole_roots, {}, strict=True) if given.whole_roots else None
    if given.index:
        for setup in filter(None, (folders, whole)):
            index(labels, setup)
    print(machine(), end="\n\n")
    parts: dict[str, Callable[[], None]] = {
        "quality": lambda: quality(labels, folders, whole),
        "documentation": lambda: documentation(given.heldout),
        "ablations": lambda: ablations(labels, folders),
        "latency": lambda: latency(labels, folders),
        "cold": lambda: cold(labels, folders),
        "tokens": lambda: tokens(labels, folders),
    }
    for part in given.parts:
        parts[part]()
        print(flush=True)


def index(labels: Sequence[Label], setup: Setup) -> None:
    for repo in dict.fromkeys(label.repo for label in labels):
        stats = Project(setup.root(repo)).index(name=repo)
        print(f"indexed {repo}: {stats.files_indexed} files in {stats.duration_ms / 1000:.1f} s", file=sys.stderr)


# -- quality ----------------------------------------------------------------------------------------------------------


def quality(labels: Sequence[Label], folders: Setup, whole: Setup | None) -> None:
    """Print the quality of search in each setup, overall and by group."""
    ways = {"labelled folders": folders, "without paths": replace(folders, path_blind=True)}
    if whole:
        ways["whole trees, strict paths"] = whole
    found = {name: report(run(labels, setup)) for name, setup in ways.items()}
    rows = [_headline(name, one) for name, one in found.items()]
    print(table(["", "NDCG@10", "MRR", "recall@1", "recall@5", "recall@10", "first right", "latency p50, ms"], rows))
    for what in ("by_category", "by_language", "by_repo"):
        values: list[Mapping[str, float]] = [getattr(one, what) for one in found.values()]
        print()
        names = list(values[0])
        print(table([what, *found], [[name, *(f"{value.get(name, 0):.3f}" for value in values)] for name in names]))


def _headline(name: str, found: Report) -> list[object]:
    recall = [f"{value:.3f}" for value in found.recall.values()]
    return [
        name, f"{found.ndcg:.4f}", f"{found.mrr:.3f}", *recall, f"{found.hit['1']:.3f}",
        f"{found.latency_ms['p50']:.1f}",
    ]  # fmt: skip


def documentation(heldout: Path | None) -> None:
    """A sentence of the documentation → its function, by language."""
    if heldout is None:
        return
    rows, every = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for language, found in quality_documentation.scores(heldout, Path(scratch)):
            every += found
            rows.append([language, len(found), *_figures(found)])
    print(
        table(
            ["language", "questions", "NDCG@10", "MRR", "recall@1", "recall@10"],
            [*rows, ["all", len(every), *_figures(every)]],
        )
    )


def _figures(found: Sequence[Score]) -> list[str]:
    one = report(found)
    return [f"{value:.3f}" for value in (one.ndcg, one.mrr, one.recall["1"], one.recall["10"])]


# -- ablations --------------------------------------------------------------------------------------------------------


class _Remembering(SearchEngine):
    """Measures the candidates of a question once, and ranks them as often as it is asked to."""

    def __init__(self, snapshot: SearchSnapshot, embedder: Embedder) -> None:
        super().__init__(snapshot, embedder)
        self._measured: dict[str, Candidates] = {}

    def candidates(self, query: Query) -> Candidates:
        if query.text not in self._measured:
            self._measured[query.text] = super().candidates(query)
        return self._measured[query.text]


def ablations(labels: Sequence[Label], setup: Setup) -> None:
    """Features that always have their mean, the weights as they were learned."""
    shipped = learned()
    rankings = {
        "meaning only": _keeping(shipped, _MEANING),
        "words only": _keeping(shipped, _WORDS),
        "words and meaning, no code-aware ranking": _keeping(shipped, _WORDS | _MEANING),
        "everything": shipped,
        **{f"without {name}": _keeping(shipped, frozenset(NAMES) - {name}) for name in NAMES},
    }
    scores: dict[str, list[Score]] = defaultdict(list)
    for repo, asked in _by_repo(labels).items():
        engine = _Remembering(SearchSnapshot(setup.root(repo)), _embedder(setup.root(repo)))
        for name, ranking in rankings.items():
            engine.ranking = ranking
            scores[name] += ask_all(asked, lambda text, engine=engine: _ranked(engine, text), PathRule())
    base = report(scores["everything"]).ndcg
    rows = []
    for name, found in scores.items():
        value = report(found).ndcg
        rows.append([name, f"{value:.4f}", f"{value - base:+.4f}"])
    print(table(["ranking", "NDCG@10", "against everything"], rows))


def _keeping(ranking: Ranking, kept: frozenset[str]) -> Ranking:
    # A feature that is always its mean says nothing.
    spread = np.where([name in kept for name in NAMES], ranking.network.spread, 1e9)
    return replace(ranking, network=replace(ranking.network, spread=spread))


def _ranked(engine: SearchEngine, text: str) -> list[Location]:
    snapshot = engine.snapshot
    return [
        Location(snapshot.path(hit.file), int(snapshot.chunk_start[hit.chunk]), int(snapshot.chunk_end[hit.chunk]))
        for hit in engine.rank(parse_query(text), K)
    ]


# -- time -------------------------------------------------------------------------------------------------------------


def latency(labels: Sequence[Label], setup: Setup) -> None:
    """Warm, in process, snippets included, on the repository with the most chunks."""
    largest, asked = _largest(labels, setup)
    project = Project(largest)
    chunks = SearchSnapshot(largest).chunks
    rows = []
    for name, refresh in (("looks for changes every 2 s", True), ("--no-refresh", False)):
        project.search(asked[0].query, refresh=refresh)
        took, own = [], []
        for label in asked * 3:
            started, busy = time.perf_counter(), time.thread_time()
            project.search(label.query, refresh=refresh)
            took.append((time.perf_counter() - started) * 1000)
            own.append((time.thread_time() - busy) * 1000)
        wall_ms, cpu_ms = percentiles(took), percentiles(own)
        rows.append(
            [name, *(f"{wall_ms[part]:.1f}" for part in wall_ms), f"{cpu_ms['p50']:.1f}", f"{cpu_ms['p95']:.1f}"]
        )
    print(f"{largest}: {chunks:,} chunks, {len(asked) * 3} questions, one after another\n")
    print(table(["", "p50, ms", "p95", "p99", "p50 of the thread's own time", "p95 of it"], rows))


def cold(labels: Sequence[Label], setup: Setup) -> None:
    """Whole processes, in turns."""
    largest, asked = _largest(labels, setup)
    sage = str(Path(sys.executable).with_name("sage"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "sage search": [sage, "search", asked[0].query, "--project", largest],
        "sage search --no-refresh": [sage, "search", asked[0].query, "--project", largest, "--no-refresh"],
    }
    took: dict[str, list[float]] = defaultdict(list)
    for _ in range(_COLD_RUNS):
        for name, command in commands.items():
            took[name].append(wall(command, codes=(0, 1)) * 1000)
    numpy_ms = statistics.median(took["python -c 'import numpy'"])
    rows = []
    for name, values in took.items():
        middle = statistics.median(values)
        rows.append([name, f"{middle:.0f}", f"{min(values):.0f}", f"{middle / numpy_ms:.2f}"])
    print(table(["process", "median, ms", "least", "against numpy"], rows))


def _largest(labels: Sequence[Label], setup: Setup) -> tuple[str, list[Label]]:
    by_repo = _by_repo(labels)
    sizes = {repo: SearchSnapshot(setup.root(repo)).chunks for repo in by_repo}
    largest = max(sizes, key=lambda repo: sizes[repo])
    return setup.root(largest), by_repo[largest]


# -- tokens -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reading:
    """The tokens read until the first right hit, or until giving up."""

    tokens: int
    found: bool


def tokens(labels: Sequence[Label], setup: Setup) -> None:
    """What an agent reads: `sage search` down to the first right hit; `rg` and whole files, most matches first."""
    with_sage: list[_Reading] = []
    with_rg: list[_Reading] = []
    for repo, asked in _by_repo(labels).items():
        root = setup.root(repo)
        project = Project(root)
        for label in asked:
            with_sage.append(_read_hits(project, label))
            with_rg.append(_read_files(root, label))
    both = [place for place, reading in enumerate(with_rg) if reading.found and with_sage[place].found]
    rows = []
    for name, readings in (("sage search", with_sage), ("rg, then the files", with_rg)):
        every = [reading.tokens for reading in readings]
        shared = [readings[place].tokens for place in both]
        rows.append([
            name, f"{sum(reading.found for reading in readings) / len(readings):.3f}", f"{statistics.mean(every):,.0f}",
            f"{statistics.median(every):,.0f}", f"{statistics.mean(shared):,.0f}",
        ])  # fmt: skip
    print(table(["", "found", "tokens a question, mean", "median", "mean where both found it"], rows))
    saved = 1 - sum(reading.tokens for reading in with_sage) / sum(reading.tokens for reading in with_rg)
    shared_saved = 1 - sum(with_sage[place].tokens for place in both) / sum(with_rg[place].tokens for place in both)
    print(f"\n{saved:.1%} fewer over all questions, {shared_saved:.1%} where both found it ({len(both)} questions)")


def _read_hits(project: Project, label: Label) -> _Reading:
    read = 0
    for hit in project.search(label.query, refresh=False).results:
        head = f"{hit.file}:{hit.start_line}-{hit.end_line} {hit.kind} {hit.qualname} {hit.signature}"
        read += count_tokens(f"{head}\n{hit.snippet}")
        if any(covers(found, expected, PathRule()) for found in locations([hit]) for expected in label.expected):
            return _Reading(read, True)
    return _Reading(read, False)


def _read_files(root: str, label: Label) -> _Reading:
    """Files that hold any word of the question, most matches first: the list, and each file until the right one."""
    words = [argument for term in parse_query(label.query).terms for argument in ("-e", term)]
    command = ["rg", "--ignore-case", "--fixed-strings", "--count-matches", *words, "--", "."]
    lines = subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.splitlines()
    counted = sorted(_counts(lines), key=lambda pair: (-pair[1], pair[0]))[:_READ_FILES]
    read = count_tokens("\n".join(f"{path}:{count}" for path, count in counted))
    for path, _ in counted:
        read += count_tokens(Path(root, path).read_text(errors="replace"))
        if any(covers(Location(path), expected, PathRule()) for expected in label.expected):
            return _Reading(read, True)
    return _Reading(read, False)


def _counts(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        path, _, count = line.rpartition(":")
        yield path.removeprefix("./"), int(count)


def _by_repo(labels: Sequence[Label]) -> dict[str, list[Label]]:
    by_repo: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_repo[label.repo].append(label)
    return by_repo


def _embedder(root: str) -> Embedder:
    settings = load_settings(root)
    return load_embedder(settings.code_embedding_model, "code", settings)


if __name__ == "__main__":
    main()
