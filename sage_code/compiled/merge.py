"""Merges segments into one, reading only their files: every segment costs a search time, and a first run writes many.

Columns are copied part by part, and the pages of the segments' files are given back after each. In memory are only the
postings and the names of the references: those of one segment at a time, and those of the result. The result is what
`SegmentBuilder` would write for all the files together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.references import by_name
from sage_code.compiled.sections import Strings, Translated, pack_strings, pack_terms, ranked, unload, write_sections
from sage_code.compiled.segment import FIELDS, FILE_FIELDS, Segment
from sage_code.parse.reference_codec import TEXTS
from sage_code.text.numbering import Numbering

_PLAIN = ("chunk_start", "chunk_end", "chunk_kind", "chunk_line", "file_hash", "vectors", "scales", "ref_line")
_STRINGS = ("names", "signatures", "paths", "keys", "symbols")

_Parts = list[NDArray[Any]]
_Columns = dict[str, NDArray[Any] | Sequence[NDArray[Any] | Translated]]


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
    arrays.update(pack_terms(terms, "terms"))
    posting_ends = np.zeros((len(terms) + 1, len(FIELDS)), np.uint32)
    del terms  # half a million strings of a large project
    for column, field in enumerate(FIELDS):
        arrays[f"{field}_lengths"] = _column(segments, f"{field}_lengths")
        documents = files if field in FILE_FIELDS else chunks
        posting_ends[1:, column], arrays[f"{field}_docs"], arrays[f"{field}_tfs"] = _postings(
            segments, column, term_rows, len(posting_ends) - 1, documents
        )
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


def _translated(segments: Sequence[Segment], name: str, rows: Sequence[NDArray[np.int64]]) -> list[Translated]:
    """A column of rows of each segment's table, as rows of the table of all."""
    return [
        Translated(of_all.astype(np.uint32), part) for of_all, part in zip(rows, _column(segments, name), strict=True)
    ]


def _shifted(segments: Sequence[Segment], name: str, starts: Sequence[int]) -> _Parts:
    """A column of numbers that count from the start of their segment, counted from the start of the result."""
    return [part + part.dtype.type(start) for part, start in zip(_column(segments, name), starts, strict=False)]


def _union(segments: Sequence[Segment], name: str) -> tuple[list[bytes], list[NDArray[np.int64]]]:
    """The strings of a column as one sorted column, and for each segment the rows of its strings in that."""
    numbers = Numbering[bytes]()
    found = []
    for segment in segments:
        column = Strings(segment.arrays, name)
        found.append(np.fromiter(map(numbers.__getitem__, column), np.int64, len(column)))
        unload(segment.arrays)
    ordered, rank = ranked(numbers)
    return ordered, [rank[rows] for rows in found]


def _postings(
    segments: Sequence[Segment], column: int, term_rows: Sequence[NDArray[np.int64]], terms: int, starts: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint8]]:
    """The ends, documents and counts of a field: those of a term are adjacent, in the order of the segments."""
    field = FIELDS[column]
    counts = np.zeros(terms, np.int64)
    own: list[NDArray[np.int64]] = []
    for segment, rows in zip(segments, term_rows, strict=True):
        lengths = np.diff(segment.arrays["posting_ends"][:, column]).astype(np.int64)
        counts[rows] += lengths
        own.append(lengths)
    ends = np.cumsum(counts)
    free = ends - counts  # where the next posting of each term goes
    total = int(ends[-1]) if terms else 0
    docs, tfs = np.empty(total, np.uint32), np.empty(total, np.uint8)
    for segment, rows, lengths, start in zip(segments, term_rows, own, starts, strict=False):
        before = segment.arrays["posting_ends"][:-1, column]
        target = np.repeat(free[rows] - before, lengths) + np.arange(int(lengths.sum()))
        docs[target] = segment.arrays[f"{field}_docs"] + np.uint32(start)
        tfs[target] = segment.arrays[f"{field}_tfs"]
        free[rows] += lengths
        unload(segment.arrays)
    return ends, docs, tfs


def _references(segments: Sequence[Segment], chunks: Sequence[int]) -> _Columns:
    """The sections of references and definitions, with their strings in one table."""
    strings, string_rows = _union(segments, "ref_strings")
    at, heap = pack_strings(strings)
    hashes = np.empty(len(strings), np.uint64)
    for rows, part in zip(string_rows, _column(segments, "ref_hash"), strict=True):
        hashes[rows] = part
    columns = {
        name: _translated(segments, name, string_rows) for name in (*(f"ref_{text}" for text in TEXTS), "def_name")
    }
    starts = _starts(len(part) for part in _column(segments, "ref_kind"))
    return {
        "ref_strings_at": at,
        "ref_strings": heap,
        "ref_hash": hashes,
        **columns,
        "ref_kind": _column(segments, "ref_kind"),
        "ref_ends": _shifted(segments, "ref_ends", starts),
        "ref_by_name": by_name(np.concatenate([np.asarray(part) for part in columns["ref_name"]])),
        "def_chunk": _shifted(segments, "def_chunk", chunks),
    }
