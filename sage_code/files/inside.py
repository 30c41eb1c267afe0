"""Turns a path that a user or an agent gives into the path that the index uses, which is inside the project."""

from __future__ import annotations

import os

from sage_code.errors import UsageError


def relative_path(root: str, path: str) -> str:
    """`path` as the index names it; UsageError if it leads out of the project, by a link too."""
    given = path if os.path.isabs(path) else os.path.join(root, path)
    absolute = os.path.realpath(given)
    if not os.path.isfile(absolute) and not os.path.isabs(path):
        absolute = os.path.realpath(path)  # relative to the current folder
    inside = os.path.relpath(absolute, os.path.realpath(root)).replace(os.sep, "/")
    if inside.split("/", 1)[0] == os.pardir or not os.path.isfile(absolute):
        raise UsageError(f"there is no file {path} in {root}", "give a path inside the project")
    return inside


def is_inside(path: str) -> bool:
    """Whether a path is written like one below the root; the disk is not read."""
    steps = path.split("/")
    return not os.path.isabs(path) and "\\" not in path and not {"", ".", ".."} & set(steps)
