"""Markdown as data for templates: blocks with spans of text. Nothing becomes markup here, so nothing has to be trusted.

Only what people use in notes is read: headings, lists, quotations, fenced code, and in a line code and strong text.
Everything else stays the text that it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

BlockKind = Literal["heading", "text", "list", "code", "quote"]
_FENCE = re.compile(r" {0,3}(```+|~~~+)[^`]*")
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_ITEM = re.compile(r"\s{0,12}(?:[-*+]|\d{1,4}[.)]) +(.*)")
_ESCAPED = re.compile(r"\\(?=#{1,2}(?: |$))")
_SPAN = re.compile(r"`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*")


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line."""

    text: str
    style: str = ""  # code | strong


@dataclass(slots=True)
class Block:
    """A piece of a document; a list has a row of spans for each item, the others one."""

    kind: BlockKind
    rows: list[list[Span]] = field(default_factory=list)
    text: str = ""  # of code, as it is


def blocks(text: str) -> list[Block]:
    """The blocks of a text, in order."""
    found: list[Block] = []
    lines = text.replace("\r\n", "\n").split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = _FENCE.fullmatch(line)
        number += 1
        if fence:
            end = next((n for n in range(number, len(lines)) if lines[n].strip().startswith(fence[1])), len(lines))
            found.append(Block("code", text="\n".join(lines[number:end])))
            number = end + 1
            continue
        _add(found, line)
    return [block for block in found if block.rows or block.kind == "code"]


def _add(found: list[Block], line: str) -> None:
    """Add a line that is not in fenced code to the blocks."""
    last = found[-1] if found else None
    heading, item = _HEADING.fullmatch(line), _ITEM.fullmatch(line)
    if not line.strip():
        found.append(Block("text"))  # whatever comes next begins a block
    elif heading:
        found.append(Block("heading", [spans(_without_closing(heading[2]))]))
    elif item:
        if last is None or last.kind != "list":
            found.append(last := Block("list"))
        last.rows.append(spans(item[1]))
    elif line.startswith(">"):
        if last is None or last.kind != "quote":
            found.append(last := Block("quote"))
        last.rows.append(spans(line[1:].strip()))
    elif last is not None and last.kind == "list" and line.startswith("  "):
        last.rows[-1] += [Span(" "), *spans(line.strip())]
    else:
        if last is None or last.kind != "text":
            found.append(last := Block("text"))
        last.rows.append(spans(_ESCAPED.sub("", line)))


def _without_closing(heading: str) -> str:
    """A heading without the signs that may close it."""
    text = heading.rstrip()
    bare = text.rstrip("#")
    return bare.rstrip() if bare != text and bare.endswith(" ") else text


def spans(line: str) -> list[Span]:
    """The pieces of a line."""
    found: list[Span] = []
    end = 0
    for match in _SPAN.finditer(line):
        if match.start() > end:
            found.append(Span(line[end : match.start()]))
        style = "code" if match["code"] is not None else "strong"
        found.append(Span(match[style], style))
        end = match.end()
    if end < len(line) or not found:
        found.append(Span(line[end:]))
    return found
