"""From a path that somebody gives to the one that the index uses, if it stays inside the project."""

from __future__ import annotations

import os

from sage_code.errors import UsageError


def relative_path(root: str, path: str) -> str:
    """`path` as the index names it; a path that leads out of the project, also by a link, is refused."""
    given = path if os.path.isabs(path) else os.path.join(root, path)
    absolute = os.path.realpath(given)
    if not os.path.isfile(absolute) and not os.path.isabs(path):
        absolute = os.path.realpath(path)  # as seen from where the user stands
    inside = os.path.relpath(absolute, os.path.realpath(root)).replace(os.sep, "/")
    if inside.split("/", 1)[0] == os.pardir or not os.path.isfile(absolute):
        raise UsageError(f"there is no file {path} in {root}", "give a path inside the project")
    return inside


def is_inside(path: str) -> bool:
    """Whether a path that came from elsewhere reads like one from the root downwards; nothing is looked up."""
    steps = path.split("/")
    return not os.path.isabs(path) and "\\" not in path and not {"", ".", ".."} & set(steps)
