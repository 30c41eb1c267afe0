"""Line ranges of a file: their sizes in constant time, and how to cut them at the best borders."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, chain

from sage_code.parse.borders import Borders

# The size to which a piece grows, about 250 tokens.
TARGET_CHARS = 1000
# The longest piece that stays whole; a longer one is cut at statement borders.
MAX_CHARS = 2000


def split_lines(text: str) -> list[str]:
    """The lines of `text` as editors count them: a final newline does not start another line."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


class LineSpans:
    """Sizes of line ranges (1-based, inclusive) of one file."""

    __slots__ = ("_ends", "lines")

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._ends = list(accumulate(map((1).__add__, map(len, lines)), initial=0))

    def size(self, start: int, end: int) -> int:
        """Characters in the lines `start` to `end`."""
        return self._ends[end] - self._ends[start - 1]

    def text(self, start: int, end: int) -> str:
        """The lines `start` to `end`, joined."""
        return "\n".join(self.lines[start - 1 : end])

    def blank(self, start: int, end: int) -> bool:
        """Whether the range has no letter and no digit."""
        return not any(map(_has_word, self.lines[start - 1 : end]))

    def cut(self, start: int, end: int, borders: Borders) -> list[tuple[int, int]]:
        """`start` to `end` in pieces of about TARGET_CHARS that begin at statement borders.

        `borders` gives one level of the syntax for a range and is called again for pieces that are still too long.
        Without borders a piece is cut at blank lines, then at any line. No piece of several lines is larger than
        MAX_CHARS.
        """
        pieces: list[tuple[int, int]] = []
        work = [(start, end)]
        while work:
            first, last = work.pop()
            if first == last or self.size(first, last) <= MAX_CHARS:
                pieces.append((first, last))
                continue
            cuts = [line for line in borders(first, last) if first < line <= last]
            groups = self._pack(first, last, cuts or range(first + 1, last + 1), blank_ends=not cuts)
            work.extend(reversed(groups))
        return pieces

    def _pack(self, first: int, last: int, cuts: Iterable[int], *, blank_ends: bool) -> list[tuple[int, int]]:
        """Join the ranges between `cuts` into groups of about TARGET_CHARS."""
        groups: list[tuple[int, int]] = []
        start = before = first
        for cut in chain(cuts, (last + 1,)):
            # `before` to `cut` is the next range: would the group be too large with it?
            grown = self.size(start, cut - 1)
            ready = blank_ends and grown > TARGET_CHARS // 2 and not self.lines[before - 2].strip()
            if before > start and (grown > TARGET_CHARS or ready):
                groups.append((start, before - 1))
                start = before
            before = cut
        groups.append((start, last))
        return groups


def _has_word(line: str) -> bool:
    return any(map(str.isalnum, line))
