"""Every name of a file that is code, and how it is used: for a page that links all of them.

`occurrences.py` judges the words that are spelt like one name; here one walk over the tree judges them all.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from tree_sitter import Tree

from sage_code.parse.occurrences import Step, is_text, kind_of
from sage_code.parse.receivers import JOINTS, Receivers

_NAME = re.compile(rb"[^\W\d][\w$]*[?!]?|[$@]+[^\W\d]\w*|[\w$\x80-\xff]+")
_LOOK_AT_CLOCK = 1024


class Name(NamedTuple):
    """A name in a source."""

    start: int  # in bytes
    end: int
    line: int
    text: str
    kind: str  # as of an `Occurrence`: call inherit type use import declared key
    receiver: str
    statement: int  # the line at which the import begins that it is part of; 0 for other kinds


def names(tree: Tree, source: bytes, start: int, end: int, until: float) -> list[Name]:
    """The names between two offsets of a source; those that are not reached at the time `until` are left out.

    The cursor goes down by offset, so a late part costs as an early one.
    """
    cursor = tree.walk()
    receivers = Receivers(source)
    found: list[Name] = []
    steps = 0
    root = tree.root_node
    path = [Step(root, root.type, "")]
    while True:
        steps += 1
        if steps % _LOOK_AT_CLOCK == 0 and time.monotonic() > until:
            return found
        if cursor.goto_first_child_for_byte(start) is not None:
            node = cursor.node
            if node is None or node.start_byte >= end:
                return found
            path.append(Step(node, node.type, cursor.field_name or ""))
            continue
        leaf = path[-1].node
        if (
            leaf.start_byte >= start
            and leaf.is_named
            and leaf.end_byte > leaf.start_byte
            and _NAME.fullmatch(source, *leaf.byte_range)
        ):
            found += _name(path, source, receivers)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
            path.pop()
        node = cursor.node
        if node is None or node.start_byte >= end:
            return found
        path[-1] = Step(node, node.type, cursor.field_name or "")


def _name(path: list[Step], source: bytes, receivers: Receivers) -> list[Name]:
    """The name at the end of a path; nothing if it is the text of a comment or a string."""
    leaf = path[-1].node
    start, end = leaf.byte_range
    if is_text(source, leaf, start):
        return []
    receiver = receivers.before(start) if start and source[start - 1] in JOINTS else ""
    kind, statement = kind_of(path, source, end, has_receiver=bool(receiver))
    line, text = leaf.start_point[0] + 1, source[start:end].decode("utf-8", "replace")
    return [Name(start, end, line, text, kind, receiver, statement)]
