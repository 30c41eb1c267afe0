"""Where a definition ends by its indentation, in a language that goes by it.

A grammar that cannot read a line of F# ends everything around that line, and what follows loses its owner. The lines
themselves still say it: what is indented further than the line a definition begins on belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence

# A line that begins so continues what stands above, whatever its indentation.
_CONTINUES = (b"|", b")", b"]", b"}", b"#", b"//", b"(*")


class IndentedBlocks:
    """The ends of the blocks of one file."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._indents = [len(line) - len(line.lstrip()) for line in lines]
        self._next = [len(lines)] * len(lines)  # for each row: the next that is indented no further
        open_rows: list[int] = []
        for row, line in enumerate(lines):
            text = line.lstrip()
            if text and not text.startswith(_CONTINUES):
                while open_rows and self._indents[open_rows[-1]] >= self._indents[row]:
                    self._next[open_rows.pop()] = row
                open_rows.append(row)

    def end(self, row: int, column: int) -> int:
        """The byte at which the block that begins at a place has ended; 0 if the place does not begin its line."""
        return self._starts[self._next[row]] if self._indents[row] == column else 0
