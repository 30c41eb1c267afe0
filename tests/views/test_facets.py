"""What the search page is given: facets, lines with marks, symbols, exact text, memories, and the age of an index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sage_code import MemoryManager, Project
from sage_code.errors import UsageError
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.tiers.values import NewMessage
from sage_code.views.found.code_search import Finding
from sage_code.views.found.exact_search import find_symbols, find_text
from sage_code.views.found.facets import Candidate, Chosen, FacetValue, facets_of, is_test
from sage_code.views.found.freshness import IndexAges
from sage_code.views.found.marked_lines import Piece, marked_words, shown_lines
from sage_code.views.found.remembered import MemoryFinding

_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def indexed(sample: Path) -> str:
    """The sample with a test in it, indexed."""
    (sample / "tests").mkdir()
    (sample / "tests" / "test_server.py").write_text(
        "def test_connect_retries():\n    assert connect('a', retries=1)\n"
    )
    Project.open(sample).index()
    return os.path.realpath(sample)


def _candidates() -> list[Candidate]:
    return [
        Candidate("/a", "src/net/retry.py", "python", "function"),
        Candidate("/a", "src/net/pool.py", "python", "class"),
        Candidate("/a", "src/main.py", "python", "function"),
        Candidate("/b", "tests/test_retry.py", "python", "function"),
        Candidate("/b", "web/retry.ts", "typescript", "function"),
    ]


def test_candidates_are_counted_by_group() -> None:
    found = facets_of(_candidates(), _candidates(), Chosen())
    assert found.languages == (FacetValue("python", 4), FacetValue("typescript", 1))
    assert found.kinds == (FacetValue("function", 4), FacetValue("class", 1))
    assert found.folders == (FacetValue("src", 3), FacetValue("tests", 1), FacetValue("web", 1))
    assert found.projects == (FacetValue("/a", 3), FacetValue("/b", 2))
    assert (found.tests, found.others) == (1, 4)


def test_a_chosen_group_is_counted_without_the_choice_and_folders_lead_down() -> None:
    chosen = Chosen(languages=("typescript",), folders=("src",))
    inside = [one for one in _candidates() if chosen.allows(one.path)]
    found = facets_of(inside, _candidates(), chosen)
    assert found.languages == (FacetValue("typescript", 1, True), FacetValue("python", 4))
    assert found.folders == (FacetValue("src", 3, True), FacetValue("src/net", 2))


@pytest.mark.parametrize(
    ("chosen", "path", "allowed"),
    [
        (Chosen(folders=("src",)), "src/a.py", True),
        (Chosen(folders=("src",)), "src2/a.py", False),
        (Chosen(folders=("src",)), "lib/src/a.py", False),
        (Chosen(tests="no"), "tests/test_a.py", False),
        (Chosen(tests="only"), "tests/test_a.py", True),
        (Chosen(tests="only"), "src/a.py", False),
        (Chosen(), "anything", True),
    ],
)
def test_what_a_choice_allows(chosen: Chosen, path: str, allowed: bool) -> None:
    assert chosen.allows(path) is allowed


def test_a_search_with_choices(indexed: str) -> None:
    finding = Finding()
    every = finding.search("connect retries", [indexed], Chosen(), 12)
    assert every.good
    assert {hit.file for hit in every.hits} == {"server.py", "web/client.ts", "tests/test_server.py"}
    assert any(piece.mark == "match" for line in every.hits[0].lines for piece in line.pieces)
    script = finding.search("connect retries", [indexed], Chosen(languages=("typescript",)), 12)
    assert [hit.file for hit in script.hits] == ["web/client.ts"]
    assert FacetValue("python", 2) in script.facets.languages  # what else could be chosen
    without = finding.search("connect retries", [indexed], Chosen(tests="no"), 12)
    assert without.hits
    assert not any(is_test(hit.file) for hit in without.hits)
    folder = finding.search("connect retries", [indexed], Chosen(folders=("web",)), 12)
    assert [hit.file for hit in folder.hits] == ["web/client.ts"]
    assert len(finding.search("connect retries", [indexed], Chosen(), 1).hits) == 1
    with pytest.raises(UsageError):
        finding.search("connect in:elsewhere", [indexed], Chosen(), 12)


def test_several_projects_and_why_a_hit_was_found(indexed: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "radio.py").write_text('def connect_radio(retries):\n    """Connect to a radio."""\n    return retries\n')
    Project.open(other).index()
    finding, roots = Finding(), [indexed, os.path.realpath(other)]
    found = finding.search("connect radio retries", roots, Chosen(), 12)
    assert found.hits[0].root == roots[1]
    assert {one.value for one in found.facets.projects} <= set(roots)
    alone = finding.search("connect radio retries", roots[:1], Chosen(), 12)
    assert {hit.root for hit in alone.hits} == {roots[0]}
    explained = finding.explained("connect radio retries", roots[1], Chosen(), "radio.py")
    assert explained is not None
    assert explained[1].shares
    assert finding.explained("connect radio retries", roots[1], Chosen(), "nowhere.py") is None


def test_lines_are_marked_and_masked() -> None:
    text = f'key = "{_TOKEN}"\nfind key'
    first, second = shown_lines(text, 7, [(0, 3), (len(text) - 3, len(text))], best=8)
    assert (first.number, second.number, second.best) == (7, 8, True)
    assert first.pieces[0] == Piece("key", "match")
    assert [piece.mark for piece in first.pieces] == ["match", "", "masked", ""]
    assert second.pieces == (Piece("find "), Piece("key", "match"))
    assert _TOKEN not in repr((first, second))


def test_a_secret_of_several_lines_keeps_the_numbers() -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "MIIEowIBAAKCAQEA7bq8Zt0WmYx3vQeRk5uT1pLs9HjFcGdNaXo2BiKw4yEr6sUz\n" * 3
        + "-----END RSA PRIVATE KEY-----"
    )
    lines = shown_lines(f"before\n{key}\nafter", 1)
    assert [line.number for line in lines] == list(range(1, 8))
    assert lines[-1].pieces == (Piece("after"),)
    assert "MIIE" not in repr(lines)


def test_words_are_marked_in_code() -> None:
    assert marked_words("parseConfig(x)", ["config"]) == (Piece("parse"), Piece("Config", "match"), Piece("(x)"))
    assert marked_words("İ config", ["config"]) == (Piece("İ config"),)  # its lower case is longer


def test_symbols_by_the_beginning_of_their_name(indexed: str) -> None:
    found = find_symbols("conn", [indexed], Chosen(), 12)
    assert {(hit.file, hit.name) for hit in found.hits} == {("server.py", "connect"), ("web/client.ts", "connect")}
    assert [hit.file for hit in find_symbols("connect", [indexed], Chosen(languages=("python",)), 12).hits] == [
        "server.py"
    ]
    assert not find_symbols("nothing_like_it", [indexed], Chosen(), 12).good


def test_exact_text_and_patterns(indexed: str) -> None:
    found = find_text("[host] * retries", [indexed], Chosen(), 12)
    assert [(hit.file, hit.line) for hit in found.hits] == [("server.py", 19)]
    assert any(piece == Piece("[host] * retries", "match") for piece in found.hits[0].lines[0].pieces)
    assert {hit.file for hit in find_text(r"retries\s*=", [indexed], Chosen(tests="no"), 12, regex=True).hits} == {
        "server.py"
    }
    with pytest.raises(UsageError):
        find_text("(", [indexed], Chosen(), 12, regex=True)


def test_memories_about_a_question(indexed: str) -> None:
    memory = Project.open(indexed).memory
    thesis = f"Connections are tried three times because the host is slow; the key is {_TOKEN}"
    given = {"core_question": "How often do we connect?", "thesis": thesis, "confidence": 0.8}
    memory.save_checkpoint(given, auto_code_context=False, allow_secret=True)
    memory.save_knowledge(KnowledgeItem("slow-host", "The host is slow on Mondays.", keywords=("host",)))
    finding = MemoryFinding()
    assert finding.search("how often do we connect to the host", {indexed: memory}, 3)[0].kind == "checkpoint"
    with MemoryManager() as manager:
        manager.recall.add([NewMessage("user", "Why is the host so slow when we connect?", session="s1")])
    found = finding.search("why is the host slow when we connect", {indexed: memory}, 3, alone=True)
    assert {one.kind for one in found} == {"checkpoint", "knowledge", "said"}
    here = finding.search("why is the host slow when we connect", {indexed: memory}, 3, said_in=indexed, alone=True)
    assert {one.kind for one in here} == {"checkpoint", "knowledge"}  # it was said elsewhere
    assert _TOKEN not in repr(found)


def test_looking_for_what_was_said_makes_no_database(indexed: str, sage_home: Path) -> None:
    MemoryFinding().search("anything", {indexed: Project.open(indexed).memory}, 3)
    assert not (sage_home / "memory" / "memory.db").exists()


def test_an_index_is_old_until_it_is_brought_up_to_date(indexed: str) -> None:
    ages = IndexAges()
    assert ages.update(indexed).state == "fresh"
    Path(indexed, "new.py").write_text("def brand_new():\n    return 1\n")
    assert ages.age(indexed).state == "unknown"
    assert not find_symbols("brand_new", [indexed], Chosen(), 3).hits
    assert ages.update(indexed).state == "fresh"
    assert find_symbols("brand_new", [indexed], Chosen(), 3).hits
    for number in range(30):
        Path(indexed, f"many{number}.py").write_text(f"x = {number}\n")
    many = ages.update(indexed)
    assert many.state == "old"
    assert "30 files" in many.note
