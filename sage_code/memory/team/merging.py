"""Merges two edits of the same text: by fields in the head of a Markdown file, by lines in its body.

`merged(base, mine, theirs)` has every line that one side added and none that one side deleted, or is None where both
sides changed the same lines in different ways. The order of the sides makes no difference. Nothing is guessed: a
text with marks of conflicts is never made, since a memory is read by programs.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from sage_code.memory.files import frontmatter

# A comparison takes the product of the lines in the worst case; above this, about a second, the sides are a conflict.
_MAX_COMPARED = 4_000_000
_FIELD = re.compile(r"^(?P<key>[^\s#:][^:\n]*):", re.MULTILINE)


def merged(base: str, mine: str, theirs: str) -> str | None:
    """The text with both edits; None if they contradict each other."""
    if mine == theirs or theirs == base:
        return mine
    if mine == base:
        return theirs
    heads, bodies = zip(*map(frontmatter.split, (base, mine, theirs)), strict=True)
    if not all(heads):
        return _merged_lines(base, mine, theirs)
    fields = _merged_fields(*map(_fields, heads))
    body = _merged_lines(*bodies)
    if fields is None or body is None:
        return None
    return f"---\n{''.join(fields.values())}---\n{body}"


def _fields(head: str) -> dict[str, str]:
    """The fields of a head by their names, each with the lines that belong to it; what precedes the first is ''."""
    starts = [(match.start(), match["key"]) for match in _FIELD.finditer(head)]
    ends = [start for start, _ in starts[1:]] + [len(head)]
    found = {"": head[: starts[0][0]]} if starts and starts[0][0] else {}
    for (start, key), end in zip(starts, ends, strict=True):
        found[key] = found.get(key, "") + head[start:end]
    return found if starts else {"": head}


def _merged_fields(base: dict[str, str], mine: dict[str, str], theirs: dict[str, str]) -> dict[str, str] | None:
    """The fields with both edits, in the order of the base, new ones behind by name."""
    result: dict[str, str] = {}
    for key in [*base, *sorted({*mine, *theirs} - {*base})]:
        old, left, right = base.get(key), mine.get(key), theirs.get(key)
        if left != right and old not in (left, right):
            return None
        value = right if left == old else left
        if value is not None:
            result[key] = value
    return result


def _merged_lines(base: str, mine: str, theirs: str) -> str | None:
    """The lines with both edits; None if they overlap or touch."""
    lines, left, right = (text.splitlines(keepends=True) for text in (base, mine, theirs))
    if len(lines) * max(len(left), len(right)) > _MAX_COMPARED:
        return None
    changes = sorted({*_changes(lines, left), *_changes(lines, right)})
    result: list[str] = []
    at = 0
    last: tuple[int, int] | None = None
    for start, end, new in changes:
        # Two insertions at one place, or changes that overlap: which one is first is not for a program to say.
        if last is not None and (
            start < last[1] or (start, end) == last or (start == last[1] and _inserts(start, end))
        ):
            return None
        if last is not None and start == last[1] and _inserts(*last):
            return None
        result += [*lines[at:start], *new]
        at, last = end, (start, end)
    return "".join([*result, *lines[at:]])


def _inserts(start: int, end: int) -> bool:
    return start == end


def _changes(base: list[str], other: list[str]) -> list[tuple[int, int, tuple[str, ...]]]:
    """What `other` has changed: from which line of the base to which, and the lines that are there now."""
    matcher = SequenceMatcher(None, base, other, autojunk=False)
    return [
        (start, end, tuple(other[first:last]))
        for tag, start, end, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]
