"""Works out which files and chunks pass the filters of a query.

Languages, kinds and paths are compared with values of the index, never evaluated.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import KINDS
from sage_code.errors import UsageError
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.query import Filters
from sage_code.search.snapshot import SearchSnapshot
from sage_code.values import Symbol

# Each pattern is compared with the path of every file. A glob never backtracks (`fnmatch` makes atomic groups of it),
# so these limits bound what a query costs.
_MAX_PATHS = 100
_MAX_PATH_CHARS = 1_000
# By snapshot and kinds, the chunks that define something of these kinds.
_DEFINING: WeakKeyDictionary[SearchSnapshot, dict[frozenset[str], NDArray[np.bool_]]] = WeakKeyDictionary()


class Allowed(NamedTuple):
    """What passes the filters; None if everything does."""

    files: NDArray[np.bool_] | None = None
    chunks: NDArray[np.bool_] | None = None


def apply_filters(snapshot: SearchSnapshot, filters: Filters) -> Allowed:
    """What is alive and passes the filters; an unknown language or kind is a usage error."""
    if not (filters.languages or filters.paths or filters.kinds):
        return Allowed() if snapshot.all_alive else Allowed(snapshot.alive, snapshot.chunk_alive)
    files = _allowed_files(snapshot, filters)
    chunks = files[snapshot.chunk_file]
    if filters.kinds:
        chunks &= _of_kind(snapshot, wanted_kinds(filters.kinds))
    return Allowed(files, chunks)


def _allowed_files(snapshot: SearchSnapshot, filters: Filters) -> NDArray[np.bool_]:
    """The files that are alive and pass the filters."""
    allowed = snapshot.alive.copy()
    if filters.languages:
        wanted = {_language(name.lower(), snapshot) for name in filters.languages}
        allowed &= np.array([language in wanted for language in snapshot.languages()], dtype=bool)
    if filters.paths:
        if len(filters.paths) > _MAX_PATHS or any(len(pattern) > _MAX_PATH_CHARS for pattern in filters.paths):
            raise UsageError(
                f"more than {_MAX_PATHS} paths, or one of more than {_MAX_PATH_CHARS} characters", "ask for fewer"
            )
        for file in np.flatnonzero(allowed).tolist():
            allowed[file] = any(_matches(snapshot.path(file), pattern) for pattern in filters.paths)
    return allowed


def _language(name: str, snapshot: SearchSnapshot) -> str:
    """A language by its name, or by an extension of its files: `py`, `.rs`."""
    if any(name in segment.meta["languages"] for segment in snapshot.segments):
        return name
    from sage_code.languages.table import all_languages, by_name  # lazy: reads the table of languages

    if by_name(name):
        return name
    extension = name.lstrip(".")
    for language in all_languages():
        if extension in language.extensions:
            return language.name
    raise UsageError(
        f"there is no language {name[:40]!r}", "`sage status` lists those of the project, docs/LANGUAGES.md all"
    )


def wanted_kinds(kinds: Iterable[str]) -> frozenset[str]:
    """The kinds in lower case; one that is neither a kind of chunks nor of symbols is a usage error."""
    wanted = frozenset(kind.lower() for kind in kinds)
    for kind in wanted:
        if kind not in KINDS and kind not in CHUNK_KIND:
            known = ", ".join((*KINDS, *(symbol for symbol in CHUNK_KIND if symbol not in KINDS)))
            raise UsageError(f"there is no kind {kind[:40]!r}", f"a kind is one of {known}")
    return wanted


def is_wanted(symbol: Symbol, wanted: frozenset[str]) -> bool:
    """Whether a symbol is of a wanted kind: a `struct` is also a class."""
    return symbol.kind in wanted or CHUNK_KIND.get(symbol.kind) in wanted


def _of_kind(snapshot: SearchSnapshot, wanted: frozenset[str]) -> NDArray[np.bool_]:
    """The chunks of a wanted kind or with a symbol of one: a small class is one chunk with its methods."""
    known = _DEFINING.setdefault(snapshot, {})
    if wanted not in known:
        numbers = [number for number, kind in enumerate(KINDS) if kind in wanted]
        mask = np.isin(snapshot.chunk_kind, numbers)
        for file in range(snapshot.files):
            lines = [symbol.line for symbol in snapshot.symbols(file) if is_wanted(symbol, wanted)]
            if lines:
                mask[snapshot.chunks_at_lines(file, lines)] = True
        known[wanted] = mask
    return known[wanted]


def _matches(path: str, pattern: str) -> bool:
    """Whether a path matches a pattern: its beginning, any run of its parts, or a glob."""
    plain = pattern.strip("/").removeprefix("./")
    if any(mark in plain for mark in "*?["):
        # `**/` also matches no folder at all.
        return any(fnmatch.fnmatchcase(path, glob) for glob in (plain, f"*/{plain}", plain.replace("**/", "")))
    return path.startswith(plain) or f"/{plain}/" in f"/{path}/"
