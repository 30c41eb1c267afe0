"""A project's `.sage/` folder: created when something is first kept there, and never written through a link.

`codebase/` (can be made again) and `local/` (one user's own) stay out of version control and are private. Everything
else there, such as the core files, is for a team to share and has ordinary modes. As long as nothing is shared,
`.sage/.gitignore` ignores itself too: a repository that was only indexed has nothing to commit.
"""

from __future__ import annotations

import contextlib
import os

from sage_code.errors import UsageError
from sage_code.files.atomic import write_bytes
from sage_code.files.contained import read_regular, remove_contained
from sage_code.files.private import make_private
from sage_code.paths import dot_sage_dir

_PRIVATE = ("codebase", "local")
_IGNORE_FILE = ".gitignore"
_SHARED_IGNORE = "# Written by Sage: what can be made again is not for the repository.\ncodebase/\nlocal/\n"
_LONE_IGNORE = f"{_SHARED_IGNORE}{_IGNORE_FILE}\n"
_MAX_IGNORE_BYTES = 64 * 1024


def prepare(root: str, *folders: str, shares: bool = False) -> str:
    """Create the project's `.sage/` with these folders below it; UsageError if one of them is a link.

    `shares`: the caller is about to save something there that a team shares.
    """
    dot_sage = dot_sage_dir(root)
    wanted = [os.path.join(dot_sage, folder) for folder in folders]
    # A repository may contain any of these as a link to anywhere; nothing is written or deleted there.
    for folder in (dot_sage, *wanted):
        if os.path.islink(folder):
            raise UsageError(f"{folder} is a link, and Sage writes through none", "replace it by a folder")
    os.makedirs(dot_sage, exist_ok=True)
    for name, folder in zip(folders, wanted, strict=True):
        if name.split(os.sep, 1)[0] in _PRIVATE:
            make_private(folder)
        else:
            os.makedirs(folder, exist_ok=True)
    _ignore(dot_sage, shares or _has_shared(dot_sage))
    return dot_sage


def share(root: str) -> None:
    """Have `.sage/.gitignore` no longer ignore itself: something that a team shares has been saved."""
    if os.path.isdir(dot_sage_dir(root)):
        _ignore(dot_sage_dir(root), shared=True)


def clear(root: str) -> list[str]:
    """Remove what is not shared, and `.sage/` itself if it is empty then; returns the folders that were kept because
    they are links."""
    dot_sage = dot_sage_dir(root)
    base, name = os.path.split(dot_sage)
    left = [
        os.path.join(dot_sage, folder)
        for folder in _PRIVATE
        if not remove_contained(base, f"{name}/{folder}") and os.path.lexists(os.path.join(dot_sage, folder))
    ]
    if not left and not os.path.islink(dot_sage) and not _has_shared(dot_sage):
        if _content(dot_sage) in (_SHARED_IGNORE, _LONE_IGNORE):
            remove_contained(base, f"{name}/{_IGNORE_FILE}")
        with contextlib.suppress(OSError):  # another process has put something there
            os.rmdir(dot_sage)
    return left


def _has_shared(dot_sage: str) -> bool:
    """Whether there is anything besides what is this user's alone."""
    try:
        return bool(set(os.listdir(dot_sage)) - {*_PRIVATE, _IGNORE_FILE})
    except OSError:
        return False


def _ignore(dot_sage: str, shared: bool) -> None:
    """Write `.gitignore` if there is none, and change one only if it is still as Sage has written it."""
    if os.path.islink(dot_sage):
        return
    path = os.path.join(dot_sage, _IGNORE_FILE)
    if not os.path.lexists(path) or (shared and _content(dot_sage) == _LONE_IGNORE):
        write_bytes(path, (_SHARED_IGNORE if shared else _LONE_IGNORE).encode())


def _content(dot_sage: str) -> str:
    try:
        return read_regular(os.path.join(dot_sage, _IGNORE_FILE), _MAX_IGNORE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
