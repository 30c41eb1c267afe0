"""Imports a SCIP index: what a compiler knows about references becomes an overlay that wins over guesses.

Each document is compared with its file first. One that leads out of the project, that the index of Sage does not have,
or whose symbols are not where the document says (the file has changed since the tool ran) is left out and counted.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import xxhash

from sage_code.compiled.inventory import reading
from sage_code.discover.decoding import decode
from sage_code.errors import UsageError
from sage_code.files.contained import read_contained
from sage_code.files.inside import is_inside
from sage_code.index.manifest import file_key
from sage_code.parse.references import scope_numbers
from sage_code.progress import Progress, Silent
from sage_code.scip import reader, symbol_names
from sage_code.scip.overlay import KINDS, Overlay, OverlayBuilder, load_overlays, overlay_path, overlay_paths
from sage_code.scip.positions import encoding_of, piece
from sage_code.scip.symbol_names import MACRO, META, METHOD, NAMESPACE, TERM, TYPE, Descriptor
from sage_code.values import Symbol
from sage_code.xref.compiled_graph import CompiledGraph

# Files larger than this are data.
_MAX_FILE = 32 << 20
# So much of a document must be where it says; the rest are names that tools make up, such as `<constructor>`.
_LEAST_MATCH = 0.8
# An overlay's name is a file's name.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_KIND_OF = {TYPE: "type", METHOD: "method", TERM: "variable", MACRO: "macro"}
_NUMBER = {name: number for number, name in enumerate(KINDS)}
# What is between a name and the bracket that calls it: type arguments, `?.`, `!`.
_CALL = re.compile(r"(?:!|\?\.)?(?:<[^()<>]{0,200}>)?\s*\(")
_WORD = re.compile(r"\w", re.UNICODE)


@dataclass(slots=True)
class Left:
    """The documents and occurrences of an index that were left out, by reason."""

    outside: int = 0  # documents whose path leads out of the project
    not_indexed: int = 0  # documents of files that are not in Sage's index
    changed: int = 0  # documents that do not fit to the content of their files
    repeated: int = 0  # documents of a path that had one already
    occurrences: int = 0  # occurrences with an impossible range


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has read."""

    name: str
    tool: str
    version: str
    files: int
    occurrences: int
    definitions: int
    left_out: Left = field(default_factory=Left)


@dataclass(frozen=True, slots=True)
class OverlayState:
    """An overlay and how much of it is in use."""

    name: str
    tool: str
    version: str
    files: int
    stale: int  # files that have changed since; their part is ignored
    occurrences: int
    bytes: int
    imported: float  # seconds since 1970
    is_damaged: bool = False


def import_scip(root: str, path: str, *, name: str = "", progress: Progress | None = None) -> Imported:
    """Read the index at `path` into the overlay `name`, by default that of its tool, which it replaces."""
    progress = progress or Silent()
    progress.stage("documents")
    with reading(root), reader.opened(path) as index:
        tool = index.tool()
        prefix = _prefix(root, tool.project_root)
        name = name or _default_name(tool.name, prefix)
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name[:200]!r} is no name of an overlay", "use letters, digits, dots and dashes")
        importing = _Importing(root, tool.name, prefix)
        for document in index.documents():
            importing.take(document)
            progress.advance()
        if not importing.builder.files:
            raise UsageError(
                f"no document of {path} fits to a file of this project ({_reasons(importing.left)})",
                "run the tool in the project's root, on its current files",
            )
        meta = {"tool": tool.name[:80] or "unknown", "version": tool.version[:80], "prefix": prefix}
        importing.builder.save(overlay_path(root, name), {**meta, "occurrences": len(importing.builder)})
    counts = (importing.builder.files, len(importing.builder), importing.builder.definitions)
    return Imported(name, tool.name, tool.version, *counts, importing.left)


def overlay_states(root: str) -> list[OverlayState]:
    """The overlays of a project."""
    paths = overlay_paths(root)
    if not paths:
        return []
    loaded = {one.path: one for one in load_overlays(root)}
    graph = CompiledGraph(root)
    return [_state(path, loaded.get(path), graph) for path in paths]


