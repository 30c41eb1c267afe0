"""Reads JSON with comments and trailing commas, and changes it by inserting or cutting one stretch of text.

A document is never written again as a whole, so comments, order, indentation and line ends stay as they are. `parse`
gives the offsets of all values.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

# The way to a value: keys of objects and numbers of items in arrays.
Steps = tuple[str | int, ...]
# Possessive and atomic: a comment ends at its first possible end, so nothing is matched twice.
_LINE_COMMENT = r"//[^\r\n]*+"
_BLOCK_COMMENT = r"/\*(?>.*?\*/)"
_SPACE = re.compile(rf"(?:[ \t\r\n\ufeff]+|{_LINE_COMMENT}|{_BLOCK_COMMENT})*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
# The rest of a line, if it is blank or a comment.
_REST_OF_LINE = re.compile(rf"[ \t]*(?:{_LINE_COMMENT}|{_BLOCK_COMMENT}[ \t]*)?(?=\r?\n)", re.DOTALL)
_FIRST_INDENT = re.compile(r"\n([ \t]+)[^ \t\r\n]")
_LINE_START = re.compile(r"(?:^|\n)([ \t]*)\Z")
_MAX_DEPTH = 200
_DEFAULT_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Member:
    """A key of an object with its value and their offsets in the text."""

    key_start: int
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its offsets; of an object also its members, of an array its items."""

    start: int
    end: int
    value: Any
    members: dict[str, Member] | None = None
    items: list[Node] | None = None

    def spans(self) -> list[tuple[int, int]]:
        """Beginning and end of each member, with its key, or of each item."""
        if self.members is not None:
            return sorted((member.key_start, member.value.end) for member in self.members.values())
        return [(item.start, item.end) for item in self.items or ()]


def parse(text: str) -> Node:
    """The document; a ValueError with the line if it is not valid."""
    start = _skip(text, 0)
    node = _value(text, start, 0)
    if (end := _skip(text, node.end)) != len(text):
        raise _wrong(text, end, "something follows the end")
    return node


def is_blank(text: str) -> bool:
    """Whether a text is empty or white space, as files of some agents are."""
    return not text.strip("\ufeff \t\r\n")


def find(node: Node, steps: Steps) -> Node | None:
    """The value that `steps` lead to."""
    for step in steps:
        if isinstance(step, int):
            if node.items is None or step >= len(node.items):
                return None
            node = node.items[step]
        elif node.members is None or step not in node.members:
            return None
        else:
            node = node.members[step].value
    return node


def insertion(text: str, keys: tuple[str, ...], value: Any) -> tuple[int, str]:
    """The offset and the text of the insertion that puts `value` below `keys`, which must not be there yet.

    A ValueError if a value on the way is no object.
    """
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    if is_blank(text):
        offset = 1 if text.startswith("\ufeff") else 0
        return offset, _render(_nest(keys, value), "", _DEFAULT_INDENT, end_of_line) + end_of_line
    node = parse(text)
    depth = 0
    while node.members is not None and depth < len(keys) - 1 and keys[depth] in node.members:
        node = node.members[keys[depth]].value
        depth += 1
    if node.members is None:
        raise ValueError(f"{'.'.join(keys[:depth]) or 'the document'} is no object")
    return _into(text, node, f"{json.dumps(keys[depth])}: ", _nest(keys[depth + 1 :], value), end_of_line)


def appending(text: str, keys: tuple[str, ...], value: Any) -> tuple[int, str]:
    """The offset and the text of the insertion that appends `value` to the array below `keys`, in its style."""
    array = find(parse(text), keys)
    if array is None or array.items is None:
        raise ValueError(f"{'.'.join(keys)} is no array")
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    if not array.items:
        return _into(text, array, "", value, end_of_line)
    first, last = array.items[0].start, array.items[-1].end
    if "\n" not in text[array.start : first]:  # the array is on one line, and so is the new item
        return last, f", {json.dumps(value)}"
    indent, unit = _style(text, array, first)
    line = f"{end_of_line}{indent}{_render(value, indent, unit, end_of_line)}"
    comma = _skip(text, last)
    if text[comma] != ",":
        return last, f",{line}"
    # A comma may trail here: the new item goes below the line of the last one, and its comment stays there.
    rest = _REST_OF_LINE.match(text, comma + 1)
    return rest.end() if rest else comma + 1, f"{line},"


