"""Where a definition ends by its indentation, in a language with the offside rule.

If F#'s grammar cannot read a line, it ends every block around that line, and the code below loses its owner. The
indentation still tells: lines that are indented further than the first line of a definition belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

# A line that begins like this continues the block above, however it is indented.
_CONTINUES = (b"|", b")", b"]", b"}", b"#", b"//", b"(*")


class IndentedBlocks:
    """The ends of the blocks of one file."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
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
        """The byte offset after the block that begins at (row, column); 0 if that is not the start of its line."""
        return self._starts[self._next[row]] if self._indents[row] == column else 0
