"""Keeps what one user's Sage writes from other users: folders of mode 0700, files of mode 0600, for any umask.

Lance creates its files by the umask; the folder around them, which others cannot enter, protects them too. Windows
protects a user's folders by itself.
"""

from __future__ import annotations

import contextlib
import os
import stat
from functools import cache

from sage_code.files.atomic import PRIVATE_FILE, remove, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.paths import DOT_SAGE, sage_home

FOLDER = 0o700
_OTHERS = 0o077
_NAME_BYTES = 12


def make_private(path: str) -> None:
    """Create the folder at `path` for its owner alone; one that others may enter is closed with everything in it."""
    missing = []
    folder = path
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, FOLDER)
        except FileExistsError:  # another process was faster
            if not os.path.isdir(folder):
                raise
    if not missing and _is_open(path):
        close(path)


def close_home() -> None:
    """Create Sage's home, where the store, the registry and keys are, for the user alone.

    If SAGE_HOME names a folder that is not called `.sage`, that folder keeps its mode: it may hold other things.
    """
    home = sage_home()
    make_private(os.path.join(home, "codebase"))
    if os.path.basename(home) == DOT_SAGE and _is_open(home):
        _close_one(home)


def close(path: str) -> None:
    """Take from others all rights to the folder at `path` and everything in it; no link is followed."""
    _close_one(path)  # first: from here on nothing below can be reached
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            inside = os.path.join(parent, name)
            try:
                if _is_open(inside):
                    _close_one(inside)
            except FileNotFoundError:  # replaced by a process at work
                continue


def private_name() -> str:
    """The name of a folder that only this user's Sage knows. A clone cannot bring a folder of that name, so Sage trusts
    the files in it, although the folder around it may come from anybody."""
    return _private_name(sage_home())


@cache
def _private_name(home: str) -> str:
    """The name that a home of Sage keeps, made when there is none or when it is damaged."""
    path = os.path.join(home, "codebase", "private-name")
    if name := _read_name(path):
        return name
    new = os.urandom(_NAME_BYTES).hex()
    with contextlib.suppress(OSError):  # if the home cannot be written, the name serves this process alone
        make_private(os.path.dirname(path))
        with locked(f"{path}.lock"):  # of several that begin at once, all take the name of the first
            if name := _read_name(path):
                return name
            if os.path.isdir(path):
                remove(path)
            write_bytes(path, new.encode(), mode=PRIVATE_FILE)
    return new


def _read_name(path: str) -> str:
    """The name in the file; empty without one, or with a damaged one."""
    with contextlib.suppress(OSError, ValueError):
        name = read_regular(path, 2 * _NAME_BYTES).decode("ascii")
        if len(name) == 2 * _NAME_BYTES and name.isalnum():
            return name
    return ""


def _is_open(path: str) -> bool:
    """Whether this file or folder is ours and others have any right to it."""
    if os.name == "nt":
        return False
    found = os.lstat(path)
    return bool(found.st_mode & _OTHERS) and not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid()


def _close_one(path: str) -> None:
    # The user's own rights stay: a folder that was read-only still is.
    os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & ~_OTHERS)