def _state(path: str, overlay: Overlay | None, graph: CompiledGraph) -> OverlayState:
    status = os.stat(path)
    if overlay is None:
        name = os.path.basename(path).rpartition(".")[0]
        return OverlayState(name, "", "", 0, 0, 0, status.st_size, status.st_mtime, is_damaged=True)
    files = overlay.files()
    stale = sum(file_key(file, overlay.content_hash(file)) != graph.file_key(file) for file in files)
    meta = overlay.meta
    what = (overlay.name, str(meta["tool"]), str(meta["version"]), len(files), stale, int(meta["occurrences"]))
    return OverlayState(*what, status.st_size, status.st_mtime)


class _Importing:
    """One pass over the documents of an index."""

    def __init__(self, root: str, tool: str, prefix: str) -> None:
        self._root, self._tool, self._prefix = root, tool, prefix
        self._graph = CompiledGraph(root)
        self._seen: set[str] = set()
        self.builder = OverlayBuilder()
        self.left = Left()

    def take(self, document: reader.Document) -> None:
        """Add a document, or count why not."""
        path = posixpath.normpath(posixpath.join(self._prefix, document.path.replace("\\", "/")))
        self.left.occurrences += document.absurd
        if "\0" in path or posixpath.isabs(document.path) or not is_inside(path):
            self.left.outside += 1
        elif path in self._seen:
            self.left.repeated += 1
        elif not self._graph.file_key(path):
            self.left.not_indexed += 1
        else:
            self._seen.add(path)
            self._read(path, document)

    def _read(self, path: str, document: reader.Document) -> None:
        """Add a document if it describes the content that the file has on disk and in the index."""
        try:
            data = read_contained(os.fsencode(self._root), os.fsencode(path), _MAX_FILE)
        except OSError:
            self.left.changed += 1
            return
        content = xxhash.xxh3_128_hexdigest(data)
        decoded = decode(data)
        is_indexed = file_key(path, content) == self._graph.file_key(path)
        if decoded is None or not is_indexed or (document.text is not None and document.text != decoded.text):
            self.left.changed += 1
            return
        placed, absurd = _placed(document, decoded.text.split("\n"), encoding_of(document.encoding, self._tool))
        if not _fits(placed, absurd):
            self.left.changed += 1
            return
        self.left.occurrences += absurd
        self._add(path, content, placed)

    def _add(self, path: str, content: str, placed: Sequence[_Placed]) -> None:
        """Add the occurrences of a file, each with its scope and its kind."""
        symbols = self._graph.file_symbols(path)
        stored: dict[tuple[int, str], set[str]] = defaultdict(set)
        for reference in self._graph.file_references(path):
            stored[reference.line, reference.name].add(reference.kind)
        texts: dict[str, int] = {}
        numbers = scope_numbers([one.line for one in placed], symbols, texts)
        scopes = list(texts)
        rows = []
        for one, scope in zip(placed, numbers, strict=True):
            is_local = symbol_names.is_local(one.symbol)
            number = self.builder.symbol(f"{path} {one.symbol}" if is_local else one.symbol)
            if one.is_definition:
                self._define(number, one, symbols)
            kind = "definition" if one.is_definition else _kind(one, stored)
            rows.append((one.line, one.column, number, _NUMBER[kind], scopes[scope], one.name))
        self.builder.add_file(path, content, rows)

    def _define(self, number: int, one: _Placed, symbols: Sequence[Symbol]) -> None:
        """Note which of Sage's definitions a symbol is; a global one that Sage does not have has a name of its own."""
        matching = [symbol for symbol in symbols if symbol.line == one.line and symbol.name == one.name]
        if matching:
            best = max(matching, key=lambda symbol: symbol.start_line)
            self.builder.add_definition(number, best.qualname, best.kind, best.line, is_indexed=True)
            return
        steps = one.descriptors
        if steps and steps[-1].kind in _KIND_OF and steps[-1].name == one.text:
            path = [step.name for step in steps if step.kind not in (NAMESPACE, META)]
            kind = _KIND_OF[steps[-1].kind]
            self.builder.add_definition(number, ".".join(path), kind, one.line, is_indexed=False)


