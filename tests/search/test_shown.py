"""What a search shows: the label is the definition around the shown lines, the lines hold what matched, a literal text
is shown at its line, weak results are folded, and an explanation adds up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.search.evaluation import read_labels
from sage_code.search.literals import LITERAL_VALUE, LiteralFinder
from sage_code.search.query import parse_query
from sage_code.search.results import Hit, SearchResponse, is_weak, trimmed
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.snippets import FileText, LineMatcher, MatchedLines

HERE = Path(__file__).parent
HARBOR = HERE.parents[1] / "fixtures" / "search" / "harbor"
QUESTIONS = [label.query for label in read_labels(str(HERE / "queries.jsonl")) if label.repo == "harbor"]
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[Project]:
    """The fixture, copied and indexed, with a long function whose last line alone holds a message."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        root = tmp_path_factory.mktemp("shown") / "harbor"
        shutil.copytree(HARBOR, root)
        steps = "".join(f"    total += weigh({number})\n" for number in range(60))
        (root / "src" / "harbor" / "ballast.py").write_text(
            "def trim_ballast(tank):\n    total = 0\n"
            + steps
            + '    raise ValueError(f"{tank} tanks are listing")\n\n\n'
            'def weigh(number):\n    return number\n\n\nNOTICE = "the ballast tanks are listing to port"\n'
        )
        project = Project(str(root))
        project.index()
        yield project


def _shown(hit: Hit) -> tuple[int, int]:
    return hit.snippet_line, hit.snippet_line + hit.snippet.count("\n")


@pytest.mark.parametrize("query", QUESTIONS)
def test_the_label_covers_the_shown_lines_and_they_hold_what_matched(harbor: Project, query: str) -> None:
    snapshot = SearchSnapshot(harbor.root)
    matcher = LineMatcher(parse_query(query))
    for hit in harbor.search(query, refresh=False).results:
        first, last = _shown(hit)
        assert hit.start_line <= first <= hit.best_line <= last <= hit.end_line
        symbols = [one for one in snapshot.symbols(snapshot.file_numbers[hit.file]) if one.qualname == hit.qualname]
        assert not hit.qualname or any(one.start_line <= first and last <= one.end_line for one in symbols)
        found = (Path(harbor.root) / hit.file).read_text().split("\n")[hit.start_line - 1 : hit.end_line]
        assert matcher.spans(hit.snippet) or not matcher.spans("\n".join(found))


@pytest.mark.parametrize(
    ("query", "file", "qualname"),
    [
        ("where is the most urgent job taken out", "src/harbor/queue.py", "JobQueue.dequeue"),
        ("cancel a running job from the page", "web/src/api.ts", "cancelJob"),
        ("show seconds as minutes for people", "web/src/format.ts", "formatDuration"),
    ],
)
def test_a_hit_inside_a_shared_chunk_names_the_one_that_answers(
    harbor: Project, query: str, file: str, qualname: str
) -> None:
    found = {hit.file: hit.qualname for hit in harbor.search(query, refresh=False).results}
    assert found[file] == qualname


def test_lines_outside_of_any_definition_have_no_name(harbor: Project) -> None:
    hits = harbor.search("example of retrying a call", refresh=False).results
    (hit,) = (hit for hit in hits if hit.file == "examples/retry_example.py")
    assert (hit.kind, hit.name, hit.qualname, hit.signature) == ("module", "", "", "")


@pytest.mark.parametrize(
    "query", ['"tanks are listing"', "ValueError: 7 tanks are listing", "tanks are listing", "why `tanks are listing`?"]
)
def test_a_literal_text_is_shown_at_its_line_and_marked(harbor: Project, query: str) -> None:
    hits = harbor.search(query, refresh=False).results
    hit = next(hit for hit in hits if hit.file == "src/harbor/ballast.py")
    assert "tanks are listing" in hit.snippet
    marked = [hit.snippet[start:stop] for start, stop in hit.match_spans]
    assert any("tanks are listing" in words for words in marked)
    lines = (Path(harbor.root) / hit.file).read_text().split("\n")
    assert "tanks are listing" in lines[hit.best_line - 1]


def test_other_places_of_a_literal_text_are_named_by_their_line(harbor: Project) -> None:
    hits = harbor.search('"tanks are listing"', refresh=False).results
    hit = next(hit for hit in hits if hit.file == "src/harbor/ballast.py")
    lines = (Path(harbor.root) / hit.file).read_text().split("\n")
    places = [number for number, line in enumerate(lines, 1) if "tanks are listing" in line]
    assert hit.line in places
    (other,) = (number for number in places if number != hit.line)
    assert (hit.also[0].start_line, hit.also[0].end_line) == (other, other)
    assert hit.also[0].name == ("NOTICE" if "NOTICE" in lines[other - 1] else "trim_ballast")


@pytest.mark.parametrize("query", ["the queue is full", "JobQueue.enqueue", "Traceback: QueueFull: 3 jobs are waiting"])
def test_an_explanation_adds_up_to_the_score(harbor: Project, query: str) -> None:
    response = harbor.search(query, explain=True, refresh=False)
    scores = [hit.score for hit in harbor.search(query, refresh=False).results]
    assert [hit.score for hit in response.results] == scores
    for hit in response.results:
        assert hit.explain is not None
        listed, others = hit.explain.listed()
        assert hit.explain.bias + sum(share for _, share in listed) + sum(others) == pytest.approx(hit.explain.total)
        assert hit.explain.total <= hit.explain.file_total + 1e-4
        assert hit.explain.score == pytest.approx(hit.score, abs=1e-4)
    first = response.results[0].explain
    assert first is not None
    if not query.startswith("JobQueue"):  # a query for a name shows the definition, which may not be the best chunk
        assert first.total == pytest.approx(first.file_total, abs=1e-4)


