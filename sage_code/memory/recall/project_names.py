"""The names of a project: of its folder, its git remote, its `pyproject.toml` and its `package.json`.

The files are read as bounded text; nothing of the project is executed, and git is not called.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from contextlib import suppress

from sage_code.files.contained import read_contained, read_regular

_MAX_BYTES = 256 * 1024
_MAX_CHARS = 100
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)


def project_names(root: str) -> list[str]:
    """The distinct names of a project, the folder's first."""
    names = [os.path.basename(os.path.realpath(root)), _remote(root), _pyproject(root), _package(root)]
    plain = (re.sub(r"[^\w@/.-]+", " ", name).strip()[:_MAX_CHARS] for name in names if name)
    return list(dict.fromkeys(name for name in plain if name))


def _remote(root: str) -> str:
    """The repository's name, from the address of its remote."""
    return remote_url(root).rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2]


def remote_url(root: str) -> str:
    """The address of the first remote of a repository; empty if it has none. It may have a password."""
    folder = ".git"
    with suppress(OSError):  # in a worktree, `.git` is a file with the path of the repository
        pointer = read_contained(os.fsencode(root), b".git", 4096).decode("utf-8", "replace")
        folder = pointer.removeprefix("gitdir:").strip().partition("/worktrees/")[0]
    with suppress(OSError):
        found = _URL.search(read_regular(os.path.join(root, folder, "config"), _MAX_BYTES).decode("utf-8", "replace"))
        return found[1] if found else ""
    return ""


def _pyproject(root: str) -> str:
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        data = tomllib.loads(read_contained(os.fsencode(root), b"pyproject.toml", _MAX_BYTES).decode("utf-8"))
        name = data.get("project", {}).get("name") or data.get("tool", {}).get("poetry", {}).get("name")
        return name if isinstance(name, str) else ""
    return ""


def _package(root: str) -> str:
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        name = json.loads(read_contained(os.fsencode(root), b"package.json", _MAX_BYTES)).get("name")
        return name if isinstance(name, str) else ""
    return ""