@dataclass(frozen=True, slots=True)
class _Placed:
    """An occurrence with its text in the file; lines from 1."""

    line: int
    column: int
    text: str
    after: str
    symbol: str
    roles: int
    descriptors: tuple[Descriptor, ...]

    @property
    def name(self) -> str:
        """The name as Sage's index has it: without the `#` of a private member of a class in JavaScript."""
        return self.text[1:] if self.text.startswith("#") and self.text[1:].isidentifier() else self.text

    @property
    def is_definition(self) -> bool:
        return bool(self.roles & reader.DEFINITION)


def _placed(document: reader.Document, lines: Sequence[str], encoding: int) -> tuple[list[_Placed], int]:
    """The occurrences of a document with their texts, by position; and how many are not within the file."""
    found, absurd = [], 0
    parsed: dict[str, tuple[Descriptor, ...]] = {}
    for one in sorted(document.occurrences):
        start_line, start, end_line, end = one.range
        if start_line >= len(lines):
            absurd += 1
            continue
        if start_line != end_line or start == end or not one.symbol or len(one.symbol) > symbol_names.MAX_LENGTH:
            continue  # whole files and texts of several lines name nothing
        at = piece(lines[start_line].removesuffix("\r"), start, end, encoding)
        if at is None:
            absurd += 1
            continue
        if one.symbol not in parsed:
            parsed[one.symbol] = tuple(symbol_names.parse(one.symbol))
        after = lines[start_line][at[0] + len(at[1]) :][:256]
        found.append(_Placed(start_line + 1, at[0], at[1], after, one.symbol, one.roles, parsed[one.symbol]))
    return found, absurd


def _fits(placed: Sequence[_Placed], absurd: int) -> bool:
    """Whether a document describes its file: its definitions have their names, and everything is within the lines."""
    total = len(placed) + absurd
    if sum(bool(_WORD.search(one.text)) for one in placed) < total * _LEAST_MATCH:
        return False
    named = [one for one in placed if one.is_definition and _is_named(one.descriptors)]
    right = sum(one.descriptors[-1].name == one.text.strip("'\"`#") for one in named)
    return right >= len(named) * _LEAST_MATCH


def _is_named(steps: Sequence[Descriptor]) -> bool:
    """Whether a symbol has a name from the source: tools number others (`key0:`) and make some up (`<constructor>`)."""
    return bool(steps) and steps[-1].kind in _KIND_OF and steps[-1].name.isidentifier()


def _kind(one: _Placed, stored: Mapping[tuple[int, str], set[str]]) -> str:
    """The kind of a use: as the parser has seen it, otherwise by its role and by what is after it."""
    kinds = stored.get((one.line, one.name), set()) & _NUMBER.keys()
    if len(kinds) == 1 and (kinds != {"call"} or _CALL.match(one.after)):
        return next(iter(kinds))
    if one.roles & reader.IMPORT:
        return "import"
    return "call" if _CALL.match(one.after) else "use"


def _prefix(root: str, project_root: str) -> str:
    """The folder of the project in which the tool ran; empty for its root, or if it ran elsewhere."""
    address = urlsplit(project_root)
    folder = unquote(address.path) if address.scheme == "file" else project_root
    if not os.path.isabs(folder) or "\0" in folder:
        return ""
    below = os.path.relpath(os.path.realpath(folder), os.path.realpath(root)).replace(os.sep, "/")
    return below if below != "." and is_inside(below) else ""


def _default_name(tool: str, prefix: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{tool or 'scip'}-{prefix}" if prefix else tool or "scip")
    return name.strip("-.")[:80] or "scip"


def _reasons(left: Left) -> str:
    counts = {
        "outside of it": left.outside,
        "not in the index": left.not_indexed,
        "changed since": left.changed,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "it has none"
