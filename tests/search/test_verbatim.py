"""Text that stands word for word in a few places of a project comes first and is shown at its line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.search.literals import quoted_texts
from sage_code.search.query import parse_query
from sage_code.search.results import Hit, document
from sage_code.search.verbatim import asked_texts

LONG_WORD = "k" * 70
FILES = {
    "src/gangway.py": (
        "def lower(ship):\n    if ship.moving:\n"
        '        raise RuntimeError(f"gangway of {ship} must not move: stop first!")\n'
        "    return ship.gangway.down()\n"
    ),
    "src/moor.go": (
        'package moor\n\nfunc Tie(n int) error {\n\treturn fmt.Errorf("only %d of the 4 lines hold", n)\n}\n\n'
        'func Log() {\n\tlog.Print("\\nanchor chain slipped twice\\n")\n}\n'
    ),
    "src/tide.rs": (
        "// The tide is measured hourly; Ebb is written so once.\n"
        "pub fn ebb() -> f64 { 0.0 }\npub fn flow() -> f64 { 1.0 }\n"
        'pub const KEY: &str = "' + LONG_WORD + '";\n'
    ),
    "src/pilot.ts": "export const größe = 12\nexport function board(pilot: string) {\n  return `${pilot} a b`\n}\n",
    "src/manifest_reader.py": "class Reader:\n    def read(self, path):\n        return open(path).read()\n",
    "src/use.py": "from manifest_reader import Reader\n\nreader = Reader()\n",
    "src/signals.py": "def hoist(flag):\n    return flag\n\n\nclass Beacon:\n    pass\n\n\nTWO = 'stern lantern lit'\n",
    "docs/notes.md": "# Notes\n\nThe words lines, hold, only and stop first stand here apart, and a beacon burns.\n",
    "src/lights.py": "".join(f"def light_{number}():\n    return 'lamp'\n\n\n" for number in range(40))
    + "LAMP = 'Lamp oil is low, refill at pier path:seven'\n",
}


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[Project]:
    """A small project with messages and rare words of several languages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        root = tmp_path_factory.mktemp("verbatim")
        for path, text in FILES.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        for number in range(60):  # the word `ebb` in many files, in small letters
            (root / "src" / f"tide_{number}.py").write_text(
                f"def ebb_{number}():\n    ebb = {number}\n    return ebb\n"
            )
        project = Project(str(root))
        project.index()
        yield project


def _first(project: Project, text: str) -> Hit:
    response = project.search(text, refresh=False)
    assert response.good
    return response.results[0]


