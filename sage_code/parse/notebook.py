"""Jupyter notebooks, whose cells are strings in JSON. All line numbers are those of the notebook file.

A scan finds the cells and skips what it does not expect. The lines of all code cells are decoded and parsed as one
source, so that a cell sees the definitions of earlier ones; the results get the lines of the file that hold the source
lines. Headings of Markdown cells are sections, as in a Markdown file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import partial

from sage_code.parse.borders import IndentBorders, between, first_of
from sage_code.parse.headings import Heading, markdown_headings, sections
from sage_code.parse.keys import JSON_TOKEN, skip_value
from sage_code.parse.parsed import ParsedFile, ParseInside
from sage_code.parse.reference_codec import References
from sage_code.values import Reference

# The language of the cells is written at the end of the file, rarely at the beginning.
_METADATA_BYTES = 8000
_KERNEL = re.compile(
    rb'"language"\s*+:\s*+"([^"\n]{1,40})"|"language_info"\s*+:\s*+\{[^\0]{0,400}?"name"\s*+:\s*+"([^"\n]{1,40})"'
)
_KERNELS = {"ipython": "python", "python3": "python", "c++": "cpp", "c#": "csharp"}
# `%matplotlib inline`, `!pip install`, `?help`, `help?` are for IPython; a cell with `%%bash` is in Bash.
_MAGIC = re.compile(rb"^[ \t]*[%!?][^\n]*|^[\w.]++\?\??[ \t]*$", re.MULTILINE)
_FOREIGN_CELL = re.compile(rb"\s*%%(?!time|capture|prun)")
_UNREAD = frozenset({"outputs", "attachments", "metadata"})


@dataclass(slots=True)
class _Cell:
    start_row: int
    kind: str = ""
    parts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # for each line of the source its row in the file
    is_complete: bool = True  # the last line has its line break

    def add(self, text: str, row: int) -> None:
        """Add one string of the source: a line with its break, or several."""
        self.parts.append(text)
        begun = text.removesuffix("\n").count("\n") + self.is_complete
        self.rows += [row] * begun
        self.is_complete = text.endswith("\n")


def notebook(source: bytes, parse_inside: ParseInside) -> ParsedFile:
    """The headings of a notebook's Markdown cells and the definitions of its code cells, at the lines of the file."""
    cells = _cells(source)
    prose, rows = _joined([cell for cell in cells if cell.kind == "markdown"])
    headings, _ = markdown_headings(prose, prose.split(b"\n"))
    last = source.count(b"\n") + (not source.endswith(b"\n"))
    symbols = list(sections([_moved(heading, rows) for heading in headings], last))
    references: list[Reference] = []
    language = _language(source)
    code, rows = _joined([cell for cell in cells if cell.kind == "code"], is_python=language == "python")
    inside = parse_inside(code, language) if code else None
    if inside is not None:
        for symbol in inside.symbols:
            line, start, end = (_line(rows, at) for at in (symbol.line, symbol.start_line, symbol.end_line))
            symbols.append(replace(symbol, line=line, start_line=start, end_line=end))
        references = [reference._replace(line=_line(rows, reference.line)) for reference in inside.references]
    symbols.sort(key=lambda symbol: (symbol.start_line, -symbol.end_line))
    starts = sorted({cell.start_row + 1 for cell in cells})
    borders = first_of(partial(between, starts), IndentBorders(source))
    return ParsedFile(tuple(symbols), borders, References.of(references))


def _cells(source: bytes) -> list[_Cell]:
    """The cells of a notebook, from the tokens of its JSON; outputs and metadata are skipped."""
    cells: list[_Cell] = []
    keys: list[str] = []  # the current key of each open bracket; nothing for a list
    position = row = 0
    while (token := JSON_TOKEN.search(source, position)) is not None:
        row += source.count(b"\n", position, token.start())
        string, colon, bracket = token.groups()
        end = token.end()
        inside = len(keys) > 2 and keys[0] == "cells"
        if bracket is not None and bracket in b"{[":
            if keys and keys[-1] in _UNREAD and (inside or len(keys) == 1):
                end = skip_value(source, end)
            else:
                keys.append("")
                if len(keys) == 3 and keys[0] == "cells":
                    cells.append(_Cell(row))
        elif bracket is not None:
            if not keys:
                break
            keys.pop()
        elif colon is not None and keys:
            keys[-1] = _text(string)
        elif string is not None and inside and len(keys) <= 4:
            if keys[2] == "source":
                cells[-1].add(_text(string), row)
            elif keys[2] == "cell_type":
                cells[-1].kind = _text(string)
        row += source.count(b"\n", token.start(), end)
        position = end
    return cells


def _text(literal: bytes) -> str:
    try:
        text = json.loads(literal, strict=False)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""


def _joined(cells: list[_Cell], *, is_python: bool = False) -> tuple[bytes, list[int]]:
    """The lines of all cells as one source, and the row in the file of each line."""
    parts, rows = [], []
    for cell in cells:
        if not cell.rows:
            continue
        source = "".join(cell.parts)
        text = (source[:-1] if cell.is_complete else source).encode("utf-8", "replace")
        if is_python:
            # Another language's lines become blank, so that every line keeps its row.
            text = b"\n" * text.count(b"\n") if _FOREIGN_CELL.match(text) else _MAGIC.sub(b"", text)
        parts.append(text + b"\n")
        rows += [*cell.rows, cell.rows[-1]]
    return b"\n".join(parts), rows


def _language(source: bytes) -> str:
    kernel = _KERNEL.search(source[-_METADATA_BYTES:]) or _KERNEL.search(source[:_METADATA_BYTES])
    name = (kernel[1] or kernel[2]).decode("utf-8", "replace").lower() if kernel else "python"
    return _KERNELS.get(name, name)


def _line(rows: list[int], line: int) -> int:
    return rows[min(line, len(rows)) - 1] + 1


def _moved(heading: Heading, rows: list[int]) -> Heading:
    row = _line(rows, heading.row + 1) - 1
    return heading._replace(row=row, top=row)
