"""Chunks: a partition of the lines, whole definitions where they fit, statement borders where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.chunk.chunker import chunk_plain, chunk_text
from sage_code.chunk.embedded_text import embedded_text
from sage_code.chunk.lines import MAX_CHARS, split_lines
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.languages.table import by_name, detect
from sage_code.parse.definitions import parse
from sage_code.parse.parsed import ParsedFile
from sage_code.values import Chunk, Symbol

TOP = Path(__file__).parents[2]
SAMPLES = sorted((TOP / "fixtures" / "languages").glob("*/sample.*"))
SOURCES = [*SAMPLES, *sorted((TOP / "sage_code").rglob("*.py"))]

lines = st.text(st.sampled_from("ab {}()=;#é\t"), max_size=120)
texts = st.lists(lines, max_size=120).map("\n".join)


def _parsed(text: str, language: str) -> ParsedFile:
    known = by_name(language)
    assert known is not None
    parsed = parse(text.encode(), known)
    assert parsed is not None
    return parsed


def _chunk(text: str, language: str = "python") -> list[Chunk]:
    parsed = _parsed(text, language)
    return chunk_text(text, parsed.symbols, parsed.borders)


def _assert_partition(text: str, chunks: Sequence[Chunk]) -> None:
    """Every line in exactly one chunk, in order, with its text."""
    expected = split_lines(text)
    covered = [line for chunk in chunks for line in range(chunk.start_line, chunk.end_line + 1)]
    assert covered == list(range(1, len(expected) + 1))
    assert [line for chunk in chunks for line in chunk.text.split("\n")] == expected


def _assert_symbols_once(symbols: Sequence[Symbol], chunks: Sequence[Chunk]) -> None:
    """Each symbol in exactly one chunk, the one that holds its line."""
    assert Counter(symbol for chunk in chunks for symbol in chunk.symbols) == Counter(symbols)
    for chunk in chunks:
        assert all(chunk.start_line <= symbol.line <= chunk.end_line for symbol in chunk.symbols)


@st.composite
def _files(draw: st.DrawFn) -> tuple[str, list[Symbol], list[int]]:
    """A text with definitions anywhere in it: nested, touching, overlapping, on one line."""
    text = draw(texts)
    last = len(split_lines(text))
    if not last:
        return text, [], []
    symbols = []
    for number in range(draw(st.integers(0, 12))):
        start, line, end = sorted(draw(st.lists(st.integers(1, last), min_size=3, max_size=3)))
        symbols.append(Symbol(draw(st.sampled_from(list(CHUNK_KIND))), f"s{number}", f"s{number}", line, start, end))
    return text, symbols, draw(st.lists(st.integers(1, last), unique=True).map(sorted))


@given(_files())
def test_any_file_with_any_definitions_is_partitioned(file: tuple[str, list[Symbol], list[int]]) -> None:
    text, symbols, cuts = file
    chunks = chunk_text(text, symbols, lambda start, end: [line for line in cuts if start < line <= end])
    _assert_partition(text, chunks)
    _assert_symbols_once(symbols, chunks)


@given(texts)
def test_plain_text_is_partitioned_into_bounded_pieces(text: str) -> None:
    chunks = chunk_plain(text)
    _assert_partition(text, chunks)
    assert all(chunk.kind == "fallback" for chunk in chunks)
    assert all(len(chunk.text) <= MAX_CHARS for chunk in chunks if chunk.start_line < chunk.end_line)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_real_files_are_partitioned_with_each_symbol_once(path: Path) -> None:
    text = path.read_text()
    language = detect(path.name, text.encode())
    assert language is not None
    parsed = _parsed(text, language.name)
    chunks = chunk_text(text, parsed.symbols, parsed.borders)
    _assert_partition(text, chunks)
    _assert_symbols_once(parsed.symbols, chunks)
    # A closing bracket may join a piece that is full already; nothing else may.
    assert all(len(chunk.text) <= MAX_CHARS + 80 for chunk in chunks)


def test_an_oversized_function_is_cut_where_statements_begin() -> None:
    statements = [
        f"    result_{number} = call(\n        first_{number},\n        second,\n    )\n" for number in range(80)
    ]
    text = "def long(first):\n" + "".join(statements)
    chunks = _chunk(text)
    assert len(chunks) > 3
    assert {chunk.kind for chunk in chunks} == {"function"}
    assert {chunk.qualname for chunk in chunks} == {"long"}
    assert all(chunk.text.lstrip().startswith(("def long", "result_")) for chunk in chunks)
    assert all(chunk.text.endswith("    )") for chunk in chunks)
    assert all(400 < len(chunk.text) <= MAX_CHARS for chunk in chunks)


def test_a_function_that_fits_stays_whole() -> None:
    body = "".join(f"    step_{number}(first)\n" for number in range(80))
    text = f"import os\n\n\ndef middling(first):\n{body}\n\nLAST = 1\n"
    chunk = next(chunk for chunk in _chunk(text) if chunk.kind == "function")
    assert MAX_CHARS / 2 < len(chunk.text) < MAX_CHARS
    assert "def middling" in chunk.text
    assert "step_79" in chunk.text


def test_tiny_neighbours_share_a_chunk_named_after_the_largest() -> None:
    getters = [f"def {name}():\n    return 1\n\n\n" for name in "ac"]
    text = getters[0] + "def bigger(x, y):\n    total = x + y\n    return total\n\n\n" + getters[1]
    (chunk,) = _chunk(text)
    assert chunk.name == "bigger"
    assert [symbol.name for symbol in chunk.symbols] == ["a", "bigger", "c"]


def _class(methods: int) -> str:
    body = "".join(
        f"    def method_{number}(self):\n        '''Does step {number}.'''\n" + f"        work({number})\n" * 20
        for number in range(methods)
    )
    about = "    '''Turns and turns.\n" + "    It needs oil now and then.\n" * 8 + "    '''\n"
    return f"class Machine:\n{about}\n    SPEED = 3\n\n{body}"


def test_a_small_class_is_one_chunk_and_a_large_one_has_a_chunk_a_method() -> None:
    (small,) = _chunk(_class(1))
    assert (small.kind, small.name) == ("class", "Machine")
    large = _chunk(_class(6))
    assert [(chunk.kind, chunk.qualname) for chunk in large] == [
        ("class", "Machine"),
        *(("method", f"Machine.method_{number}") for number in range(6)),
    ]


def test_a_run_of_constants_is_a_constant_chunk() -> None:
    (chunk,) = _chunk("".join(f"LIMIT_{number} = {number}\n" for number in range(9)))
    assert chunk.kind == "constant"
    assert len(chunk.symbols) == 9


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk_plain("") == []
    assert _chunk("") == []


def test_what_is_embedded_leads_with_the_scope_and_repeats_no_signature() -> None:
    method = _chunk(_class(6))[1]
    assert embedded_text(method) == f"Machine.method_0\n{method.text}"
    continued = Chunk("function", "f", "f", 9, 9, "def f(a, b)", "", "    return a")
    assert embedded_text(continued) == "f\ndef f(a, b)\n    return a"
    assert embedded_text(Chunk("fallback", "", "", 1, 1, "", "", "text")) == "text"
