"""The figures of `sage eval` agree with figures worked out by hand and with a second implementation."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.search.evaluation import (
    Expected,
    Label,
    PathRule,
    Score,
    covers,
    percentiles,
    read_labels,
    report,
    score,
)  # fmt: skip
from sage_code.values import Location

LOOSE, STRICT = PathRule(), PathRule(strict=True, below="src")


def _label(*paths: str, repo: str = "r", language: str = "go", category: str = "semantic") -> Label:
    return Label("q", tuple(Expected(path, f"src/{path}") for path in paths), repo, language, category)


@pytest.mark.parametrize(
    ("results", "targets", "ndcg"),
    [
        (["a"], ["a"], 1.0),
        (["x", "a"], ["a"], 1 / math.log2(3)),
        (["a", "a", "b"], ["a", "b"], (1 + 0.5) / (1 + 1 / math.log2(3))),  # the second chunk of a file costs a rank
        (["x"] * 10 + ["a"], ["a"], 0.0),
        ([], ["a"], 0.0),
        (["a"], [], 0.0),
    ],
)
def test_ndcg_by_hand(results: list[str], targets: list[str], ndcg: float) -> None:
    assert score(_label(*targets), [Location(file) for file in results], LOOSE).ndcg == pytest.approx(ndcg)


def test_two_expected_locations_that_one_result_covers_count_once() -> None:
    label = Label("q", (Expected("a", "a", 1, 5), Expected("a", "a", 6, 9)))
    found = score(label, [Location("a", 4, 7)], LOOSE)
    assert found.ranks == (1, 1)
    assert found.ndcg == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert found.recall(1) == 1.0


def test_lines_must_overlap_where_both_have_them() -> None:
    expected = Expected("a.py", "a.py", 10, 20)
    assert [covers(Location("a.py", *span), expected, LOOSE) for span in ((1, 9), (1, 10), (20, 30), (21, 30))] == [
        False, True, True, False
    ]  # fmt: skip
    assert covers(Location("a.py"), expected, LOOSE)
    assert covers(Location("a.py", 500, 600), Expected("a.py", "a.py"), LOOSE)


def test_paths_loosely_and_strictly() -> None:
    expected = Expected("app.py", "src/app.py")
    assert LOOSE.same("sansio/app.py", expected)
    assert LOOSE.same("app.py", expected)
    assert not LOOSE.same("wrapp.py", expected)
    assert STRICT.same("src/app.py", expected)
    assert STRICT.same("app.py", expected)
    assert not STRICT.same("sansio/app.py", expected)


def _by_the_book(scores: list[Score]) -> dict[str, float]:
    """The main figures, computed in another way: as the script of the benchmark does."""

    def dcg(marks: list[int]) -> float:
        return sum(mark / math.log2(rank + 1) for rank, mark in enumerate(marks, 1))

    repos = defaultdict(list)
    reciprocal = []
    for one in scores:
        marks = [0] * 10
        for rank in one.ranks:
            if rank <= 10:
                marks[rank - 1] = 1
        repos[one.label.repo].append(dcg(marks) / dcg([1] * min(10, len(one.label.expected))))
        best = min(one.ranks, default=11)
        reciprocal.append(1 / best if best <= 10 else 0.0)
    means = [sum(values) / len(values) for values in repos.values()]
    return {"ndcg": sum(means) / len(means), "mrr": sum(reciprocal) / len(reciprocal)}


def test_the_report_agrees_with_a_second_implementation(seed: int) -> None:
    chance = random.Random(seed)
    scores = []
    for repo in ("one", "two", "three"):
        for _ in range(chance.randrange(3, 9)):
            files = [f"f{chance.randrange(12)}" for _ in range(chance.randrange(15))]
            targets = {f"f{chance.randrange(12)}" for _ in range(chance.randrange(1, 4))}
            language = "go" if repo == "one" else "rust"
            label = _label(*sorted(targets), repo=repo, language=language, category=chance.choice("ab"))
            scores.append(score(label, [Location(file) for file in files], LOOSE))
    found = report(scores)
    book = _by_the_book(scores)
    assert found.ndcg == pytest.approx(book["ndcg"])
    assert found.mrr == pytest.approx(book["mrr"])
    assert found.by_language["go"] == pytest.approx(found.by_repo["one"])
    assert found.by_language["rust"] == pytest.approx((found.by_repo["two"] + found.by_repo["three"]) / 2)
    assert set(found.by_category) == {"a", "b"}
    assert found.recall["1"] <= found.recall["5"] <= found.recall["10"]


def test_labels_are_read_with_and_without_their_extras(tmp_path: Path) -> None:
    full = {
        "repo": "r", "language": "go", "category": "symbol", "query": "q", "secondary": [],
        "relevant": [{"path": "a.go", "repo_path": "src/a.go", "start_line": 3, "end_line": 9}],
    }  # fmt: skip
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps(full) + "\n\n" + json.dumps({"query": "p", "relevant": ["b.py"]}) + "\n")
    first, second = read_labels(str(file))
    assert first == Label("q", (Expected("a.go", "src/a.go", 3, 9),), "r", "go", "symbol")
    assert second == Label("p", (Expected("b.py", "b.py"),))


@pytest.mark.parametrize("text", ["", "{}", "[1]", "{", '{"query": "q"}', '{"query": "q", "relevant": [3]}'])
def test_a_line_that_is_no_label_is_a_usage_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"labels\.jsonl"):
        read_labels(str(file))
    with pytest.raises(UsageError, match="cannot be read"):
        read_labels(str(tmp_path / "nosuch"))


def test_percentiles() -> None:
    assert percentiles([float(number) for number in range(100)]) == {"p50": 50.0, "p95": 95.0, "p99": 99.0}
    assert percentiles([])["p50"] == 0.0
