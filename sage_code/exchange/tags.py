"""Writes the definitions of a project as a tags file that Vim, Emacs and `readtags` read.

It is the extended format of Universal Ctags: sorted by bytes, a search pattern with the line's text, then kind, line,
language and the scope around a definition. Files that have changed since they were indexed are left out and counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from sage_code.compiled.inventory import reading
from sage_code.exchange.lines import indexed_lines
from sage_code.files.atomic import write_bytes
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.progress import Progress, Silent
from sage_code.values import Symbol
from sage_code.xref.compiled_graph import CompiledGraph

_HEADER = (
    ("!_TAG_FILE_FORMAT", "2", '/extended format; --format=1 will not append ;" to lines/'),
    ("!_TAG_FILE_SORTED", "1", "/0=unsorted, 1=sorted, 2=foldcase/"),
    ("!_TAG_FILE_ENCODING", "utf-8", "//"),
    ("!_TAG_OUTPUT_EXCMD", "combineV2", "/number, pattern, mixed, or combineV2/"),
    ("!_TAG_OUTPUT_MODE", "u-ctags", "/u-ctags or e-ctags/"),
    ("!_TAG_PROGRAM_NAME", "Sage", "/local code intelligence/"),
)
# Universal Ctags cuts patterns at this length, too; a pattern that is cut has no `$`.
_MAX_PATTERN = 96
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\r": "\\r", "\n": "\\n"}


@dataclass(frozen=True, slots=True)
class Tags:
    """A tags file."""

    data: bytes
    tags: int
    files: int
    left_out: int  # files that have changed since they were indexed


def project_tags(root: str, *, beside: str = "", version: str = "", progress: Progress | None = None) -> Tags:
    """The tags of a project; paths are relative to the folder `beside`, by default its root."""
    progress = progress or Silent()
    found: set[bytes] = set()
    files = left_out = 0
    prefix = os.path.relpath(root, beside).replace(os.sep, "/") if beside else "."
    with reading(root):
        graph = CompiledGraph(root)
        paths = list(graph.files())
        progress.stage("files", len(paths))
        for path in paths:
            progress.advance()
            symbols = [one for one in graph.file_symbols(path) if one.kind not in TEXT_KINDS]
            if not symbols:
                continue
            lines = indexed_lines(root, graph, path)
            if lines is None:
                left_out += 1
                continue
            files += 1
            shown = path if prefix == "." else f"{prefix}/{path}"
            found.update(_file_tags(shown, graph.file_language(path), symbols, lines))
    header = ["\t".join(row) for row in (*_HEADER, ("!_TAG_PROGRAM_VERSION", version, "//"))]
    body = sorted(found)
    data = b"".join(line + b"\n" for line in (*(line.encode() for line in sorted(header)), *body))
    return Tags(data, len(body), files, left_out)


def write_tags(root: str, path: str, *, version: str = "", progress: Progress | None = None) -> Tags:
    """Write the tags of a project to a file, which is replaced whole."""
    tags = project_tags(root, beside=os.path.dirname(os.path.abspath(path)), version=version, progress=progress)
    write_bytes(path, tags.data)
    return tags


def _file_tags(path: str, language: str, symbols: Iterable[Symbol], lines: list[str]) -> Iterable[bytes]:
    """The lines of a file's definitions in the tags file."""
    kinds = {symbol.qualname: symbol.kind for symbol in symbols}
    for symbol in symbols:
        if not 1 <= symbol.line <= len(lines) or not symbol.name or not symbol.name.isprintable():
            continue
        around = symbol.qualname.rpartition(".")[0]
        scope = f"{_escaped(kinds[around])}:{_escaped(around)}" if around in kinds else ""
        # A name may not begin like a line of the header, and not hold what ends a field.
        name = _escaped(symbol.name).replace(" ", "\\x20") if symbol.name[0] in "! " else _escaped(symbol.name)
        fields = (
            name,
            _escaped(path),
            f'{symbol.line};{_pattern(lines[symbol.line - 1])};"',
            _escaped(symbol.kind),
            f"line:{symbol.line}",
            f"language:{_escaped(language)}",
            *((scope,) if scope else ()),
            f"end:{symbol.end_line}",
        )
        yield "\t".join(fields).encode("utf-8", "replace")


def _pattern(line: str) -> str:
    """The search pattern of a line; a tab is itself in a pattern, slashes and backslashes are escaped."""
    text = "".join(char for char in line if char == "\t" or char >= " ")
    cut = text[:_MAX_PATTERN]
    escaped = cut.replace("\\", "\\\\").replace("/", "\\/")
    if len(text) > _MAX_PATTERN:
        return f"/^{escaped}/"
    end = "\\$$" if escaped.endswith("$") else "$"
    return f"/^{escaped.removesuffix('$') if end != '$' else escaped}{end}/"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char, char if char >= " " else f"\\x{ord(char):02x}") for char in text)
