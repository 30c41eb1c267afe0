"""The touch: what a tool call did to a file. The common value of all transcript formats, with helpers to parse it."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from sage_code.text.light_json import loads
from sage_code.transcripts.lines import is_text

# No real path or line number is larger; a transcript is foreign text.
_MAX_PATH_CHARS = 4096
_MAX_LINE = 10_000_000
_ODD_PATH = re.compile(r"//|/\.|/$")


class Hunk(NamedTuple):
    """Lines that were replaced by others; a count of 0 means an insertion or a deletion."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


class Touch(NamedTuple):
    """One file that a successful call read, found or changed."""

    file: str  # absolute
    action: str  # read | edit | write | grep | glob
    timestamp: str = ""
    lines: tuple[int, int] | None = None
    hunks: tuple[Hunk, ...] = ()


class Call(NamedTuple):
    """A call without a result so far. It is kept between two readings, so it is small."""

    tool: str
    file: str = ""
    lines: tuple[int, int] | None = None
    folder: str = ""  # the folder of relative names in the result
    uses: tuple[Touch, ...] = ()


def decode(line: bytes) -> dict[str, Any] | None:
    """The record in a line; None if it is no object, ValueError if it is damaged."""
    if not is_text(line):
        raise ValueError("the line is no text")
    try:
        record = loads(line.strip())
    except RecursionError:
        raise ValueError("the record is nested too deeply") from None
    return record if isinstance(record, dict) else None


def string_or_empty(value: object) -> str:
    """The value if it is a text; empty otherwise."""
    return value if isinstance(value, str) else ""


def absolute(path: object, folder: object) -> str:
    """`path` as an absolute path; empty if it cannot be one."""
    if not isinstance(path, str) or not path or len(path) > _MAX_PATH_CHARS or "\0" in path:
        return ""
    if path[0] != "/" and not os.path.isabs(path):
        if not isinstance(folder, str) or not os.path.isabs(folder) or "\0" in folder:
            return ""
        path = os.path.join(folder, path)
    # Nearly all paths are normal already, and there may be thousands.
    return os.path.normpath(path) if _ODD_PATH.search(path) or os.sep != "/" else path


def line_range(first: object, count: object) -> tuple[int, int] | None:
    """A range from its first line and its length; None if either is not valid."""
    if type(first) is not int or type(count) is not int or not 1 <= first <= _MAX_LINE or not 1 <= count <= _MAX_LINE:
        return None
    return first, first + count - 1


def hunk(given: object) -> Hunk | None:
    """A hunk of a patch without its context lines; None if it is not valid."""
    if not isinstance(given, dict):
        return None
    numbers = [
        number
        for key in ("oldStart", "oldLines", "newStart", "newLines")
        if type(number := given.get(key)) is int and 0 <= number <= _MAX_LINE
    ]
    if len(numbers) < len(Hunk._fields):
        return None
    old_start, old_lines, new_start, new_lines = numbers
    lines = given.get("lines")
    head = tail = 0
    if isinstance(lines, list):
        kept = [isinstance(line, str) and line[:1] == " " for line in lines]
        head = kept.index(False) if False in kept else 0
        tail = kept[::-1].index(False) if False in kept else 0
    most = min(old_lines, new_lines)
    head = min(head, most)
    tail = min(tail, most - head)
    return Hunk(old_start + head, old_lines - head - tail, new_start + head, new_lines - head - tail)
