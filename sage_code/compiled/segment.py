"""A segment of the search snapshot: chunk table, quantised vectors and postings of a set of files.

Segments are immutable. A run over changed files writes one small segment and marks the old versions of those files as
dead in the older segments; too many small segments are written again as one. `segment_builder.py` writes what this
module reads.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from sage_code.compiled.sections import Strings, Terms, read_sections
from sage_code.languages.kinds import CHUNK_KINDS
from sage_code.values import Symbol

if TYPE_CHECKING:
    from sage_code.compiled.references import ReferenceTable

# History of the format: 1: first version, fields `body` and `head`; 2: references, and the symbols of each file;
# 3: fields `body`, `name`, `doc` and, of files, `path`; 4: one table of terms for all fields;
# 5: terms are searched by their first letters, and the ends of a term's postings are adjacent;
# 6: definitions and their centrality; 7: hashes of paths and names, the line of a name, and centrality is counted over
# the whole project, in a file of the generation; 8: the words of each chunk in their order, and a mark for words that
# are too long to be terms.
FORMAT = 8
# Searched fields of a chunk: its text, the names defined in it, its documentation.
CHUNK_FIELDS = ("body", "name", "doc")
# And of a file.
FILE_FIELDS = ("path",)
FIELDS = CHUNK_FIELDS + FILE_FIELDS
# Where a stored symbol has its first and its last line.
_START, _END = 4, 5
# Files of a segment whose symbols are kept for the next query; beyond these all are forgotten.
_KEPT_TABLES = 256
KINDS = CHUNK_KINDS


class _SymbolTable:
    """The definitions of a file; those that are asked for are made once."""

    __slots__ = ("_ends", "_made", "_rows", "_starts")

    def __init__(self, stored: bytes) -> None:
        self._rows: list[list[Any]] = orjson.loads(stored)
        # Of each row the highest end up to it and the lowest start from it on: sorted, whatever the order of the rows.
        self._ends = list(accumulate([fields[_END] for fields in self._rows], max))
        self._starts = list(accumulate([fields[_START] for fields in reversed(self._rows)], min))[::-1]
        self._made: dict[int, Symbol] = {}

    def between(self, first: int, last: int) -> list[Symbol]:
        """Those that have any of these lines, in their order."""
        found = []
        for row in range(bisect_left(self._ends, first), bisect_right(self._starts, last)):
            fields = self._rows[row]
            if fields[_START] <= last and fields[_END] >= first:
                symbol = self._made.get(row)
                if symbol is None:
                    symbol = self._made[row] = Symbol(*fields)
                found.append(symbol)
        return found


@dataclass(frozen=True, eq=False)  # two are equal if they are the same one
class Segment:
    """A mapped segment; arrays are views of the file."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def open(cls, path: str) -> Segment:
        """Map the segment at `path`."""
        return cls(*read_sections(path))

    @cached_property
    def paths(self) -> list[str]:
        """Paths of the files, by number."""
        return [text.decode() for text in Strings(self.arrays, "paths")]

    @cached_property
    def keys(self) -> list[str]:
        """Store keys of the files, by number."""
        return [text.decode() for text in Strings(self.arrays, "keys")]

    def string(self, name: str, number: int) -> str:
        """One entry of a string column (`names`, `signatures`, `paths`)."""
        return Strings(self.arrays, name)[number]

    def alive(self, dead: Collection[int]) -> NDArray[np.bool_]:
        """For each file whether it is alive, that is, not in `dead`."""
        alive = np.ones(self.meta["files"], dtype=bool)
        alive[list(dead)] = False
        return alive

    def chunks_outside(self, dead: set[int]) -> int:
        """How many chunks belong to files that are not in `dead`."""
        return int(self.alive(dead)[self.arrays["chunk_file"]].sum()) if dead else int(self.meta["chunks"])

    @cached_property
    def references(self) -> ReferenceTable:
        """What its files refer to."""
        from sage_code.compiled.references import ReferenceTable  # lazy: a search does not ask

        return ReferenceTable(self.arrays)

    def symbols(self, file: int) -> list[Symbol]:
        """The definitions of the file with this number, without their docstrings."""
        return [Symbol(*fields) for fields in orjson.loads(Strings(self.arrays, "symbols").raw(file))]

    def symbols_between(self, file: int, first: int, last: int) -> list[Symbol]:
        """The definitions of a file that have any of these lines; much faster than all of a large file."""
        table = self._symbol_tables.get(file)
        if table is None:
            if len(self._symbol_tables) >= _KEPT_TABLES:
                self._symbol_tables.clear()
            table = self._symbol_tables[file] = _SymbolTable(Strings(self.arrays, "symbols").raw(file))
        return table.between(first, last)

    @cached_property
    def _symbol_tables(self) -> dict[int, _SymbolTable]:
        """Those of the files that were asked for last."""
        return {}

    def kind(self, chunk: int) -> str:
        """The kind of a chunk."""
        return KINDS[int(self.arrays["chunk_kind"][chunk])]

    def language(self, chunk: int) -> str:
        """The language of a chunk's file."""
        return self.file_language(int(self.arrays["chunk_file"][chunk]))

    def file_language(self, file: int) -> str:
        """The language of the file with this number."""
        language: str = self.meta["languages"][int(self.arrays["file_language"][file])]
        return language

    @cached_property
    def terms(self) -> Terms:
        """Every term of any field, sorted."""
        return Terms(self.arrays, "terms")

    def words(self, chunk: int) -> NDArray[np.uint32]:
        """The words of a chunk's text in their order, as rows of `terms`."""
        start, end = self.arrays["words_at"][chunk : chunk + 2].tolist()
        return self.arrays["words"][start:end]

    def postings(self, row: int) -> dict[str, tuple[NDArray[np.uint32], NDArray[np.uint8]]]:
        """By field, the documents that hold the term of this row, and how often; fields without it are left out."""
        starts, ends = self.arrays["posting_ends"][row : row + 2].tolist()
        return {
            field: (self.arrays[f"{field}_docs"][start:end], self.arrays[f"{field}_tfs"][start:end])
            for field, start, end in zip(FIELDS, starts, ends, strict=True)
            if start < end
        }
