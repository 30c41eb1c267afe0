"""The overlay of a tool: what its index says about the files of a project, as columns in one mapped file.

Occurrences are sorted by file and line, a second order sorts them by symbol, and definitions are sorted by name. Every
file has the hash of the content that was read when the index was imported. `files/private.py` names the folder: a
clone cannot bring an overlay, so what is in one was imported by this user.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.sections import Strings, pack_strings, read_sections, write_sections
from sage_code.errors import IndexCorrupt, UsageError
from sage_code.files.atomic import PRIVATE_FILE, remove
from sage_code.files.private import make_private, private_name
from sage_code.paths import codebase_dir

# 1: the first format.
FORMAT = 1
_SUFFIX = ".overlay"
_HASH_BYTES = 16
# Kinds of occurrences by their number in a column.
KINDS = ("use", "call", "import", "inherit", "type", "definition")
_DEFINITION = KINDS.index("definition")


class Found(NamedTuple):
    """An occurrence of a symbol."""

    file: str
    line: int
    column: int  # of its first character, from 0
    kind: str
    scope: str
    symbol: int


class Defined(NamedTuple):
    """A definition of a symbol."""

    symbol: int
    file: str
    qualname: str
    kind: str
    line: int
    is_indexed: bool  # whether Sage's index has it too


class OverlayBuilder:
    """Collects the columns of an overlay, file by file."""

    def __init__(self) -> None:
        self._texts: dict[str, int] = {}
        self._symbols: dict[str, int] = {}
        self._files: list[str] = []
        self._hashes: list[bytes] = []
        self._first = [0]
        self._occurrences = {name: array("I") for name in ("line", "column", "symbol", "kind", "scope", "name")}
        self._definitions: list[tuple[str, int, int, int, int, int, int]] = []

    def __len__(self) -> int:
        return self._first[-1]

    @property
    def files(self) -> int:
        """How many files were added."""
        return len(self._files)

    @property
    def definitions(self) -> int:
        """How many definitions were added."""
        return len(self._definitions)

    def symbol(self, symbol: str) -> int:
        """The number of a symbol."""
        return self._symbols.setdefault(symbol, len(self._symbols))

    def add_file(self, path: str, content_hash: str, rows: Sequence[tuple[int, int, int, int, str, str]]) -> None:
        """Add a file with its occurrences: line, column, symbol, kind, scope and name, by line and column."""
        self._files.append(path)
        self._hashes.append(bytes.fromhex(content_hash))
        columns = self._occurrences
        for line, column, symbol, kind, scope, name in rows:
            columns["line"].append(line)
            columns["column"].append(column)
            columns["symbol"].append(symbol)
            columns["kind"].append(kind)
            columns["scope"].append(self._text(scope))
            columns["name"].append(self._text(name))
        self._first.append(len(columns["line"]))

    def add_definition(self, symbol: int, qualname: str, kind: str, line: int, is_indexed: bool) -> None:
        """Add a definition in the file that is added next."""
        name = qualname.rpartition(".")[2]
        row = (len(self._files), self._text(qualname), self._text(kind), line, symbol, int(is_indexed))
        self._definitions.append((name, *row))

    def save(self, path: str, meta: Mapping[str, object]) -> None:
        """Write the overlay."""
        occurrences = {f"occ_{name}": np.frombuffer(column, np.uint32) for name, column in self._occurrences.items()}
        if not len(self):
            occurrences = {name: np.empty(0, np.uint32) for name in occurrences}
        order = np.argsort(occurrences["occ_symbol"], kind="stable").astype(np.uint32)
        counts = np.bincount(occurrences["occ_symbol"], minlength=len(self._symbols))
        defined = sorted(self._definitions)
        arrays: dict[str, NDArray[Any]] = dict(occurrences)
        arrays["occ_kind"] = arrays["occ_kind"].astype(np.uint8)
        arrays |= {"by_symbol": order, "symbol_first": np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)}
        arrays |= {"file_first": np.array(self._first, np.uint32)}
        arrays |= {"file_hash": np.frombuffer(b"".join(self._hashes), np.uint8).reshape(-1, _HASH_BYTES)}
        for at, name in enumerate(("file", "qualname", "kind", "line", "symbol", "indexed"), 1):
            arrays[f"def_{name}"] = np.array([row[at] for row in defined], np.uint32)
        for name, strings in (
            ("files", self._files),
            ("texts", list(self._texts)),
            ("def_name", [row[0] for row in defined]),
        ):
            packed = [text.encode("utf-8", "surrogatepass") for text in strings]
            arrays[f"{name}_at"], arrays[name] = pack_strings(packed)
        temporary = f"{path}.{os.urandom(6).hex()}.tmp"
        try:
            write_sections(temporary, {**meta, "format": FORMAT}, arrays)
            os.chmod(temporary, PRIVATE_FILE)
            os.replace(temporary, path)
        finally:
            remove(temporary)  # not there any more after a replace

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


class Overlay:
    """An overlay that was imported."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path).removesuffix(_SUFFIX)
        self.meta, self._columns = read_sections(path)
        if self.meta.get("format") != FORMAT:
            raise IndexCorrupt(f"{path} has another format", "import the index again with: sage scip import")
        self._texts = Strings(self._columns, "texts")
        self._files = Strings(self._columns, "files")
        self._names = Strings(self._columns, "def_name")

    @property
    def source(self) -> str:
        """Where its knowledge comes from, as answers say it."""
        return f"scip:{self.meta['tool']}"

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the files."""
        return {path: number for number, path in enumerate(self.files())}

    def files(self) -> list[str]:
        """The files that it covers."""
        return [self._files[number] for number in range(len(self._files))]

    def content_hash(self, file: str) -> str:
        """The hash of the content that it describes; empty if it does not cover the file."""
        number = self.numbers.get(file)
        return self._columns["file_hash"][number].tobytes().hex() if number is not None else ""

    def symbols_at(self, file: str, line: int, name: str) -> list[int]:
        """The symbols that are called `name` in a line."""
        number = self.numbers[file]
        first, last = self._columns["file_first"][number : number + 2].tolist()
        lines = self._columns["occ_line"]
        start = first + int(np.searchsorted(lines[first:last], line))
        found = []
        for at in range(start, last):
            if lines[at] != line:
                break
            if self._texts[int(self._columns["occ_name"][at])] == name:
                found.append(int(self._columns["occ_symbol"][at]))
        return found

    def occurrences(self, symbol: int) -> Iterator[Found]:
        """Where a symbol is used, definitions left out, by file and line."""
        first, last = self._columns["symbol_first"][symbol : symbol + 2].tolist()
        starts = self._columns["file_first"]
        for at in self._columns["by_symbol"][first:last].tolist():
            kind = int(self._columns["occ_kind"][at])
            if kind != _DEFINITION:
                file = self._files[int(np.searchsorted(starts, at, side="right")) - 1]
                line, column = int(self._columns["occ_line"][at]), int(self._columns["occ_column"][at])
                scope = self._texts[int(self._columns["occ_scope"][at])]
                yield Found(file, line, column, KINDS[kind], scope, symbol)

    def definitions(self, name: str) -> Iterator[Defined]:
        """The definitions called `name` (bare)."""
        wanted = name.encode("utf-8", "surrogatepass")
        at = self._names.place(wanted)
        while at < len(self._names) and self._names.raw(at) == wanted:
            yield self._defined(at)
            at += 1

    def definitions_of(self, symbol: int) -> list[Defined]:
        """The definitions of a symbol; none if it is defined elsewhere."""
        return [self._defined(row) for row in self._rows_of_symbol.get(symbol, ())]

    @cached_property
    def _rows_of_symbol(self) -> dict[int, list[int]]:
        rows: dict[int, list[int]] = {}
        for row, symbol in enumerate(self._columns["def_symbol"].tolist()):
            rows.setdefault(symbol, []).append(row)
        return rows

    def _defined(self, row: int) -> Defined:
        file, qualname, kind, line, symbol, indexed = (
            int(self._columns[f"def_{name}"][row]) for name in ("file", "qualname", "kind", "line", "symbol", "indexed")
        )
        return Defined(symbol, self._files[file], self._texts[qualname], self._texts[kind], line, bool(indexed))


def overlays_dir(root: str) -> str:
    """The folder of a project's overlays, whose name a clone cannot know."""
    return os.path.join(codebase_dir(root), f"overlays-{private_name()}")


