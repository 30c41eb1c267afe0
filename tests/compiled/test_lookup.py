"""Bisecting the compiled files finds what reading every line would find."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.compiled.generation import GenerationWriter
from sage_code.compiled.inventory import reading
from sage_code.compiled.lookup import SymbolFiles, normalise, open_symbols
from sage_code.compiled.symbols import SymbolWriter
from sage_code.errors import IndexCorrupt, NotIndexed
from sage_code.files import provenance
from sage_code.files.atomic import publish
from sage_code.languages.kinds import TABLES
from sage_code.paths import compiled_dir, generations_dir
from sage_code.store.rows import FileRows
from sage_code.values import Chunk, Symbol

Record = dict[str, Any]

KINDS = ("function", "method", "class", "constant", "interface")
OPERATORS = ("save!", "valid?", "name=", "operator->", "operator()", "operator/", "operator new[]", "/", "==", "[]")
names = st.one_of(
    st.sampled_from(OPERATORS),
    st.text(st.sampled_from("abAB_1\"\\'é\x01ßÜü$!💡"), min_size=1, max_size=5),
)
scopes = st.lists(st.text(st.sampled_from("ABab"), min_size=1, max_size=2), max_size=2)


@st.composite
def _symbols(draw: st.DrawFn) -> list[Symbol]:
    found = []
    for line in range(1, draw(st.integers(0, 25)) + 1):
        name = draw(names)
        qualname = ".".join([*draw(scopes), name])
        found.append(Symbol(draw(st.sampled_from(KINDS)), name, qualname, line, line, line, f"def {name}", "doc"))
    return found


def _write(root: str, symbols: Sequence[Symbol], path: str = "src/a b.py") -> None:
    folder = Path(generations_dir(root), "000001-test")
    folder.mkdir(parents=True)
    writer = SymbolWriter(str(folder))
    chunk = Chunk("module", "", "", 1, 99, "", "", "", tuple(symbols))
    writer.add(FileRows("key", path, "python", (chunk,), ("",), ("hash",), np.zeros((1, 2), np.float32)))
    writer.finish(None, ())
    provenance.note(root, folder.name, str(folder))
    publish(compiled_dir(root), str(folder))


def _fold(text: str, like: str) -> str:
    """Case is ignored for the letters of ASCII, and for all letters when the query has others."""
    return text.encode().lower().decode() if like.isascii() else text.casefold()


def _linear(symbols: Sequence[Symbol], query: str, *, ignore_case: bool, prefix: bool, kind: str | None) -> list[int]:
    """The lines of the matching symbols, by a linear scan."""
    wanted = normalise(query)
    bare = wanted.rpartition(".")[2] or wanted
    found = []
    for symbol in symbols:
        name, qualname, target, target_bare = symbol.name, symbol.qualname, wanted, bare
        if ignore_case:
            name, target_bare = _fold(name, bare), _fold(bare, bare)
            qualname, target = qualname.casefold(), wanted.casefold()
        named = name.startswith(target_bare) if prefix else name == target_bare
        if "." in wanted:
            qualified = f".{qualname}".find(f".{target}") >= 0 if prefix else f".{qualname}".endswith(f".{target}")
            named = named and qualified
        if named and kind in (None, symbol.kind):
            found.append(symbol.line)
    return sorted(found)


@given(_symbols(), st.data())
def test_find_equals_a_linear_scan(symbols: list[Symbol], data: st.DataObject) -> None:
    query = data.draw(names)
    if symbols:
        one = data.draw(st.sampled_from(symbols))
        forms = [one.name, one.qualname, one.name.swapcase(), one.qualname.swapcase(), one.name[:2], query]
        query = data.draw(st.sampled_from(forms))
    ignore_case, prefix = data.draw(st.booleans()), data.draw(st.booleans())
    kind = data.draw(st.none() | st.sampled_from(KINDS))
    with tempfile.TemporaryDirectory() as root:
        _write(root, symbols)
        found = SymbolFiles(compiled_dir(root)).find(query, ignore_case=ignore_case, prefix=prefix, kind=kind)
    expected = _linear(symbols, query, ignore_case=ignore_case, prefix=prefix, kind=kind)
    assert sorted(match["line"] for match in found) == expected


@given(_symbols())
def test_the_files_are_json_with_one_sorted_symbol_a_line(symbols: list[Symbol]) -> None:
    with tempfile.TemporaryDirectory() as root:
        _write(root, symbols)
        listed: list[Record] = []
        for table in TABLES:
            raw = Path(compiled_dir(root), f"{table}.json").read_bytes()
            document = json.loads(raw)
            assert document["table"] == table
            assert document["count"] == len(document["symbols"]) == SymbolFiles(compiled_dir(root)).counts()[table]
            lines = [line.rstrip(b",") for line in raw.split(b"\n")[1:-2]]
            assert lines == sorted(lines)
            assert [json.loads(line) for line in lines] == document["symbols"]
            listed += document["symbols"]
    assert sorted(record["line"] for record in listed) == [symbol.line for symbol in symbols]
    by_line = {record["line"]: record for record in listed}
    for symbol in symbols:
        fields = {key: getattr(symbol, key) for key in Symbol.__dataclass_fields__}
        assert by_line[symbol.line] == {**fields, "file": "src/a b.py", "language": "python"}


def _symbol(qualname: str, line: int = 1) -> Symbol:
    return Symbol("method", qualname.rpartition(".")[2], qualname, line, line, line)


@pytest.mark.parametrize(
    ("typed", "qualname"),
    [
        ("Server::run", "Server.run"),
        ("server->run()", "server.run"),
        ("Server#run", "Server.run"),
        ("app/Server", "app.Server"),
        (" run() ", "run"),
        ("Stack::operator->", "Stack.operator->"),
        ("operator()", "operator()"),
        ("Path::operator/", "Path.operator/"),
        ("Vector#/", "Vector./"),
        ("/", "/"),
        ("::", "::"),
    ],
)
def test_names_are_understood_as_languages_write_them(typed: str, qualname: str) -> None:
    assert normalise(typed) == qualname


def test_exact_names_come_first(tmp_path: Path) -> None:
    _write(str(tmp_path), [_symbol("Run", 1), _symbol("run", 2), _symbol("RUN", 3)])
    found = SymbolFiles(compiled_dir(str(tmp_path))).find("RUN", ignore_case=True)
    assert [match["name"] for match in found] == ["RUN", "Run", "run"]


def test_a_miss_offers_similar_names(tmp_path: Path) -> None:
    _write(str(tmp_path), [_symbol("connect", 1), _symbol("connects", 2), _symbol("zebra", 3)])
    assert SymbolFiles(compiled_dir(str(tmp_path))).nearest("conect") == ["connect", "connects"]
    assert SymbolFiles(compiled_dir(str(tmp_path))).nearest("") == []


def test_a_query_that_is_not_unicode_finds_nothing(tmp_path: Path) -> None:
    _write(str(tmp_path), [_symbol("run")])
    assert SymbolFiles(compiled_dir(str(tmp_path))).find("\udcff", ignore_case=True) == []
    assert SymbolFiles(compiled_dir(str(tmp_path))).find("\udcff") == []


def test_missing_and_damaged_files_say_what_to_do(tmp_path: Path, rows_of: Callable[..., FileRows]) -> None:
    root = str(tmp_path)
    with pytest.raises(NotIndexed, match="not indexed yet"):
        open_symbols(root)
    with GenerationWriter(root, "model", 8, None, set()) as writer:
        writer.add(rows_of("a.py", "def run():\n    pass\n"))
        writer.publish()
    functions = Path(compiled_dir(root), "functions.json")
    assert [match["name"] for match in open_symbols(root).find("run")] == ["run"]
    written = functions.stat()
    functions.write_bytes(functions.read_bytes().replace(b'"kind"', b'"kind '))
    with pytest.raises(IndexCorrupt, match=r"functions\.json is damaged"):
        open_symbols(root)
    # Damage that moved no time is found by the sum.
    os.utime(functions, ns=(written.st_atime_ns, written.st_mtime_ns))
    with pytest.raises(IndexCorrupt, match=r"functions\.json is damaged"):
        open_symbols(root).find("run")
    with pytest.raises(IndexCorrupt, match=r"functions\.json is damaged"), reading(root):
        open_symbols(root).find("run")
    with pytest.raises(
        IndexCorrupt, match=r"functions\.json is damaged"
    ):  # a reader has met it: the next one sees it at once
        open_symbols(root)
    functions.unlink()
    with pytest.raises(IndexCorrupt, match="incomplete"):
        open_symbols(root)
