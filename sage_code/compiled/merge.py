"""Merges segments into one, reading only their files: every segment costs a search time, and a first run writes many.

Columns are copied part by part. In memory are only the postings and the numbers of the references: those of one segment
at a time, and those of the result. The result is what `SegmentBuilder` would write for all the files together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.references import by_name
from sage_code.compiled.sections import Strings, pack_strings, pack_terms, ranked, write_sections
from sage_code.compiled.segment import FIELDS, FILE_FIELDS, Segment
from sage_code.parse.reference_codec import TEXTS

_PLAIN = ("chunk_start", "chunk_end", "chunk_kind", "chunk_line", "file_hash", "vectors", "scales", "ref_line")
_STRINGS = ("names", "signatures", "paths", "keys", "symbols")

_Parts = list[NDArray[Any]]


def merge(segments: Sequence[Segment], path: str) -> None:
    """Write the files of `segments`, in their order, as one segment at `path`."""
    languages = sorted({language for segment in segments for language in segment.meta["languages"]})
    files = _starts(segment.meta["files"] for segment in segments)
    chunks = _starts(segment.meta["chunks"] for segment in segments)
    arrays: dict[str, NDArray[Any] | _Parts] = {name: _column(segments, name) for name in _PLAIN}
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
    terms, term_rows = _union([Strings(segment.arrays, "terms") for segment in segments])
    arrays.update(pack_terms(terms, "terms"))
    posting_ends = np.zeros((len(terms) + 1, len(FIELDS)), np.uint32)
    for column, field in enumerate(FIELDS):
        arrays[f"{field}_lengths"] = _column(segments, f"{field}_lengths")
        documents = files if field in FILE_FIELDS else chunks
        posting_ends[1:, column], arrays[f"{field}_docs"], arrays[f"{field}_tfs"] = _postings(
            segments, column, term_rows, len(terms), documents
        )
    arrays["posting_ends"] = posting_ends
    arrays["words"] = [
        rows.astype(np.uint32)[part] for rows, part in zip(term_rows, _column(segments, "words"), strict=True)
    ]
    word_ends = _shifted(segments, "words_at", _starts(len(part) for part in _column(segments, "words")))
    arrays["words_at"] = [word_ends[0], *(part[1:] for part in word_ends[1:])]
    arrays.update(_references(segments, chunks))
    meta = {**segments[0].meta, "chunks": chunks[-1], "files": files[-1], "languages": languages}
    write_sections(path, meta, arrays)


def _starts(counts: Iterable[int]) -> list[int]:
    return list(accumulate(counts, initial=0))


def _column(segments: Sequence[Segment], name: str) -> _Parts:
    return [segment.arrays[name] for segment in segments]


def _shifted(segments: Sequence[Segment], name: str, starts: Sequence[int]) -> _Parts:
    """A column of numbers that count from the start of their segment, counted from the start of the result."""
    return [part + part.dtype.type(start) for part, start in zip(_column(segments, name), starts, strict=False)]


def _union(columns: Sequence[Iterable[bytes]]) -> tuple[list[bytes], list[NDArray[np.int64]]]:
    """The strings of several columns as one sorted column, and for each column the rows of its strings in that."""
    numbers: dict[bytes, int] = {}
    found = [[numbers.setdefault(text, len(numbers)) for text in column] for column in columns]
    ordered, rank = ranked(numbers)
    return ordered, [rank[np.array(rows, np.int64)] for rows in found]


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
    return ends, docs, tfs


def _references(segments: Sequence[Segment], chunks: Sequence[int]) -> dict[str, NDArray[Any]]:
    """The sections of references and definitions, with their strings in one table."""
    strings, string_rows = _union([Strings(segment.arrays, "ref_strings") for segment in segments])
    at, heap = pack_strings(strings)
    hashes = np.empty(len(strings), np.uint64)
    for rows, part in zip(string_rows, _column(segments, "ref_hash"), strict=True):
        hashes[rows] = part
    columns = {
        name: np.concatenate(
            [rows.astype(np.uint32)[part] for rows, part in zip(string_rows, _column(segments, name), strict=True)]
        )
        for name in (*(f"ref_{text}" for text in TEXTS), "def_name")
    }
    starts = _starts(len(part) for part in _column(segments, "ref_kind"))
    return {
        "ref_strings_at": at,
        "ref_strings": heap,
        "ref_hash": hashes,
        **columns,
        "ref_kind": np.concatenate(_column(segments, "ref_kind")),
        "ref_ends": np.concatenate(_shifted(segments, "ref_ends", starts)),
        "ref_by_name": by_name(columns["ref_name"]),
        "def_chunk": np.concatenate(_shifted(segments, "def_chunk", chunks)),
    }
