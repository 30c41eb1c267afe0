"""Pairing: which questions a definition is made to answer, and what they look like."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sage_code.chunk.embedded_text import embedded_text
from sage_code.languages.table import by_name
from sage_code.values import Chunk
from training.extract import Definition
from training.pair import comment_pairs, definition_code, doc_query, masked, package_pairs, says_something
from training.pair_rewording import (
    after,
    commit,
    drop_name,
    gerund,
    imperative,
    keywords,
    participle,
    question,
    sentences,
    third,
    words_of,
)

HALF = Definition(
    "function",
    "python",
    "a.py",
    "halve_number",
    "Maths.halve_number",
    "def halve_number(self, number)",
    "Divide a numerical value by two.\n\n    :param number: it",
    "def halve_number(self, number):\n    return number / 2",
    "e1",
    "n1",
)


def test_the_code_is_what_sage_embeds() -> None:
    chunk = Chunk("method", HALF.name, HALF.qualname, 1, 2, HALF.signature, "", HALF.code)
    assert definition_code(HALF) == embedded_text(chunk)
    cut_off = Chunk("method", HALF.name, HALF.qualname, 2, 2, HALF.signature, "", "    return number / 2")
    assert embedded_text(cut_off).startswith("Maths.halve_number\ndef halve_number(self, number)\n")


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("Parse the text. Then more.", ["Parse the text", "Then more"]),
        ("Parse e.g. a date, vs. a time", ["Parse e.g. a date, vs. a time"]),
        ("Parse the :class:`~a.Text` given\nhere.\n\nMore.", ["Parse the a.Text given here"]),
        ("Parse the {@link Text} in <code>x</code>.\n@param x y", ["Parse the Text in x"]),
        ("@param x the text", []),
        ("@return [String] the name of the file", ["Return the name of the file"]),
        ("@brief Parse the text.\n@param x y", ["Parse the text"]),
        ("Parse [the text](http://x.y/z) with `care`.", ["Parse the text with care"]),
        ("Parse the text\nArgs:\n  x: y", ["Parse the text"]),
        ("Parse version 1.2 of it.", ["Parse version 1.2 of it"]),
    ],
)
def test_sentences(doc: str, expected: list[str]) -> None:
    assert sentences(doc) == expected


def test_the_name_that_go_says_first_goes() -> None:
    assert drop_name("Open opens the named file", "Open") == "opens the named file"
    assert drop_name("Reader is an interface for reading", "Reader") == "an interface for reading"
    assert drop_name("Open it now", "Open") == "Open it now"
    assert drop_name("matCreate - Creates an empty matrix", "matCreate") == "Creates an empty matrix"
    assert drop_name("open_it() opens the named file", "open_it") == "opens the named file"


def test_what_says_something() -> None:
    assert doc_query(HALF) == "Divide a numerical value by two"
    assert not says_something("Halve number", "halve_number")
    assert not says_something("Halves the number", "halve_number")
    assert not says_something("Get the value", "value")
    assert not says_something("把数字除以二的函数 ok ok", "half")
    assert not says_something(" ".join(["word"] * 60), "half")


def test_words_of_names() -> None:
    assert words_of("parseHTTPResponse_v2") == ["parse", "http", "response", "v2"]


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("parse", ("parses", "parsed", "parsing")),
        ("get", ("gets", "got", "getting")),
        ("copy", ("copies", "copied", "copying")),
        ("push", ("pushes", "pushed", "pushing")),
        ("stop", ("stops", "stopped", "stopping")),
    ],
)
def test_forms_of_verbs(verb: str, expected: tuple[str, str, str]) -> None:
    assert (third(verb), participle(verb), gerund(verb)) == expected


def test_imperatives() -> None:
    assert imperative("Parses the text") == ("parse", "the text")
    assert imperative("This function returns the text") == ("return", "the text")
    assert imperative("Utility function to copy files") == ("copy", "files")
    assert imperative("The size of it") == ("", "The size of it")


def test_rewordings_do_not_look_like_documentation() -> None:
    sentence = "Parses the url into its parts"
    asked = {question(sentence, "python", random.Random(seed)) for seed in range(200)}
    assert {"how to parse the url into its parts", "where is the url parsed", "python parse url parts"} <= asked
    committed = {commit(sentence, "python", random.Random(seed)) for seed in range(200)}
    assert "fix parsing the url into its parts" in committed
    nouns = {question("The size of the window", "cpp", random.Random(seed)) for seed in range(100)}
    assert "where is the size of the window" in nouns
    assert "c++ size window" in nouns
    assert keywords("Parses the url into its parts", random.Random(1)) == "parses url parts"


def test_the_name_is_masked() -> None:
    assert masked(HALF) == "Maths\ndef _(self, number):\n    return number / 2"


def test_comments_inside_a_body() -> None:
    python = by_name("python")
    assert python is not None
    code = (
        "def f(self):\n    x = 1\n    # skip what has been seen before\n    if x in self.seen:\n        return None\n\n"
        "    # alone\n    return x"
    )
    item = Definition("function", "python", "a.py", "f", "f", "def f(self)", "", code)
    assert list(comment_pairs(item, python)) == [
        ("skip what has been seen before", "if x in self.seen:\n    return None")
    ]


def test_the_pairs_of_a_package() -> None:
    test = Definition("test", "python", "t.py", "test_halve_number_of_zero", "", "", "", "assert halve_number(0) == 0")
    section = Definition(
        "section", "markdown", "README.md", "Dividing by two", "", "", "", "Call `halve_number` with it."
    )
    head = Definition(
        "file", "python", "a.py", "a", "", "", "Arithmetic for very small children.", "import math\n", "e2", "n2"
    )
    pairs = list(package_pairs([HALF, test, section, head], "pypi/maths"))
    by_kind = {pair["kind"]: pair for pair in pairs}
    assert by_kind["doc"]["query"] == "Divide a numerical value by two"
    assert by_kind["test"]["query"] == "halve number of zero"
    assert by_kind["test"]["code"] == by_kind["doc"]["code"] == definition_code(HALF)
    assert by_kind["readme"]["query"].startswith("Dividing by two")
    assert by_kind["file"]["code"] == "import math\n"
    assert {pair["package"] for pair in pairs} == {"pypi/maths"}
    assert all("Divide a numerical" not in pair["code"] for pair in pairs)
    assert pairs == list(package_pairs([HALF, test, section, head], "pypi/maths"))


def test_a_name_that_means_two_functions_is_nobodys_test() -> None:
    test = Definition("test", "python", "t.py", "test_halve_number_of_zero", "", "", "", "halve_number(0)")
    assert not [pair for pair in package_pairs([HALF, HALF, test], "p") if pair["kind"] == "test"]


def test_the_rest_of_the_documentation_stands_beside_the_code() -> None:
    told = replace(HALF, doc="Divide a numerical value by two. Odd ones give a fraction.\n\n:param number: it")
    pairs = list(package_pairs([told], "p"))
    assert {pair["kind"] for pair in pairs} > {"doc"}
    for pair in pairs:
        rest = "Odd ones give a fraction. :param number: it" if "fraction" not in pair["query"] else ":param number: it"
        assert pair["more"] == (rest if pair["kind"] != "name" else "")
    assert after("Returns: @x", "not there") == ""
