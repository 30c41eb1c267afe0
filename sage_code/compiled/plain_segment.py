"""Reads segments and the centrality file without NumPy, for searches of exact text.

Such a search reads a few columns and a few postings, and importing NumPy takes longer than all of that. Columns are
views of the mapped file. `segment.py` describes the format; this module knows only the sections that it names.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left, bisect_right
from itertools import pairwise

from sage_code.compiled.inventory import MEND_HINT
from sage_code.errors import IndexCorrupt
from sage_code.files.contained import open_regular
from sage_code.languages.kinds import CHUNK_KINDS
from sage_code.text.light_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MAGIC = b"SAGESEG1"
# By type in the header, the letter of the same type in `memoryview.cast`.
_LETTERS = {"|u1": "B", "|i1": "b", "<u2": "H", "<u4": "I", "<u8": "Q", "<f4": "f"}
# The column of `posting_ends` that belongs to the text of chunks: the first of `segment.FIELDS`.
_BODY = 0


class PlainSections:
    """A mapped file of named arrays, as `sections.py` writes it."""

    def __init__(self, path: str) -> None:
        try:
            with open_regular(path) as file:
                if not os.fstat(file.fileno()).st_size:
                    raise ValueError("empty")
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            if self.map[:8] != _MAGIC:
                raise ValueError("not a segment")
            start = 16 + int.from_bytes(self.map[8:16], "little")
            header = loads(self.map[16:start].rstrip())
            self.meta: dict[str, Any] = header["meta"]
            self._arrays: dict[str, list[Any]] = header["arrays"]
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise IndexCorrupt(f"{path} is damaged: {error}", MEND_HINT) from error
        self._start = start
        self._bytes = memoryview(self.map)
        self._columns: dict[str, memoryview[Any]] = {}

    def column(self, name: str) -> memoryview[Any]:
        """An array, flat."""
        found = self._columns.get(name)
        if found is None:
            letter = _LETTERS[self._arrays[name][0]]
            first, last = self.span(name)
            found = self._columns[name] = self._bytes[first:last].cast(letter)  # type: ignore[call-overload]
        return found

    def span(self, name: str) -> tuple[int, int]:
        """Where the bytes of an array are in the file."""
        dtype, shape, offset = self._arrays[name]
        size = int(dtype[2:])
        for length in shape:
            size *= length
        return self._start + offset, self._start + offset + size

    def width(self, name: str) -> int:
        """The length of the rows of an array."""
        shape = self._arrays[name][1]
        return int(shape[1]) if len(shape) > 1 else 1

    def string(self, name: str, row: int) -> bytes:
        """One entry of a column of strings."""
        at, (start, _) = self.column(f"{name}_at"), self.span(name)
        return self.map[start + at[row] : start + at[row + 1]]


class PlainSegment(PlainSections):
    """A mapped segment: its files, its chunks, and which chunks have a word."""

    def paths(self) -> list[str]:
        """The paths of the files, by number."""
        at, (start, end) = self.column("paths_at"), self.span("paths")
        heap = self.map[start:end]
        return [heap[first:last].decode() for first, last in pairwise(at.tolist())]

    def language(self, file: int) -> str:
        """The language of a file."""
        return str(self.meta["languages"][self.column("file_language")[file]])

    def chunk_at(self, file: int, line: int) -> int | None:
        """The chunk of a file that has a line."""
        owner = self.column("chunk_file")
        first, last = bisect_left(owner, file), bisect_right(owner, file)
        chunk = bisect_right(self.column("chunk_start"), line, first, last) - 1
        return chunk if chunk >= first else None

    def kind(self, chunk: int) -> str:
        """The kind of a chunk."""
        return CHUNK_KINDS[self.column("chunk_kind")[chunk]]

    def rows_equal(self, term: bytes) -> list[int]:
        """The row of a term, if there is one."""
        row = self._first_from(term)
        return [row] if row < self._terms() and self.string("terms", row) == term else []

    def rows_beginning(self, head: bytes) -> range:
        """The rows of the terms that begin with `head`."""
        return range(self._first_from(head), self._first_from(head + b"\xff"))

    def rows_containing(self, part: bytes, *, ending: bool, most: int) -> list[int] | None:
        """The rows of the terms that contain `part`, or end with it; None if they are more than `most`."""
        at, (start, end) = self.column("terms_at"), self.span("terms")
        rows: list[int] = []
        find, length = self.map.find, len(part)
        found = find(part, start, end)
        while found >= 0:
            row = bisect_right(at, found - start) - 1
            next_term = start + at[row + 1]
            if found + length > next_term:  # the end of one term and the beginning of another
                found = find(part, found + 1, end)
                continue
            if ending and found + length < next_term:
                found = find(part, found + 1, end)
                continue
            rows.append(row)
            if len(rows) > most:
                return None
            found = find(part, next_term, end)
        return rows

    def postings(self, rows: Iterable[int]) -> int:
        """How many chunks have each of the terms in their text, in all."""
        ends, width = self.column("posting_ends"), self.width("posting_ends")
        return sum(ends[(row + 1) * width + _BODY] - ends[row * width + _BODY] for row in rows)

    def files_with(self, rows: Iterable[int]) -> set[int]:
        """The files that have any of the terms in their text."""
        ends, width = self.column("posting_ends"), self.width("posting_ends")
        docs, owner = self.column("body_docs"), self.column("chunk_file")
        files: set[int] = set()
        for row in rows:
            chunks = docs[ends[row * width + _BODY] : ends[(row + 1) * width + _BODY]].tolist()
            files.update([owner[chunk] for chunk in chunks])
        return files

    def _terms(self) -> int:
        return len(self.column("terms_at")) - 1

    def _first_from(self, text: bytes) -> int:
        """The first row whose term is not below `text`."""
        return bisect_left(range(self._terms()), text, key=lambda row: self.string("terms", row))
