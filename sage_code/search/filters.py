"""Works out which files and chunks pass the filters of a query.

Languages, kinds and paths are compared with values of the index, never evaluated.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import KINDS
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.query import Filters
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.wanted import check_paths, matches_path, wanted_kinds, wanted_language
from sage_code.values import Symbol

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
        known = set[str]().union(*(segment.meta["languages"] for segment in snapshot.segments))
        wanted = {wanted_language(name, known) for name in filters.languages}
        allowed &= np.array([language in wanted for language in snapshot.languages()], dtype=bool)
    if filters.paths:
        check_paths(filters.paths)
        for file in np.flatnonzero(allowed).tolist():
            allowed[file] = any(matches_path(snapshot.path(file), pattern) for pattern in filters.paths)
    return allowed


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