def cut(text: str, steps: Steps) -> str:
    """The text without the member or item that `steps` lead to, without its comma and its line."""
    root = parse(text)
    parent, node = find(root, steps[:-1]), find(root, steps)
    if parent is None or node is None:
        return text
    spans = parent.spans()
    start, end = next(span for span in spans if span[1] == node.end)
    if text[after := _skip(text, end)] == ",":
        end = after + 1
    else:  # the last one: the comma before it goes, unless commas may trail
        before = [other for _, other in spans if other < start]
        if before and text[comma := _skip(text, max(before))] == ",":
            return _without(text[:comma] + text[comma + 1 :], start - 1, end - 1)
    return _without(text, start, end)


def _without(text: str, start: int, end: int) -> str:
    """The text without a stretch, and without its lines if they have no other content."""
    line = _LINE_START.search(text, 0, start)
    rest = re.compile(r"[ \t]*(?:\r?\n|$)").match(text, end)
    if line is not None and rest is not None and line.group(0).startswith("\n"):
        return text[: line.start(1)] + text[rest.end() :]
    return text[:start] + text[end:]


def _into(text: str, node: Node, label: str, value: Any, end_of_line: str) -> tuple[int, str]:
    """The insertion at the beginning of an object or array, in its style; `label` is the key of a member."""
    spans = node.spans()
    first = spans[0][0] if spans else None
    comma = "," if spans else ""
    offset = node.start + 1
    inner = text[offset : first if first is not None else node.end - 1]
    if "\n" not in inner and first is not None:  # the object is on one line, and so is the new member
        return offset, f"{label}{json.dumps(value)}{comma} "
    indent, unit = _style(text, node, first)
    rendered = f"{indent}{label}{_render(value, indent, unit, end_of_line)}{comma}"
    if rest := _REST_OF_LINE.match(text, offset):
        return rest.end(), end_of_line + rendered
    return offset, f"{end_of_line}{rendered}{end_of_line}{_indent_at(text, node.start)}"


def _style(text: str, node: Node, first: int | None) -> tuple[str, str]:
    """The indentation of what is in an object or array, whose first member or item is at `first`, and its unit."""
    outer = _indent_at(text, node.start)
    if first is not None:
        indent = _indent_at(text, first)
        is_deeper = len(indent) > len(outer) and indent.startswith(outer)
        return indent, indent[len(outer) :] if is_deeper else _DEFAULT_INDENT
    indented = _FIRST_INDENT.search(text)
    unit = indented.group(1) if indented else _DEFAULT_INDENT
    return outer + unit, unit


def _indent_at(text: str, offset: int) -> str:
    """The white space at the beginning of the line of an offset."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _render(value: Any, indent: str, unit: str, end_of_line: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (end_of_line + indent).join(lines)


def _nest(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _skip(text: str, offset: int) -> int:
    """The offset after white space and comments."""
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def _value(text: str, offset: int, depth: int) -> Node:
    """Parse the value at an offset."""
    if depth > _MAX_DEPTH:
        raise _wrong(text, offset, "it is nested too deeply")
    if text.startswith("{", offset):
        return _object(text, offset, depth)
    if text.startswith("[", offset):
        return _array(text, offset, depth)
    if (found := _STRING.match(text, offset) or _PLAIN.match(text, offset)) is None:
        raise _wrong(text, offset, "a value is expected")
    try:
        return Node(offset, found.end(), json.loads(found.group()))
    except ValueError as error:
        raise _wrong(text, offset, "a value is damaged") from error


def _object(text: str, start: int, depth: int) -> Node:
    """Parse the object at an offset."""
    members: dict[str, Member] = {}
    offset = _skip(text, start + 1)
    while not text.startswith("}", offset):
        if (key := _STRING.match(text, offset)) is None:
            raise _wrong(text, offset, "a key in quotes is expected")
        colon = _skip(text, key.end())
        if not text.startswith(":", colon):
            raise _wrong(text, colon, "a colon is expected")
        value = _value(text, _skip(text, colon + 1), depth + 1)
        members[json.loads(key.group())] = Member(offset, value)
        offset = _next(text, value.end, "}")
    return Node(start, offset + 1, {key: member.value.value for key, member in members.items()}, members)


def _array(text: str, start: int, depth: int) -> Node:
    items = []
    offset = _skip(text, start + 1)
    while not text.startswith("]", offset):
        item = _value(text, offset, depth + 1)
        items.append(item)
        offset = _next(text, item.end, "]")
    return Node(start, offset + 1, [item.value for item in items], items=items)


def _next(text: str, offset: int, closing: str) -> int:
    """The offset of the next item or of the closing bracket."""
    offset = _skip(text, offset)
    if text.startswith(",", offset):
        return _skip(text, offset + 1)
    if not text.startswith(closing, offset):
        raise _wrong(text, offset, f"a comma or {closing} is expected")
    return offset


def _wrong(text: str, offset: int, why: str) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, offset) + 1}: {why}")