def has_overlays(root: str) -> bool:
    """Whether a project may have overlays, without a look at Sage's home: most projects have none."""
    try:
        return any(name.startswith("overlays-") for name in os.listdir(codebase_dir(root)))
    except OSError:
        return False


def overlay_path(root: str, name: str) -> str:
    """The file of an overlay; its folder is made."""
    folder = overlays_dir(root)
    make_private(folder)
    return os.path.join(folder, name + _SUFFIX)


def load_overlays(root: str) -> list[Overlay]:
    """The overlays of a project that can be read, by name; a damaged one is left out, and `sage scip list` says so."""
    found = []
    for path in overlay_paths(root):
        try:
            found.append(Overlay(path))
        except (IndexCorrupt, FileNotFoundError, KeyError):
            continue
    return found


def overlay_paths(root: str) -> list[str]:
    """The files of a project's overlays, by name."""
    if not has_overlays(root):
        return []
    folder = overlays_dir(root)
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIX))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]


def remove_overlay(root: str, name: str) -> None:
    """Delete an overlay."""
    path = next((one for one in overlay_paths(root) if os.path.basename(one) == name + _SUFFIX), None)
    if path is None:
        raise UsageError(f"there is no overlay {name[:200]}", "list them with: sage scip list")
    remove(path)
