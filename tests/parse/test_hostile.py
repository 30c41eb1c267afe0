"""Files that once took minutes or gigabytes, most of them found by `benchmarks/fuzz.py`, now take linear time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from sage_code.chunk.chunker import chunk_text
from sage_code.languages.table import by_name, detect
from sage_code.parse.definitions import parse
from sage_code.parse.imports import imported
from sage_code.parse.parsed import ParsedFile
from sage_code.parse.preprocessor import preprocessed

# Processor time: a busy machine is no failure. Most of these took from three times this to hours.
LIMIT_S = 4.0


def parsed(name: str, text: str) -> ParsedFile:
    """`text` parsed, with a longer time limit than the test may take."""
    language = by_name(name)
    assert language is not None
    parse(b"", language)  # grammar and queries are loaded once
    started = time.process_time()
    found = parse(text.encode(), language, 600.0)
    assert time.process_time() - started < LIMIT_S
    assert found is not None
    return found


HEADINGS = {
    "emphasis that never ends": ("markdown", "# " + "*a " * 310 + "\n", 1000),
    "backticks only": ("markdown", "# " + "`" * 900 + "\n", 400),
    "blanks in a title": ("org", "* a" + " " * 900 + "x\n", 1000),
    "roles in a title": ("rst", "a:" * 450 + "\n" + "=" * 960 + "\n\n", 500),
}


@pytest.mark.parametrize(("name", "heading", "times"), HEADINGS.values(), ids=HEADINGS)
def test_titles_full_of_marks(name: str, heading: str, times: int) -> None:
    assert len(parsed(name, heading * times).symbols) == times


def test_a_notebook_with_one_line_in_a_hundred_thousand_strings() -> None:
    strings = ", ".join(['"a"'] * 100_000)
    text = f'{{"cells": [{{"cell_type": "code", "source": ["def f():\\n", " return ", {strings}]}}]}}'
    assert [symbol.name for symbol in parsed("jupyter", text).symbols] == ["f"]


def test_thousands_of_blocks_and_pieces() -> None:
    """Each piece asks for its borders, and the answer does not scan all blocks of the file."""
    text = ("<template>\n" + "a\n" * 1200) * 300
    found = parsed("vue", text)
    started = time.process_time()
    chunks = chunk_text(text, found.symbols, found.borders)
    assert time.process_time() - started < LIMIT_S
    assert (chunks[0].start_line, chunks[-1].end_line) == (1, text.count("\n"))


NESTED = 30_000
REPAIRS = {
    "conditionals inside conditionals": ("conditionals", b"#if A\n" * NESTED + b"#endif\n" * NESTED),
    "branches inside branches": ("fsharp", b"#if A\n#else\n" * NESTED + b"#endif\n" * NESTED),
    "a method that never ends": ("macros", b"- (x\n" * NESTED),
    "words in lines": ("macros", b"AAA bbb\n" * NESTED),
    "long lines of blanks": ("macros", (b"AAA" + b" " * 3000 + b"\n") * 300),
    "macros alone": ("macros", b";\nAAA\n" * NESTED),
    "comments that go on": ("macros", b"#define a /* \\\n" * NESTED),
}


@pytest.mark.parametrize(("how", "source"), REPAIRS.values(), ids=REPAIRS)
def test_preprocessing_is_linear_for_hostile_source(how: str, source: bytes) -> None:
    started = time.process_time()
    assert len(preprocessed(source, how)) == len(source)
    assert time.process_time() - started < LIMIT_S


IMPORTS = {
    "a word": ("go", "import " + "a" * 30_000),
    "comments in a string": ("javascript", 'import x from "' + "/*" * 15_000 + '"'),
    "brackets": ("c", "#include " + "<" * 30_000),
    "braces": ("solidity", 'import "a" ' + "{" * 30_000),
    "a tree": ("rust", "use " + "a::{" * 6_000 + "b" + "}" * 6_000 + ";"),
}


@pytest.mark.parametrize(("language", "statement"), IMPORTS.values(), ids=IMPORTS)
def test_text_that_looks_like_an_import_is_read_in_linear_time(language: str, statement: str) -> None:
    started = time.process_time()
    assert len(imported(language, statement.encode())) <= 1
    assert time.process_time() - started < LIMIT_S / 4


@pytest.mark.parametrize("path", ["a.h", "a.m", "a.pl", "a.v", "a.ts", "a.cls", "a.pp"])
@pytest.mark.parametrize(
    "head", [b"x" + b"\n" * 32_000, b"x" * 32_000, b"end" + b" " * 32_000 + b"x", b"class A\n" * 4_000]
)
def test_detection_reads_a_head_once(path: str, head: bytes) -> None:
    started = time.process_time()
    assert detect(path, head) is not None
    assert time.process_time() - started < LIMIT_S / 8


def test_references_in_deep_code() -> None:
    """`captures` compared each node with every unfinished match, which took a minute and ignored the time limit."""
    found = parsed("cmake", "set(a\n" + "if (x) {\n" * 5_000 + "add_library(b c)\n")
    assert len(found.references) < 20_000


def test_qualified_names_of_deeply_nested_classes_stay_short() -> None:
    found = parsed("java", "class A {\n" * 20_000)
    assert sum(len(symbol.qualname) for symbol in found.symbols) < 30_000_000


def test_comments_that_are_closed_but_never_opened() -> None:
    assert len(parsed("java", "class A {\n" + "*/\nint a;\n" * 20_000).symbols) > 19_000


def test_an_expression_is_no_name() -> None:
    found = parsed("go", f"package a\n\nfunc f() {{\n\t{'(' * 300}g{')' * 300}()\n}}\n")
    assert [reference.kind for reference in found.references] == ["call"]
    assert all(len(reference.name) <= 200 for reference in found.references)


def test_an_embedded_script_gets_the_remaining_time() -> None:
    page = by_name("html")
    assert page is not None
    text = b"<h1>Title</h1>\n<script>function f() {}</script>\n"
    names = {
        budget: [s.name for s in found.symbols] for budget in (5.0, 0.0, 5.0) if (found := parse(text, page, budget))
    }
    assert names == {5.0: ["Title", "f"], 0.0: ["Title"]}


# What a child does: one that hangs can be ended, this process could not.
CHILD = """
import sys
from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
for text in sys.argv[2:]:
    assert parse(text.encode(), by_name(sys.argv[1])) is not None
"""


def test_a_file_that_ends_inside_a_comment() -> None:
    """Perl's scanner searched for the end of the line for ever, in native code that ignores the time limit."""
    texts = ["X #", 'EXPORT #[a]<?php """', "X #\r", "=pod", "<<A", "sub f { # "]
    subprocess.run([sys.executable, "-c", CHILD, "perl", *texts], check=True, timeout=60)


@pytest.mark.parametrize("name", ["perl", "fsharp", "dart"])
def test_grammars_that_may_crash_or_hang_run_in_workers(name: str) -> None:
    """Perl crashes on nested strings, F# on some flipped bytes; Dart's scanner reads to the end of the file from each
    unknown character. tests/chunk/test_workers.py tests a crash."""
    language = by_name(name)
    assert language is not None
    assert language.may_crash
