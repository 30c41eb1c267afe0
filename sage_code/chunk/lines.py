"""Runs of lines and how to cut them: sizes in constant time, and a cut at the best border that fits."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

# A piece grows to about 250 tokens; what is longer is cut at statement borders.
TARGET_CHARS = 1000
# The longest piece that stays whole: a function of this size is still read and embedded as one thought.
MAX_CHARS = 2000


def split_lines(text: str) -> list[str]:
    """The lines of `text` as editors count them: a final newline ends the last line, it does not open another."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


class LineSpans:
    """Sizes of line ranges (1-based, inclusive) of one file."""

    __slots__ = ("_ends", "lines")

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._ends = [0, *accumulate(len(line) + 1 for line in lines)]

    def size(self, start: int, end: int) -> int:
        """Characters in the lines `start` to `end`."""
        return self._ends[end] - self._ends[start - 1]

    def text(self, start: int, end: int) -> str:
        """The lines `start` to `end`, joined."""
        return "\n".join(self.lines[start - 1 : end])

    def blank(self, start: int, end: int) -> bool:
        """Whether the range holds nothing that could be looked for."""
        return not any(map(_has_word, self.lines[start - 1 : end]))

    def cut(self, start: int, end: int, borders: Iterable[int]) -> list[tuple[int, int]]:
        """`start` to `end` in pieces of about TARGET_CHARS, cut before one of `borders` where one is near.

        Without a border a blank line will do, and without that any line: no piece of several lines is larger
        than MAX_CHARS.
        """
        allowed = set(borders)
        pieces = []
        while self.size(start, end) > MAX_CHARS and start < end:
            best, best_rank = start + 1, -1
            for line in range(start + 1, end + 1):
                taken = self.size(start, line - 1)
                if taken > MAX_CHARS and best_rank >= 0:
                    break
                rank = self._rank(line, allowed) * 2 + (taken >= TARGET_CHARS // 2)
                # Among equals the cut nearest below the target wins: later is better until the target is reached.
                if rank > best_rank or (rank == best_rank and taken <= TARGET_CHARS):
                    best, best_rank = line, rank
                if taken > TARGET_CHARS and best_rank >= 4:
                    break
            pieces.append((start, best - 1))
            start = best
        pieces.append((start, end))
        return pieces

    def _rank(self, line: int, borders: set[int]) -> int:
        if line in borders:
            return 2
        return 1 if not self.lines[line - 2].strip() else 0


def _has_word(line: str) -> bool:
    return any(map(str.isalnum, line))
