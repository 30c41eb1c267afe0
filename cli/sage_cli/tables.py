"""Rows for people: a table on a terminal, plain lines anywhere else, each printed when it is there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from sage_cli.output import one_line


def show(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> int:
    """Print the rows; how many there were."""
    count = 0
    if not sys.stdout.isatty():
        for row in rows:
            print("  ".join(one_line(str(cell)) for cell in row))
            count += 1
        return count
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(str(cell))) for cell in row))  # as Text: a cell may look like Rich's markup
        count += 1
    if count:
        Console().print(table)
    return count


def shortened(text: str, length: int = 90) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"
