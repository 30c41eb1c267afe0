"""Prints rows: as a table on a terminal, elsewhere as plain lines, each as soon as it is known.

A table never breaks a word, even on a narrow terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from sage_cli.output import colours, columns, one_line, print_json, wrapped

_GAP = "  "
# A last column that is narrower than this is hard to read.
_LEAST_ROOM = 24


def answer_table(
    key: str,
    rows: Iterable[dict[str, Any]],
    headings: Sequence[str],
    cells: Iterable[Sequence[object]],
    as_json: bool,
    **document: Any,
) -> int:
    """Print the document with the rows under `key` with `--json`, else the cells; return how many rows there are."""
    if as_json:
        document[key] = list(rows)
        print_json(document)
        return len(document[key])
    return _show(headings, cells)


def _show(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Print the rows, and return how many there are."""
    count = 0
    if not sys.stdout.isatty():
        for row in rows:
            print("  ".join(one_line(str(cell)) for cell in row))
            count += 1
        return count
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    if cells:
        _print_table(headings, cells)
    return len(cells)


def _print_table(headings: Sequence[str], rows: list[list[str]]) -> None:
    """Print columns as wide as they need, the last wrapped; if it has no room, each row is a block of lines."""
    from rich.cells import cell_len

    *fixed, last = (max(map(cell_len, column)) for column in zip(headings, *rows, strict=True))
    before = sum(fixed) + len(_GAP) * len(fixed)
    room = columns() - before
    if room >= min(last, _LEAST_ROOM):
        *_, bold, end = colours()
        for number, row in enumerate([list(headings), *rows]):
            padded = _GAP.join([cell + " " * (width - cell_len(cell)) for cell, width in zip(row, fixed, strict=False)])
            first, *rest = wrapped(row[-1], "", room).split("\n")
            line = f"{padded}{_GAP if fixed else ''}{first}".rstrip()
            print(f"{bold}{line}{end}" if number == 0 else line)
            for line in rest:
                print(" " * before + line)
        return
    for row in rows:
        print(wrapped(_GAP.join(cell for cell in row[:-1] if cell.strip()), _GAP))
        print(wrapped(f"{_GAP * 2}{row[-1]}", _GAP * 2))


def shortened(text: str, length: int = 90) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
