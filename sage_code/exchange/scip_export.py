"""Exports what Sage knows as a SCIP index: definitions, and the references that it is sure enough of.

Symbols are `sage . PROJECT . path/`file.py`/Class#method().`; ranges are counted in bytes (UTF-8). A reference that
could mean several definitions is written for the most certain one. Files that have changed since they were indexed are
left out and counted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import quote

from sage_code.compiled.inventory import reading
from sage_code.exchange.lines import columns_of, indexed_lines
from sage_code.files.atomic import whole_file
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.progress import Progress, Silent
from sage_code.scip import reader
from sage_code.scip.reader import Occurrence, Relationship, SymbolInfo, Tool
from sage_code.scip.symbol_names import METHOD, NAMESPACE, TERM, TYPE, descriptor, package
from sage_code.scip.writer import write_document, write_head
from sage_code.values import Reference, Symbol
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.resolve import Resolver
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, scopes

# Against a compiler's index, references of at least this confidence are right in 99 of 100 cases.
DEFAULT_CONFIDENCE = 0.8
# The name of an import of several lines is looked for in so many lines.
_MAX_IMPORT_LINES = 60
# SCIP's numbers of kinds.
_KINDS = {
    "class": 7, "constant": 8, "constructor": 9, "enum": 11, "function": 17, "interface": 21, "macro": 25, "method": 26,
    "module": 29, "namespace": 30, "object": 33, "protocol": 42, "struct": 49, "trait": 53, "type": 54, "union": 59,
    "variable": 61,
}  # fmt: skip
# SCIP's names of languages that are not Sage's name with a capital letter.
_LANGUAGES = {
    "cpp": "CPP", "c_sharp": "CSharp", "csharp": "CSharp", "javascript": "JavaScript", "typescript": "TypeScript",
    "tsx": "TypeScriptReact", "jsx": "JavaScriptReact", "php": "PHP", "bash": "ShellScript", "sql": "SQL",
    "html": "HTML", "css": "CSS", "json": "JSON", "yaml": "YAML", "toml": "TOML",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export has written."""

    path: str
    files: int
    definitions: int
    references: int
    left_out: int  # files that have changed since they were indexed


def export_scip(
    root: str,
    path: str,
    *,
    min_confidence: float = DEFAULT_CONFIDENCE,
    name: str = "",
    version: str = "",
    progress: Progress | None = None,
) -> Exported:
    """Write the index of a project to a file, which is replaced whole."""
    with reading(root), whole_file(path) as file:
        exporting = _Exporting(root, name or os.path.basename(root), min_confidence, version)
        exporting.run(file, progress or Silent())
    counts = exporting.counts
    return Exported(path, counts["files"], counts["definitions"], counts["references"], counts["left_out"])


class _Exporting:
    """One pass over the files of an index."""

    def __init__(self, root: str, name: str, least: float, version: str) -> None:
        self._root, self._least, self._version = root, least, version
        self._graph = CompiledGraph(root)
        self._resolver = Resolver(self._graph)
        self._package = package("sage", "", name, "")
        self._symbols: dict[tuple[str, str], str] = {}
        self.counts = dict.fromkeys(("files", "definitions", "references", "left_out"), 0)

    def run(self, file: BinaryIO, progress: Progress) -> None:
        """Write the head and every file with definitions or references."""
        write_head(file, Tool("sage", self._version, f"file://{quote(os.fsencode(self._root))}"))
        paths = list(self._graph.files())
        progress.stage("files", len(paths))
        for path in paths:
            progress.advance()
            symbols = [one for one in self._graph.file_symbols(path) if one.kind not in TEXT_KINDS]
            references = self._graph.file_references(path)
            if not symbols and not references:
                continue
            lines = indexed_lines(self._root, self._graph, path)
            if lines is None:
                self.counts["left_out"] += 1
                continue
            self._write(file, path, symbols, references, lines)

    def _write(
        self,
        file: BinaryIO,
        path: str,
        symbols: Sequence[Symbol],
        references: Sequence[Reference],
        lines: Sequence[str],
    ) -> None:
        """Write the document of a file: its definitions and the references that are certain enough."""
        taken: set[tuple[int, int]] = set()
        found: list[Occurrence] = []
        for symbol in symbols:
            where = _place(lines, symbol.line, symbol.name, taken)
            if where is not None:
                found.append(Occurrence(where, self._symbol(path, symbol.qualname), reader.DEFINITION))
        definitions = len(found)
        bases: dict[str, list[Relationship]] = {}
        for reference in references:
            if reference.kind == "bind":
                continue
            best = next(iter(self._resolver.targets(path, reference)), None)
            if best is None or best.confidence < self._least:
                continue
            target = self._symbol(best.definition.file, best.definition.symbol.qualname)
            more = _MAX_IMPORT_LINES if reference.kind == "import" else 1
            where = _place(lines, reference.line, reference.name, taken, more)
            if where is None:
                continue
            roles = reader.IMPORT if reference.kind == "import" else reader.READ
            found.append(Occurrence(where, target, roles))
            if reference.kind == "inherit" and reference.scope:
                bases.setdefault(reference.scope, []).append(Relationship(target, is_implementation=True))
        infos = {
            symbol.qualname: SymbolInfo(
                self._symbol(path, symbol.qualname), _KINDS.get(symbol.kind, 0), tuple(bases.get(symbol.qualname, ()))
            )
            for symbol in symbols
        }
        language = self._graph.file_language(path)
        shown = _LANGUAGES.get(language, language.capitalize())
        write_document(file, path, shown, reader.UTF8, found, infos.values())
        self.counts["files"] += 1
        self.counts["definitions"] += definitions
        self.counts["references"] += len(found) - definitions

    def _symbol(self, path: str, qualname: str) -> str:
        """The symbol string of a definition."""
        if (path, qualname) not in self._symbols:
            kinds = {one.qualname: one.kind for one in self._graph.file_symbols(path)}
            steps = [descriptor(step, NAMESPACE) for step in path.split("/")]
            steps += [
                descriptor(around.rpartition(".")[2], _descriptor_kind(kinds.get(around, "")))
                for around in reversed([*scopes(qualname)][:-1])
            ]
            self._symbols[path, qualname] = self._package + "".join(steps)
        return self._symbols[path, qualname]


def _descriptor_kind(kind: str) -> str:
    if kind in FUNCTION_LIKE:
        return METHOD
    if kind in ("module", "namespace"):
        return NAMESPACE
    return TYPE if kind in CLASS_LIKE or not kind else TERM


def _place(
    lines: Sequence[str], first: int, name: str, taken: set[tuple[int, int]], more: int = 1
) -> reader.Range | None:
    """The first place of a name from a line on that is not taken yet, in bytes; it is taken then."""
    for line in range(first, min(first + more, len(lines) + 1)):
        text = lines[line - 1] if line >= 1 else ""
        for column in columns_of(text, name):
            if (line, column) not in taken:
                taken.add((line, column))
                start = len(text[:column].encode("utf-8", "replace"))
                return line - 1, start, line - 1, start + len(name.encode("utf-8", "replace"))
    return None
