"""Scores search on labelled queries: NDCG@10, recall, reciprocal rank, latency, by language and category.

The rule is that of the public benchmark for agents' code search. Every expected location counts alike and scores at the
rank of the first result that covers it: the same file and, if the label has lines, at least one of them. More results
of that file gain nothing and cost a rank. A figure is the mean over repositories of their means.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import orjson

from sage_code.errors import UsageError
from sage_code.values import Location

if TYPE_CHECKING:
    from sage_code.search.results import Hit

K = 10
_RECALL_AT = (1, 5, 10)
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Expected:
    """A location that answers a query; without lines, anywhere in the file."""

    path: str  # as the label gives it
    repo_path: str  # from the top of the repository
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A query with its expected answers."""

    query: str
    expected: tuple[Expected, ...]
    repo: str = ""
    language: str = ""
    category: str = ""


@dataclass(frozen=True, slots=True)
class PathRule:
    """When a result has the expected path: one path ends with the other or, if strict, both name the same file."""

    strict: bool = False
    below: str = ""  # the folder of the repository that was searched

    def same(self, found: str, expected: Expected) -> bool:
        """Whether a path that was found is the expected one."""
        if self.strict:
            return expected.repo_path in (found, f"{self.below}/{found}" if self.below else found)
        return found == expected.path or found.endswith(f"/{expected.path}") or expected.path.endswith(f"/{found}")


@dataclass(frozen=True, slots=True)
class Score:
    """How good the results of one query are."""

    label: Label
    ranks: tuple[int, ...]  # of the expected locations that were found, each by the first result that covers it
    took_ms: float

    @property
    def ndcg(self) -> float:
        """NDCG@10; two expected locations that one result covers count once."""
        gains = sum(1 / math.log2(rank + 1) for rank in set(self.ranks) if rank <= K)
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(K, len(self.label.expected)) + 1))
        return gains / ideal if ideal else 0.0

    @property
    def reciprocal_rank(self) -> float:
        """One over the rank of the first right result, 0 beyond the tenth."""
        best = min(self.ranks, default=K + 1)
        return 1 / best if best <= K else 0.0

    def recall(self, k: int) -> float:
        """The share of the expected locations among the first `k` results."""
        expected = len(self.label.expected)
        return sum(rank <= k for rank in self.ranks) / expected if expected else 0.0

    def hit(self, k: int) -> bool:
        """Whether any of the first `k` results is right."""
        return any(rank <= k for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of a run; the shape of `sage eval --json`."""

    queries: int
    repos: int
    ndcg: float
    ndcg_micro: float  # the plain mean over all queries
    mrr: float
    recall: dict[str, float]
    hit: dict[str, float]
    by_language: dict[str, float]
    by_category: dict[str, float]
    by_repo: dict[str, float]
    latency_ms: dict[str, float]
    missed: tuple[str, ...] = field(default=())  # queries without an expected location among the first ten results


def read_labels(path: str) -> list[Label]:
    """The labelled queries of a JSON-lines file; a line that is none is a usage error with its number."""
    labels = []
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    labels.append(_label(line, f"{path}:{number}"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "give a file of labelled questions") from error
    if not labels:
        raise UsageError(f"{path} holds no questions", 'one a line: {"query": "...", "relevant": ["src/a.py"]}')
    return labels


def _label(line: bytes, where: str) -> Label:
    """The label of one line of a file."""
    try:
        data = orjson.loads(line)
        expected = [_expected(given) for given in (*data["relevant"], *data.get("secondary", ()))]
        named = {key: str(data.get(key, "")) for key in ("repo", "language", "category")}
        return Label(str(data["query"]), tuple(expected), **named)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{where} is no labelled question: {error}", 'one a line: {"query": "...", "relevant": ["src/a.py"]}'
        ) from error


def _expected(given: str | Mapping[str, Any]) -> Expected:
    if isinstance(given, str):
        return Expected(given, given)
    path = given.get("path") or given["repo_path"]
    return Expected(path, given.get("repo_path") or path, given.get("start_line"), given.get("end_line"))


def covers(found: Location, expected: Expected, rule: PathRule) -> bool:
    """Whether a result is the expected file and, if both have lines, has one in common with it."""
    if not rule.same(found.file, expected):
        return False
    lines = (expected.start_line, expected.end_line, found.start_line, found.end_line)
    if any(line is None for line in lines):
        return True
    first, last, start, end = (int(line) for line in lines if line is not None)
    return start <= last and end >= first


def score(label: Label, results: Sequence[Location], rule: PathRule, took_ms: float = 0.0) -> Score:
    """The score of these results of a labelled query."""
    ranks = []
    for expected in label.expected:
        rank = next((rank for rank, found in enumerate(results, 1) if covers(found, expected, rule)), None)
        if rank is not None:
            ranks.append(rank)
    return Score(label, tuple(ranks), took_ms)


def ask_all(labels: Iterable[Label], ask: Callable[[str], Sequence[Location]], rule: PathRule) -> Iterator[Score]:
    """Asks every query of one repository and scores the results; the first is asked twice, to be warm."""
    warm = False
    for label in labels:
        if not warm:
            ask(label.query)
            warm = True
        started = time.perf_counter()
        results = ask(label.query)
        yield score(label, results, rule, (time.perf_counter() - started) * 1000)


def locations(hits: Iterable[Hit]) -> list[Location]:
    """The locations of hits."""
    return [Location(hit.file, hit.start_line, hit.end_line) for hit in hits]


def report(scores: Sequence[Score]) -> Report:
    """The figures of all scores."""
    by_repo = _by(scores, lambda score: score.label.repo, lambda score: score.ndcg)
    return Report(
        queries=len(scores),
        repos=len(by_repo),
        ndcg=_mean(by_repo.values()),
        ndcg_micro=_mean(score.ndcg for score in scores),
        mrr=_mean(score.reciprocal_rank for score in scores),
        recall={str(k): _macro(scores, methodcaller("recall", k)) for k in _RECALL_AT},
        hit={str(k): _mean(score.hit(k) for score in scores) for k in _RECALL_AT},
        by_language=_macro_by(scores, lambda score: score.label.language),
        by_category=_macro_by(scores, lambda score: score.label.category),
        by_repo=by_repo,
        latency_ms=percentiles([score.took_ms for score in scores]),
        missed=tuple(score.label.query for score in scores if not score.hit(K)),
    )


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """The 50th, 95th and 99th percentile, by their names."""
    ordered = sorted(values) or [0.0]
    return {f"p{part}": round(ordered[min(len(ordered) * part // 100, len(ordered) - 1)], 3) for part in _PERCENTILES}


def _macro(scores: Sequence[Score], value: Callable[[Score], float]) -> float:
    return _mean(_by(scores, lambda score: score.label.repo, value).values())


def _macro_by(scores: Sequence[Score], key: Callable[[Score], str]) -> dict[str, float]:
    """NDCG by a property of the queries: the mean over repositories of their means."""
    parts: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        parts[key(score)].append(score)
    return {name: _macro(part, lambda score: score.ndcg) for name, part in sorted(parts.items())}


def _by(scores: Sequence[Score], key: Callable[[Score], str], value: Callable[[Score], float]) -> dict[str, float]:
    parts: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        parts[key(score)].append(value(score))
    return {name: _mean(part) for name, part in sorted(parts.items())}


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0
