"""Writes headings, prose and lists as Markdown that people edit, and reads them back exactly.

Prose that looks like structure (a line that begins like a heading, blank lines at its edges) is escaped with a
backslash, as in Markdown. List items continue in indented lines. The reader also accepts what the writer never writes:
blank lines after headings, `*` for items, unknown sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_HEADING = re.compile(r"#{1,2} (.*)|#{1,2}")
# Lines of prose that get one more backslash when written, and lose it when read.
_STRUCTURE = re.compile(r"\\*#{1,2}( |$)|\\+\s*$")
_ESCAPED = re.compile(r"\\+(#{1,2}( |$)|\s*$)")
_ITEM = re.compile(r"[-*+](?: (.*))?", re.DOTALL)
_INDENT = "  "


def write_sections(title: str, sections: Iterable[tuple[str, str]]) -> str:
    """A document from sections whose texts come from `write_prose` or `write_list`."""
    parts = [f"# {write_title(title)}", *(f"## {heading}\n{text}" for heading, text in sections)]
    return "\n" + "\n\n".join(parts) + "\n"


def write_title(title: str) -> str:
    """A title, whose further lines are prose."""
    first, more, rest = title.partition("\n")
    return f"{first}\n{write_prose(rest)}" if more else first


def read_sections(body: str) -> tuple[str, list[tuple[str, list[str]]]]:
    """The title, and the heading and lines of each section."""
    title: str | None = None
    sections: list[tuple[str, list[str]]] = []
    head: list[str] = []  # the lines after the title; lines above it are dropped
    current = head
    for line in body.split("\n"):
        found = _HEADING.fullmatch(line)
        if found is None:
            current.append(line)
        elif title is None and not line.startswith("##"):
            title, current = found[1] or "", head
            head.clear()
        else:
            current = []
            sections.append(((found[1] or "").strip(), current))
    rest = trimmed(head)
    return f"{title}\n{read_prose(rest)}" if title is not None and rest else title or "", sections


def write_prose(text: str) -> str:
    """Free text as the body of a section, escaped where it looks like structure."""
    lines = text.split("\n")
    inner = len(trimmed(lines))
    start = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(
        f"\\{line}" if _STRUCTURE.match(line) or not start <= number < start + inner else line
        for number, line in enumerate(lines)
    )


def read_prose(lines: list[str]) -> str:
    """The inverse of `write_prose`."""
    return "\n".join(line[1:] if _ESCAPED.match(line) else line for line in trimmed(lines))


def trimmed(lines: list[str]) -> list[str]:
    """The lines without blank ones at the beginning and the end."""
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def write_list(items: Iterable[str]) -> str:
    """Texts as the items of a list."""
    return "\n".join("- " + item.replace("\n", f"\n{_INDENT}") for item in items)


def read_list(lines: list[str]) -> tuple[str, ...]:
    """The inverse of `write_list`; a line outside of any item becomes an item."""
    items: list[list[str]] = []
    waiting = 0  # blank lines that belong to the item if it continues
    for line in lines:
        found = _ITEM.fullmatch(line)
        if found is not None:
            items.append([found[1] or ""])
        elif line.startswith(_INDENT) and items:
            items[-1] += [""] * waiting + [line[len(_INDENT) :]]
        elif not line.strip():
            waiting += 1
            continue
        else:
            items.append([line])
        waiting = 0
    return tuple("\n".join(item) for item in items)