def test_the_explanation_is_printed_with_its_sums(harbor: Project, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(harbor.root)
    out = sage("search", "test that a full queue refuses jobs", "--explain", "-n", "1", "--no-refresh").out
    lines = [line.split() for line in out.splitlines()]
    at = next(number for number, words in enumerate(lines) if words[1:2] == ["total"] or words[1:2] == ["total;"])
    start = next(number for number, words in enumerate(lines) if words and words[0][0] in "+-")
    assert sum(float(words[0]) for words in lines[start:at]) == pytest.approx(float(lines[at][0]), abs=0.1)
    answers, relevance = (float(lines[at + 2][number].strip(",")) for number in (2, 4))
    assert answers * relevance == pytest.approx(float(lines[at + 2][0]), abs=0.002)


def test_ten_results_fit_on_a_screen_and_weak_ones_are_folded(
    harbor: Project, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(harbor.root)
    for query in QUESTIONS:
        words = ("search", *query.split(), "--no-refresh")
        found = json.loads(sage(*words, "--json").out)["results"]
        lines = sage(*words).out.rstrip("\n").split("\n")
        assert len(lines) <= 40
        heads = [line for line in lines if line and not line.startswith(" ")]
        assert [head.partition(":")[0] for head in heads] == [hit["file"] for hit in found]
        weak = [hit["file"] for hit in found if hit["score"] < found[0]["score"] / 10]
        for before, after in zip(lines, [*lines[1:], ""], strict=True):
            if before.partition(":")[0] in weak:
                assert not after.startswith(" ")


def test_lines_shows_as_many_of_each(harbor: Project, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(harbor.root)
    words = ("search", "job queue", "--no-refresh")
    for count in (0, 2, 20):
        found = json.loads(sage(*words, "--lines", str(count), "--json").out)["results"]
        assert all(len(hit["snippet"].split("\n")) <= max(count, 1) for hit in found)
        assert any(hit["snippet"] for hit in found) == (count > 0)
    full = sage(*words, "--lines", "20").out.split("\n")
    assert len(full) > len(sage(*words).out.split("\n"))


def test_the_first_result_says_how_much_is_left(harbor: Project, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(harbor.root)
    out = sage("search", "trim_ballast", "-n", "1", "--no-refresh").out
    assert out.startswith("src/harbor/ballast.py:1  function  trim_ballast")
    assert "... 55 more lines" in out


# -- parts ------------------------------------------------------------------------------------------------------------


def _hit(snippet: str, best: int, spans: tuple[tuple[int, int], ...]) -> Hit:
    return Hit(1, 1.0, "a", 1, 1, 9, "module", "", "", "text", "", snippet, 1, match_spans=spans, best_line=best)


def test_a_trimmed_hit_keeps_its_best_line_and_the_spans_of_what_is_left() -> None:
    hit = _hit("one\ntwo\nthree\nfour\nfive", 4, ((0, 3), (8, 13), (14, 18)))
    cut = trimmed(hit, 2)
    assert (cut.snippet, cut.snippet_line) == ("three\nfour", 3)
    assert [cut.snippet[start:stop] for start, stop in cut.match_spans] == ["three", "four"]
    assert trimmed(hit, 1).snippet == "four"
    assert trimmed(hit, 0).snippet == ""
    assert trimmed(hit, 5) is hit


def test_a_hit_below_a_tenth_of_the_first_is_weak() -> None:
    from dataclasses import replace

    hits = tuple(replace(_hit("x", 1, ()), score=score) for score in (0.5, 0.05, 0.0499))
    response = SearchResponse(parse_query("x"), "", "", hits, True, False, 0.0)
    assert [is_weak(hit, response) for hit in hits] == [False, False, True]


@pytest.mark.parametrize(
    ("query", "line", "text"),
    [
        ('find "no such file" please', 'raise OSError("No such file")', "No such file"),
        ("cannot open /tmp/x: denied", 'log("cannot open %s", path)', "cannot open"),
        ("the pool of the connection", "# the pool of", ""),
        ("connection pool is closed", "# a closed pool; the connection pool, too", "connection pool"),
        ("KeyError: 'token'", 'claims["token"]', "token"),
    ],
)
def test_the_longest_run_of_words_is_found(query: str, line: str, text: str) -> None:
    run = LiteralFinder(query).best_run(line)
    assert line[run.start : run.end] == text
    assert bool(run.value) == bool(text)


def test_a_qualified_name_is_no_literal_text_but_a_phrase_is() -> None:
    assert LiteralFinder("Server.start").literals == ()
    assert LiteralFinder('"content-length"').literals == ("content-length",)
    assert LiteralFinder("a long one").best_run("this is a long one").value > LITERAL_VALUE
    assert LiteralFinder("two\nlines here").literals == ()


def test_a_window_holds_the_only_match_even_behind_its_head() -> None:
    lines = [f"line {number}" for number in range(30)]
    lines[14] = "needle"
    source = FileText("\n" * 99 + "\n".join(lines))
    window = MatchedLines(LineMatcher(parse_query("needle")), source, 100, 129).best_window(100, 129, 12)
    assert window.first <= 114 <= window.last
    assert window.best == 114
    assert window.last - window.first == 11
