"""Where a stretch of lines may be cut: at the beginnings of statements, never inside one.

`borders` answers with one level of the tree: the shallowest at which anything begins inside the stretch. A
chunker cuts there and packs the pieces; for a piece that is still too long it asks again with that piece's
lines, and gets the next level down. It ends when the answer is empty: the piece is one line, or one token.
"""

from __future__ import annotations

from tree_sitter import Node, Tree

# What holds statements is no statement: a cut between a head and its body helps nobody.
_BODIES = ("block", "body", "_list", "compound_statement", "body_statement")


def borders(tree: Tree, lines: list[bytes], start_line: int, end_line: int) -> list[int]:
    """The lines in (start_line, end_line] where a child of the shallowest useful level begins, ascending.

    A border is the first token of its line. A comment stays with what follows it. A body is no border, the
    statements in it are; nor is a single child that takes all the rest of the stretch, if it can be cut itself.
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
    """The rows at which `node`'s children begin inside the stretch, and the child that covers most of it."""
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
