"""Borders: the lines at which a file may be cut, where a statement, a key or a paragraph begins.

`Borders` answers for a range of lines with one level: the shallowest at which something begins inside the range. The
chunker cuts there and packs the pieces. If a piece is still too long, it asks again for the lines of that piece and
gets the next level down, until the answer is empty: the piece is one line, or one token.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

# For a range of lines: the lines in (start_line, end_line] where a piece may begin, ascending.
Borders = Callable[[int, int], Sequence[int]]

# These nodes hold statements and are none: a cut between a head and its body is of no use.
_BODIES = ("block", "body", "_list", "compound_statement", "body_statement")

# The indentation of a line and its first character, except a closing bracket.
_LINE_START = re.compile(rb"^[ \t]*+[^\s}\])]?", re.MULTILINE)
_BLANK = ord(" ")
_NEVER = 1 << 30


def between(lines: list[int], start_line: int, end_line: int) -> list[int]:
    """The part of the ascending `lines` in (start_line, end_line]."""
    return lines[bisect_right(lines, start_line) : bisect_right(lines, end_line)]


def first_of(*levels: Borders) -> Borders:
    """The borders of the first of `levels` that has any in a range."""
    return lambda start_line, end_line: next(filter(None, (borders(start_line, end_line) for borders in levels)), [])


class IndentBorders:
    """Borders by indentation: the least indented lines of a range, except lines that only close a bracket."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._indents: list[int] = []

    def __call__(self, start_line: int, end_line: int) -> list[int]:
        """The lines in (start_line, end_line] to cut at, one level at a time."""
        if not self._indents:
            starts = _LINE_START.findall(self._source)
            self._indents = [len(start) - 1 if start and start[-1] > _BLANK else _NEVER for start in starts]
        inside = self._indents[start_line:end_line]
        least = min(inside, default=_NEVER)
        if least == _NEVER:
            return []
        return [start_line + 1 + index for index, indent in enumerate(inside) if indent == least]


def tree_borders(tree: Tree, lines: list[bytes], start_line: int, end_line: int) -> list[int]:
    """Borders by syntax: the lines in (start_line, end_line] where a child of the shallowest useful level begins.

    A border is the first token of its line. A comment stays with the code below it. The statements of a body are
    borders, the body is not. Nor is a single child that covers the rest of the range, if it can be cut itself.
    """
    first, last = max(0, start_line - 1), min(end_line, len(lines)) - 1
    if first >= last:
        return []
    node: Node | None = tree.root_node.descendant_for_point_range((first, _indent(lines, first)), (last, 0))
    fallback: list[int] = []
    while node is not None:
        found, widest = _children(node, lines, first, last)
        if len(found) > 1 or (found and not _is_rest(found[0], widest, last)):
            return [row + 1 for row in found]
        fallback = fallback or found
        node = widest
    return [row + 1 for row in fallback]


def _children(node: Node, lines: list[bytes], first: int, last: int) -> tuple[list[int], Node | None]:
    """The rows at which `node`'s children begin inside the range, and the child that covers most of it."""
    found: list[int] = []
    widest: Node | None = None
    most = 0
    comment_end = -1
    cursor = node.walk()
    more = cursor.goto_first_child_for_point((first, 0)) is not None
    while more:
        child = cursor.node
        assert child is not None
        (top, column), bottom = child.start_point, child.end_point[0]
        if top > last:
            break
        if bottom >= first:
            covered = min(bottom, last) - max(top, first)
            if covered > most and child.is_named:
                most, widest = covered, child
            begins_line = first < top and child.is_named and column == _indent(lines, top)
            begins_line = begins_line and not child.type.endswith(_BODIES)
            if begins_line and comment_end != top - 1 and (not found or found[-1] != top):
                found.append(top)
            comment_end = bottom if "comment" in child.type else -1
        more = cursor.goto_next_sibling()
    return found, widest


def _is_rest(row: int, widest: Node | None, last: int) -> bool:
    return widest is not None and widest.start_point[0] >= row and widest.end_point[0] >= last - 1


def _indent(lines: list[bytes], row: int) -> int:
    if row >= len(lines):
        return 0
    return len(lines[row]) - len(lines[row].lstrip())
