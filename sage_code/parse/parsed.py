"""What parsing gives, whichever way a file was read: by a grammar and its query, or by a reader of ours."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from sage_code.parse.reference_codec import NO_REFERENCES, References
from sage_code.values import Symbol

# For a range of lines, the lines in (start_line, end_line] where a piece may begin, ascending.
Borders = Callable[[int, int], list[int]]


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one file defines and refers to, and where it may be cut."""

    symbols: tuple[Symbol, ...]  # by start_line, then the longer first
    borders: Borders
    references: References = NO_REFERENCES


def between(lines: list[int], start_line: int, end_line: int) -> list[int]:
    """Those of the ascending `lines` that lie in (start_line, end_line]."""
    return lines[bisect_right(lines, start_line) : bisect_right(lines, end_line)]
