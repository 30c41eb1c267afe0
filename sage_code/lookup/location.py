"""From what a person types to a location: `FILE`, `FILE:LINE` or `FILE:LINE-LINE`. Anything else is a symbol's name."""

from __future__ import annotations

import re

from sage_code.errors import UsageError
from sage_code.files.inside import is_inside, relative_path
from sage_code.values import Location

_WITH_LINES = re.compile(r"(?P<file>.+):(?P<first>\d{1,8})(?:-(?P<last>\d{1,8}))?", re.DOTALL)


def parse_location(root: str, text: str) -> Location | None:
    """The location that `text` names in a project; None if it can only be the name of a symbol.

    A path may be relative to the root or to the current folder. The path of a file that is gone stays as it is given;
    a path that leads out of the project is an error.
    """
    text = text.strip()
    found = _WITH_LINES.fullmatch(text)
    file = found["file"] if found else text
    try:
        file = relative_path(root, file)
    except UsageError:
        if found is None and "/" not in file:
            return None
        if not is_inside(file):
            raise
    if found is None:
        return Location(file)
    first, last = int(found["first"]), int(found["last"] or found["first"])
    if not 1 <= first <= last:
        lines = text[found.end("file") :]
        raise UsageError(f"{file}{lines} names no lines", "the first line is 1, and the last is not before the first")
    return Location(file, first, last)
