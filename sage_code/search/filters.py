"""Which files may answer: languages, kinds and paths are compared with what the index holds, never evaluated."""

from __future__ import annotations

import fnmatch

import numpy as np
from numpy.typing import NDArray

from sage_code.search.query import Filters
from sage_code.search.snapshot import SearchSnapshot


def allowed_files(snapshot: SearchSnapshot, filters: Filters) -> NDArray[np.bool_]:
    """The files that are alive and pass the filters."""
    allowed = snapshot.alive.copy()
    if filters.languages:
        wanted = {language.lower() for language in filters.languages}
        allowed &= np.array([language in wanted for language in snapshot.languages()], dtype=bool)
    if filters.paths:
        for file in np.flatnonzero(allowed).tolist():
            allowed[file] = any(_matches(snapshot.path(file), pattern) for pattern in filters.paths)
    return allowed


def _matches(path: str, pattern: str) -> bool:
    """A folder or file by its beginning, any run of parts, or a glob."""
    plain = pattern.strip("/").removeprefix("./")
    if any(mark in plain for mark in "*?["):
        return fnmatch.fnmatchcase(path, plain) or fnmatch.fnmatchcase(path, f"*/{plain}")
    return path.startswith(plain) or f"/{plain}/" in f"/{path}/"