@pytest.mark.parametrize(
    ("text", "file", "line"),
    [
        ("must not move: stop first!", "src/gangway.py", 3),  # signs, stop words
        ("} must not move: stop", "src/gangway.py", 3),
        ("of the 4 lines hold", "src/moor.go", 4),  # a number, a word that the notes have too
        ("anchor chain slipped twice", "src/moor.go", 8),  # `\n` makes the word `nanchor` of it
        ("Ebb", "src/tide.rs", 1),  # a rare spelling of a common word
        (LONG_WORD, "src/tide.rs", 4),  # too long for the index
        ("größe", "src/pilot.ts", 1),
        ("a b`", "src/pilot.ts", 3),  # words of one letter
        ("hourly", "src/tide.rs", 1),
        ("stern lantern lit", "src/signals.py", 9),
        ("Lamp oil is low, refill at pier", "src/lights.py", 161),
    ],
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_literal_comes_first_at_its_line(harbor: Project, text: str, file: str, line: int, quote: str) -> None:
    hit = _first(harbor, f"{quote}{text}{quote}")
    assert (hit.file, hit.line) == (file, line)
    assert hit.snippet_line <= line <= hit.snippet_line + hit.snippet.count("\n")
    assert hit.score > 0.9


def test_what_looks_like_a_filter_is_text_in_quotes(harbor: Project) -> None:
    assert _first(harbor, '"refill at pier path:seven"').line == 161
    assert parse_query("refill path:seven").filters.paths == ("seven",)
    assert parse_query('"refill" path:"a b"').filters.paths == ("a b",)


def test_a_quoted_part_of_a_question_is_found(harbor: Project) -> None:
    assert _first(harbor, 'where do we say "stern lantern lit" to the pilot').file == "src/signals.py"


def test_a_word_may_mean_a_file_or_a_class_and_in_quotes_means_itself(harbor: Project) -> None:
    assert _first(harbor, "manifest_reader").file == "src/manifest_reader.py"
    assert _first(harbor, '"manifest_reader"').file == "src/use.py"
    assert _first(harbor, "beacon").file == "src/signals.py"
    assert _first(harbor, '"beacon"').file == "docs/notes.md"


def test_words_that_only_prose_has_may_be_a_question(harbor: Project) -> None:
    response = harbor.search("stand here apart", explain=True, refresh=False)
    assert response.good
    assert all("verbatim" not in row["explain"] for row in document(response)["results"])
    assert _first(harbor, '"stand here apart"').line == 3


def test_filters_do_not_make_a_common_word_rare(harbor: Project) -> None:
    hit = _first(harbor, "ebb path:tide.rs")
    assert (hit.file, hit.line, hit.name) == ("src/tide.rs", 2, "ebb")
    assert _first(harbor, "hourly path:src").file == "src/tide.rs"
    assert all(hit.file != "src/tide.rs" for hit in harbor.search("hourly path:docs", refresh=False).results)


def test_an_explanation_says_so_and_adds_up(harbor: Project) -> None:
    response = harbor.search("hourly", explain=True, refresh=False)
    row = document(response)["results"][0]
    assert row["explain"]["verbatim"] > 0
    total = sum(row["explain"].values()) + row["arithmetic"]["bias"]
    assert total == pytest.approx(row["arithmetic"]["total"], abs=0.02)
    assert row["score"] == pytest.approx(row["arithmetic"]["answers"] * row["arithmetic"]["relevance"], abs=0.001)
    assert all("verbatim" not in other["explain"] for other in document(response)["results"][1:])


def test_a_text_over_several_chunks_is_found(harbor: Project) -> None:
    text = FILES["src/lights.py"]
    piece = "\n".join(text.split("\n")[30:40])
    hit = _first(harbor, piece)
    assert hit.file == "src/lights.py"
    assert hit.line == 33  # the first that is not empty


def test_a_file_that_changed_after_it_was_indexed_is_still_found_by_its_words(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def keel():\n    return 'barnacles scraped off'\n")
    (tmp_path / "b.py").write_text("def mast():\n    return 1\n")
    project = Project(str(tmp_path))
    project.index()
    os.remove(tmp_path / "a.py")
    response = project.search("barnacles scraped off", refresh=False)
    assert response.good
    assert response.results[0].file == "a.py"


def test_a_file_that_is_called_like_a_rare_word_answers(tmp_path: Path) -> None:
    (tmp_path / "keelhaul.py").write_text("def scrape():\n    return 1\n")
    (tmp_path / "conf.py").write_text("EXTENSIONS = ['keelhaul']\n" + "x = 1\n" * 40)
    project = Project(str(tmp_path))
    project.index()
    response = project.search("keelhaul", refresh=False)
    assert response.good
    assert {hit.file for hit in response.results} == {"keelhaul.py", "conf.py"}


def test_what_may_be_meant_literally() -> None:
    assert quoted_texts("'a b'") == ("a b", ["a b"])
    assert quoted_texts('it\'s "a b" `cd`') == ('it\'s "a b" `cd`', ["a b", "cd"])
    assert [(one.text, one.is_quoted) for one in asked_texts(parse_query('find "two words" and `name`'))] == [
        ('find "two words" and `name`', False),
        ("two words", True),
    ]
    assert asked_texts(parse_query("\n".join(f"line {number} of a long report" for number in range(40)))) == []


def test_a_question_that_a_script_asks_too_is_still_a_question(tmp_path: Path) -> None:
    asked = "how is a ledger page sealed"
    (tmp_path / "demo.mk").write_text(f'demo:\n\tsage search "{asked}"\n')
    (tmp_path / "ledger.py").write_text(
        'def seal_page(page):\n    """Seal one page of the ledger."""\n    page.seal()\n'
    )
    project = Project(str(tmp_path))
    project.index()
    assert _first(project, asked).file == "ledger.py"
    assert _first(project, f'"{asked}"').file == "demo.mk"
