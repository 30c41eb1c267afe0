"""Merges segments into one, reading only their files: every segment costs a search time, and a first run writes many.

Columns are copied part by part, and the pages of the segments' files are given back after each; strings are joined a
stretch of the alphabet at a time. A column that must be in memory whole (the postings of a field, the order of the
references) is made when it is written. The result is what `SegmentBuilder` would write for all the files together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.references import by_name
from sage_code.compiled.sections import Deferred, Strings, heads_of, pack_strings, ranked, unload, write_sections
from sage_code.compiled.segment import FIELDS, FILE_FIELDS, Segment
from sage_code.parse.reference_codec import TEXTS
from sage_code.text.numbering import Numbering

_PLAIN = ("chunk_start", "chunk_end", "chunk_kind", "chunk_line", "file_hash", "vectors", "scales", "ref_line")
_STRINGS = ("names", "signatures", "paths", "keys", "symbols")
# Strings of the longest column that are joined at a time.
_STRETCH = 4_096

_Parts = list[NDArray[Any]]
_Columns = dict[str, NDArray[Any] | Sequence[NDArray[Any] | Deferred]]


def merge(segments: Sequence[Segment], path: str) -> None:
    """Write the files of `segments`, in their order, as one segment at `path`."""
    languages = sorted({language for segment in segments for language in segment.meta["languages"]})
    files = _starts(segment.meta["files"] for segment in segments)
    chunks = _starts(segment.meta["chunks"] for segment in segments)
    arrays: _Columns = {name: _column(segments, name) for name in _PLAIN}

    def unload_all() -> None:
        for segment in segments:
            unload(segment.arrays)

    arrays["chunk_file"] = _shifted(segments, "chunk_file", files)
    arrays["file_language"] = [
        np.array([languages.index(language) for language in segment.meta["languages"]], np.uint16)[
            segment.arrays["file_language"]
        ]
        for segment in segments
    ]
    for name in _STRINGS:
        heaps = _column(segments, name)
        ends = _shifted(segments, f"{name}_at", _starts(len(heap) for heap in heaps))
        arrays[f"{name}_at"], arrays[name] = [ends[0], *(part[1:] for part in ends[1:])], heaps
    terms, term_rows = _union(segments, "terms")
    arrays |= {**terms.columns("terms"), "terms_heads": terms.heads}
    posting_ends = np.zeros((len(terms) + 1, len(FIELDS)), np.uint32)
    for column, field in enumerate(FIELDS):
        arrays[f"{field}_lengths"] = _column(segments, f"{field}_lengths")
        documents = files if field in FILE_FIELDS else chunks
        postings = _postings(segments, column, term_rows, posting_ends, documents)
        arrays[f"{field}_docs"], arrays[f"{field}_tfs"] = postings
    arrays["posting_ends"] = posting_ends
    arrays["words"] = _translated(segments, "words", term_rows)
    word_ends = _shifted(segments, "words_at", _starts(len(part) for part in _column(segments, "words")))
    arrays["words_at"] = [word_ends[0], *(part[1:] for part in word_ends[1:])]
    arrays.update(_references(segments, chunks))
    meta = {**segments[0].meta, "chunks": chunks[-1], "files": files[-1], "languages": languages}
    unload_all()
    write_sections(path, meta, arrays, after_each=unload_all)


def _starts(counts: Iterable[int]) -> list[int]:
    return list(accumulate(counts, initial=0))


def _column(segments: Sequence[Segment], name: str) -> _Parts:
    return [segment.arrays[name] for segment in segments]


def _translated(segments: Sequence[Segment], name: str, rows: Sequence[NDArray[np.int64]]) -> list[Deferred]:
    """A column of rows of each segment's table, as rows of the table of all."""

    def translated(of_all: NDArray[np.int64], part: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = of_all[part].astype(np.uint32)
        return found

    return [
        Deferred(np.uint32, len(part), partial(translated, of_all, part))
        for of_all, part in zip(rows, _column(segments, name), strict=True)
    ]


def _shifted(segments: Sequence[Segment], name: str, starts: Sequence[int]) -> _Parts:
    """A column of numbers that count from the start of their segment, counted from the start of the result."""
    return [part + part.dtype.type(start) for part, start in zip(_column(segments, name), starts, strict=False)]


class _Joined:
    """A sorted column of strings, in parts."""

    def __init__(self) -> None:
        self._ends = [np.zeros(1, np.uint64)]
        self._heaps = [np.empty(0, np.uint8)]
        self.heads: _Parts = [np.empty(0, np.uint64)]

    def __len__(self) -> int:
        return sum(map(len, self._ends)) - 1

    def add(self, strings: list[bytes]) -> None:
        """Add strings that come after all others."""
        at, heap = pack_strings(strings)
        self._ends.append(at[1:] + self._ends[-1][-1])
        self._heaps.append(heap)
        self.heads.append(heads_of(strings))

    def columns(self, name: str) -> _Columns:
        """The sections of the column."""
        return {f"{name}_at": self._ends, name: self._heaps}


def _union(segments: Sequence[Segment], name: str) -> tuple[_Joined, list[NDArray[np.int64]]]:
    """The strings of a sorted column as one, and for each segment the rows of its strings in that.

    The longest column is cut into stretches, and each is joined with the strings of the others between its ends: a
    large project has a million strings, which as objects take ten times their bytes.
    """
    columns = [Strings(segment.arrays, name) for segment in segments]
    longest = max(columns, key=len)
    borders = [longest.raw(row) for row in range(_STRETCH, len(longest), _STRETCH)]
    joined = _Joined()
    found = [np.empty(len(column), np.int64) for column in columns]
    starts = [0] * len(columns)
    for border in (*borders, None):
        numbers = Numbering[bytes]()
        first = len(joined)
        ends = [len(column) if border is None else column.place(border) for column in columns]
        for rows, column, start, end in zip(found, columns, starts, ends, strict=True):
            rows[start:end] = np.fromiter(map(numbers.__getitem__, column.between(start, end)), np.int64, end - start)
        ordered, rank = ranked(numbers)
        joined.add(ordered)
        for rows, start, end in zip(found, starts, ends, strict=True):
            rows[start:end] = rank[rows[start:end]] + first
        starts = ends
    for segment in segments:
        unload(segment.arrays)
    return joined, found


def _postings(
    segments: Sequence[Segment],
    column: int,
    term_rows: Sequence[NDArray[np.int64]],
    ends: NDArray[np.uint32],
    starts: Sequence[int],
) -> tuple[list[Deferred], list[Deferred]]:
    """The documents and counts of a field: those of a term are adjacent, in the order of the segments.

    Writes where they end into the field's column of `ends`, in which the first row is 0.
    """
    field = FIELDS[column]

    def own_ends(segment: Segment) -> NDArray[np.int64]:
        return segment.arrays["posting_ends"][:, column].astype(np.int64)

    counts = np.zeros(len(ends), np.int64)
    for segment, rows in zip(segments, term_rows, strict=True):
        counts[rows + 1] += np.diff(own_ends(segment))
    ends[:, column] = np.cumsum(counts)
    total = int(ends[-1, column])

    def gathered(name: str, dtype: type[np.unsignedinteger[Any]], shifts: Iterable[int]) -> NDArray[Any]:
        found = np.empty(total, dtype)
        free = ends[:-1, column].astype(np.int64)  # where the next posting of each term goes
        for segment, rows, shift in zip(segments, term_rows, shifts, strict=False):
            before = own_ends(segment)
            lengths = np.diff(before)
            target = np.repeat(free[rows] - before[:-1], lengths) + np.arange(int(lengths.sum()))
            found[target] = segment.arrays[f"{field}_{name}"] + dtype(shift)
            free[rows] += lengths
            unload(segment.arrays)
        return found

    return (
        [Deferred(np.uint32, total, partial(gathered, "docs", np.uint32, starts))],
        [Deferred(np.uint8, total, partial(gathered, "tfs", np.uint8, repeat(0)))],
    )


def _references(segments: Sequence[Segment], chunks: Sequence[int]) -> _Columns:
    """The sections of references and definitions, with their strings in one table."""
    strings, string_rows = _union(segments, "ref_strings")
    hashes = np.empty(len(strings), np.uint64)
    for rows, part in zip(string_rows, _column(segments, "ref_hash"), strict=True):
        hashes[rows] = part
    columns = {
        name: _translated(segments, name, string_rows) for name in (*(f"ref_{text}" for text in TEXTS), "def_name")
    }
    starts = _starts(len(part) for part in _column(segments, "ref_kind"))

    def ordered() -> NDArray[np.uint32]:
        return by_name(np.concatenate([np.asarray(part) for part in columns["ref_name"]]))

    return {
        **strings.columns("ref_strings"),
        "ref_hash": hashes,
        **columns,
        "ref_kind": _column(segments, "ref_kind"),
        "ref_ends": _shifted(segments, "ref_ends", starts),
        "ref_by_name": [Deferred(np.uint32, starts[-1], ordered)],
        "def_chunk": _shifted(segments, "def_chunk", chunks),
    }
