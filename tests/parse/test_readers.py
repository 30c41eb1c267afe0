"""Readers of markup and data: spans, bounds, embedded languages, and chunks that follow them."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.chunk.chunker import chunk_text
from sage_code.chunk.lines import MAX_CHARS, split_lines
from sage_code.languages.table import Language, all_languages, by_name
from sage_code.parse.definitions import parse
from sage_code.parse.parsed import ParsedFile
from sage_code.values import Chunk, Symbol

READ = [language for language in all_languages() if language.reader]
FRAGMENTS = (
    *("# a", "a", "===", "---", "```", "<!--", "-->", "<script>", "</script>", "<h1>x</h1>", '<a id="b">', "", "é"),
    *(
        "{",
        "}",
        "[",
        "]",
        '"a": {',
        '"b": 1,',
        '"',
        "\\",
        "a:",
        "  b: c",
        "- d",
        "[s]",
        "k=v",
        "FROM a",
        "RUN <<E \\",
        "E",
    ),
    *('"cells": [', '"source": [', '"cell_type": "code",', '"def f():\\n",', "def f():"),
)


def parsed(name: str, text: str) -> ParsedFile:
    language = by_name(name)
    assert language is not None
    result = parse(text.encode(), language)
    assert result is not None
    return result


def symbols(name: str, text: str) -> dict[str, Symbol]:
    return {symbol.qualname: symbol for symbol in parsed(name, text).symbols}


def chunks(name: str, text: str) -> list[Chunk]:
    result = parsed(name, text)
    return chunk_text(text, result.symbols, result.borders)


class TestSections:
    def test_a_section_reaches_to_the_next_of_its_level(self) -> None:
        found = symbols("markdown", "# A\n\n## B\ntext\n\n### C\n## D\n# E\nlast\n")
        spans = {name: (symbol.start_line, symbol.end_line) for name, symbol in found.items()}
        assert spans == {"A": (1, 7), "A.B": (3, 6), "A.B.C": (6, 6), "A.D": (7, 7), "E": (8, 9)}

    def test_sections_are_chunks_of_their_own(self) -> None:
        text = "".join(f"## Part {number}\n\n{'word ' * 80}\n\n" for number in range(4))
        assert [chunk.name for chunk in chunks("markdown", text)] == ["Part 0", "Part 1", "Part 2", "Part 3"]
        assert {chunk.kind for chunk in chunks("markdown", text)} == {"module"}

    def test_tiny_sections_share_a_chunk(self) -> None:
        assert len(chunks("markdown", "## A\n\nx\n\n## B\n\ny\n")) == 1

    def test_a_long_section_is_cut_between_paragraphs_and_never_in_a_fence(self) -> None:
        fence = "```\n" + "code\n\n" * 150 + "```\n\n"
        text = "# A\n\n" + ("word " * 60 + "\n\n") * 10 + fence + ("word " * 60 + "\n\n") * 3
        cut = chunks("markdown", text)
        assert len(cut) > 3
        assert {chunk.qualname for chunk in cut} == {"A"}
        assert all(chunk.text.count("```") != 1 for chunk in cut)

    def test_windows_line_ends_change_nothing(self) -> None:
        assert list(symbols("markdown", "# A\r\n\r\n## B\r\n")) == ["A", "A.B"]


class TestKeys:
    def test_spans_of_keys(self) -> None:
        found = symbols("json", '{\n "a": {\n  "b": [\n   1\n  ],\n  "c": 2\n },\n "d": 3\n}\n')
        spans = {name: (symbol.start_line, symbol.end_line) for name, symbol in found.items()}
        assert spans == {"a": (2, 7), "a.b": (3, 5), "a.c": (6, 6), "d": (8, 8)}
        assert found["a.c"].signature == '"c": 2'

    @pytest.mark.parametrize("indent", [None, 0, 2, "\t"])
    def test_any_layout_has_the_same_keys(self, indent: int | str | None) -> None:
        data = {"a": {"b": {"x": [{"y": 1}]}, "c": "}"}, "d": [[1], {"e": 2}], "f": {"g": {}}}
        assert list(symbols("json", json.dumps(data, indent=indent))) == ["a", "a.b", "a.c", "d", "f", "f.g"]

    def test_a_large_file_is_cheap_and_its_keys_are_few(self) -> None:
        data = {f"key{number}": {f"inner{item}": "x" * 30 for item in range(30)} for number in range(600)}
        text = json.dumps(data, indent=2)[:900_000]
        start = time.process_time()
        result = parsed("json", text)
        assert len(result.symbols) <= 301
        assert time.process_time() - start < 0.5

    def test_data_is_cut_at_its_keys_and_a_large_value_is_named(self) -> None:
        data = {"small": 1, "large": {f"item{number}": "x" * 60 for number in range(100)}, "last": 2}
        cut = chunks("json", json.dumps(data, indent=2))
        assert any(chunk.qualname == "large" for chunk in cut)
        assert all(chunk.text.lstrip().startswith(('"', "{", "}")) for chunk in cut)
        assert all(len(chunk.text) <= MAX_CHARS for chunk in cut)

    def test_a_yaml_key_ends_before_the_comment_of_the_next(self) -> None:
        found = symbols("yaml", "a:\n  b: 1\n\n# of c\nc: 2\n")
        assert [(symbol.start_line, symbol.end_line) for symbol in found.values()] == [(1, 2), (2, 2), (5, 5)]


class TestMarkup:
    def test_a_script_keeps_its_lines_and_its_documentation(self) -> None:
        found = symbols("vue", "<template>\n</template>\n<script>\n// Adds.\nfunction add(a) {\n}\n</script>\n")
        assert (found["add"].start_line, found["add"].line, found["add"].end_line) == (4, 5, 6)
        assert (found["add"].docstring, found["add"].signature) == ("Adds.", "function add(a)")

    def test_lang_decides_between_javascript_and_typescript(self) -> None:
        assert "A" in symbols("svelte", '<script lang="ts">\ninterface A { b: string }\n</script>')
        assert "f" in symbols("svelte", "<script>\nexport function f() {}\n</script>")

    def test_blocks_of_a_component_are_not_mixed(self) -> None:
        text = f"<template>\n{'  <p>text</p>' * 60}\n</template>\n<script>\n{'call(1);' * 100}\n</script>\n" * 3
        assert all("<script" not in chunk.text or "<template" not in chunk.text for chunk in chunks("vue", text))

    def test_references_of_a_script(self) -> None:
        found = parsed("html", "<body>\n<script>\nfunction a() {}\na();\n</script>\n")
        assert [(reference.name, reference.line) for reference in found.references] == [("a", 4)]


class TestNotebook:
    def test_a_function_has_the_lines_of_the_notebook_file(self) -> None:
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["%time\n", "def f():\n", "    pass\n"]}
        text = json.dumps({"cells": [cell], "metadata": {}}, indent=1)
        line = next(number for number, line in enumerate(text.split("\n"), 1) if "def f" in line)
        found = symbols("jupyter", text)["f"]
        assert (found.line, found.end_line) == (line, line + 1)

    def test_another_kernel(self) -> None:
        cell = {"cell_type": "code", "source": "function f() {}"}
        text = json.dumps({"cells": [cell], "metadata": {"language_info": {"name": "javascript"}}})
        assert list(symbols("jupyter", text)) == ["f"]

    @pytest.mark.parametrize(
        "text",
        [
            '{"cells": 3}',
            '{"cells": [1, "x", []]}',
            '{"cells": [{"source": {"a": ["b"]}}]}',
            "[]",
            "{",
            '{"cells": [{"source',
        ],
    )
    def test_a_file_that_is_no_notebook_gives_nothing(self, text: str) -> None:
        assert parsed("jupyter", text).symbols == ()


@pytest.mark.parametrize("language", READ, ids=lambda language: language.name)
@settings(max_examples=60, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(FRAGMENTS),
        max_size=30,
    ).map("\n".join)
)
def test_every_line_of_any_text_is_in_one_chunk(language: Language, text: str) -> None:
    result = parse(text.encode(), language)
    assert result is not None
    last = len(split_lines(text))
    for symbol in result.symbols:
        assert 1 <= symbol.start_line <= symbol.line <= symbol.end_line <= max(1, last)
    cut = chunk_text(text, result.symbols, result.borders)
    assert [line for chunk in cut for line in range(chunk.start_line, chunk.end_line + 1)] == list(range(1, last + 1))
