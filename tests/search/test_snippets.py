"""A hit carries the offsets of its matching words, so that a face only prints them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sage_cli.output import END, MARK
from sage_code import Project
from sage_code.search import query as query_module
from sage_code.search.query import parse_query
from sage_code.search.results import Hit, within
from sage_code.search.snippets import LineMatcher


@pytest.fixture
def project(sample: Path) -> Project:
    found = Project.open(sample)
    found.index()
    return found


def _words(hit: Hit) -> list[str]:
    return [hit.snippet[start:stop] for start, stop in hit.match_spans]


def test_forms_and_parts_of_words_match() -> None:
    text = "def parse_all(self):\n\n    return self.PARSER.unparsed  # nothing\nx = 'naïve $parsing', reParse"
    spans = LineMatcher(parse_query("how is it parsed")).spans(text)
    assert [text[start:stop] for start, stop in spans] == ["parse_all", "PARSER", "reParse"]


@pytest.mark.parametrize("query", ["i", "y", "İı parse", "ß", "$", "a_b"])
def test_odd_words_and_letters_that_change_their_length_do_no_harm(query: str) -> None:
    text = "İ = parse(ß, $x, a_b) + 'i y'  # İ\n\n$"
    words = parse_query(query if query != "$" else "$ x")
    spans = LineMatcher(words).spans(text)
    assert all(text[start:stop].strip() for start, stop in spans)
    assert list(spans) == sorted(set(spans))


def test_the_hits_of_a_search_and_of_a_quick_look_carry_their_matches(project: Project) -> None:
    for response in (project.search("reach a host"), project.quick_look("reach a host")):
        assert response.results
        for hit in response.results:
            assert all("host" in word.lower() or "reach" in word.lower() for word in _words(hit))
        assert _words(response.results[0])


def test_a_cut_snippet_has_only_the_matches_that_are_left(project: Project) -> None:
    response = project.search("host port")
    whole, cut = response.results[0], within(response, 20).results[0]
    assert len(cut.snippet) < len(whole.snippet)
    assert _words(cut) == _words(whole)[: len(cut.match_spans)]
    assert len(cut.match_spans) < len(whole.match_spans)


def test_a_search_parses_its_query_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counting(text: str, *more: query_module.Filters) -> query_module.Query:
        parsed.append(text)
        return parse_query(text, *more)

    monkeypatch.setattr(query_module, "parse_query", counting)
    assert project.search("reach a host", everywhere=True).parsed.text == "reach a host"
    assert parsed == ["reach a host"]


def test_matches_are_marked_on_a_terminal(project: Project) -> None:
    (Path(project.root) / "server.py").write_text('def reach(host):\n    """Reach \x1b a host."""\n    return host\n')
    program = "import sys; sys.argv[0] = 'sage'; from sage_cli.entry import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    screen, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-c", program, "search", "reach a host", "-n", "1"],
        cwd=project.root, env=environment, stdin=terminal, stdout=terminal, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(screen, 4096)
            except OSError:  # how Linux says that the other end is closed
                break
            if not piece:
                break
            shown += piece
        process.wait()
    os.close(screen)
    text = shown.decode()
    assert f"def {MARK}reach{END}({MARK}host{END}):" in text
    assert rf"{MARK}Reach \x1b a host{END}" in text  # the words stand there as they were asked for
