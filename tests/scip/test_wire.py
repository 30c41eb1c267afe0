"""Hostile bytes: a reader ends with an error or an answer, whatever it is given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.scip import reader, wire
from sage_code.scip.reader import Occurrence, Relationship, ScipError, SymbolInfo, Tool
from sage_code.scip.writer import write_document, write_head


@given(st.integers(0, 2**64 - 1))
def test_varints_come_back(value: int) -> None:
    data = wire.encoded_varint(value)
    assert wire.varint(memoryview(data), 0) == (value, len(data))


@pytest.mark.parametrize(
    "data",
    [b"\xff" * 11, b"\x80", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05ab", b"\x00\x01", b"\x0b", b"\x09\x01"],
    ids=["endless", "cut", "huge length", "short", "field 0", "group", "fixed"],
)
def test_malformed_bytes_are_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(wire.WireError):
        list(wire.fields(data))
    path = tmp_path / "index.scip"
    path.write_bytes(data)
    with pytest.raises(ScipError, match="not a SCIP index"), reader.opened(str(path)) as index:
        list(index.documents())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.data())
def test_any_bytes_end_in_an_answer_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise.scip"
    with path.open("wb") as file:
        write_head(file, Tool("t", "1", "file:///x"))
        write_document(file, "a.py", "Python", 1, [Occurrence((0, 1, 0, 2), "t . . . a.", 1)], [SymbolInfo("x", 7)])
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:at] + noise + whole[at:])
    try:
        with reader.opened(str(path)) as index:
            index.tool()
            list(index.documents())
    except ScipError:
        pass


def test_what_is_written_is_read(tmp_path: Path) -> None:
    occurrences = [Occurrence((0, 1, 0, 4), "t . p . `a b`/C#m().", 1), Occurrence((3, 0, 5, 2), "local 1", 8)]
    symbols = [SymbolInfo("t . p . C#", 7, (Relationship("t . p . B#", True),))]
    with (tmp_path / "i").open("wb") as file:
        write_head(file, Tool("tool", "1.2", "file:///x"))
        write_document(file, "src/ü.py", "Python", reader.UTF16, occurrences, symbols)
    with reader.opened(str(tmp_path / "i")) as index:
        assert index.tool() == Tool("tool", "1.2", "file:///x")
        (document,) = index.documents()
    assert document == ("src/ü.py", "Python", reader.UTF16, None, occurrences, symbols, 0)


def test_absurd_ranges_are_counted(tmp_path: Path) -> None:
    bad = wire.field_numbers(1, [5, 9, 2]) + wire.field_text(2, "local 1")
    huge = wire.field_numbers(1, [2**40, 0, 1]) + wire.field_text(2, "local 1")
    (tmp_path / "i").write_bytes(
        wire.field_bytes(2, wire.field_text(1, "a.py") + wire.field_bytes(2, bad) + wire.field_bytes(2, huge))
    )
    with reader.opened(str(tmp_path / "i")) as index:
        (document,) = index.documents()
    assert (document.occurrences, document.absurd) == ([], 2)
