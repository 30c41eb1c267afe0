"""Checks that every row of the store is what was written, for `sage admin verify`.

A text must match its hash, a file's row its checksum, and a vector must be finite; a caller that knows the model can
check more. `upkeep.py` deletes damaged rows and makes them again from the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from sage_code.store.columns import broken, is_hash, matrix, prefixes, prefixes_of, split_hashes
from sage_code.store.layout import unpack_row
from sage_code.store.tables import Table

# Given hashes, texts and vectors, returns which of the vectors are wrong.
WrongVectors: TypeAlias = Callable[[Sequence[str], Sequence[str], NDArray[np.float32]], NDArray[np.bool_]]
_FILE_COLUMNS = ("file_key", "path", "language", "texts", "layout")


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What the store has, and what of it is wrong."""

    texts: dict[str, int]  # for every file, how many of its texts are stored
    bad_files: set[str]  # stored twice, damaged, or made of a bad text
    bad_texts: set[str]  # stored twice, or with a wrong vector
    damaged: int = 0  # rows that do not match their hash or checksum


class _Texts(NamedTuple):
    """A batch of rows of the table of texts."""

    hashes: list[str]
    sound: NDArray[np.bool_]  # the text matches its hash
    wrong: NDArray[np.bool_]  # the text is sound, its vector is wrong
    rows: list[int]


def check(chunks: Table, files: Table, dim: int, is_wrong: WrongVectors | None = None) -> StoreCheck:
    """Check every row of the two tables."""
    found: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
    hashes: list[str] = []
    wrong: set[str] = set()
    damaged = 0
    for batch in _texts(chunks, dim, is_wrong):
        sound = [digest for digest, good in zip(batch.hashes, batch.sound, strict=True) if good]
        hashes += sound
        found.append(prefixes(sound))
        wrong.update(batch.hashes[row] for row in np.flatnonzero(batch.wrong).tolist())
        damaged += len(batch.hashes) - len(sound)
    there, times = np.unique(np.concatenate(found), return_counts=True)
    twice = np.flatnonzero(np.isin(np.concatenate(found), there[times > 1]))
    wrong.update(hashes[row] for row in twice.tolist())
    bad_texts = np.sort(prefixes(sorted(wrong)))
    texts: dict[str, int] = {}
    bad: set[str] = set()
    for row, is_sound, _ in _files(files):
        key, own = row["file_key"], prefixes_of([row["texts"]])
        damaged += not is_sound
        if key in texts or not is_sound or _among(bad_texts, own).any():
            bad.add(key)
        texts[key] = int(_among(there, own).sum())
    return StoreCheck(texts, bad, wrong, damaged)


def damaged_rows(
    chunks: Table, files: Table, dim: int, is_wrong: WrongVectors | None = None
) -> tuple[list[int], list[int]]:
    """The row numbers of damaged rows, of both tables."""
    texts = [
        batch.rows[row]
        for batch in _texts(chunks, dim, is_wrong)
        for row in np.flatnonzero(~batch.sound | batch.wrong).tolist()
    ]
    return texts, [number for _, is_sound, number in _files(files) if not is_sound]


def _texts(chunks: Table, dim: int, is_wrong: WrongVectors | None) -> Iterator[_Texts]:
    """Every row of the table of texts, checked, batch by batch."""
    for batch in chunks.scan(["text_hash", "text", "vector"], numbers=True):
        hashes = [_text(value) for value in _raw(batch.column("text_hash"))]
        texts = _raw(batch.column("text"))
        vectors = matrix(batch.column("vector"), dim)
        sound = np.array(
            [
                is_hash(digest) and text is not None and xxhash.xxh3_128_hexdigest(text) == digest
                for digest, text in zip(hashes, texts, strict=True)
            ],
            dtype=bool,
        )
        wrong = broken(vectors) & sound
        rest = np.flatnonzero(sound & ~wrong)
        if is_wrong is not None and len(rest):
            rows = rest.tolist()
            wrong[rest] = is_wrong([hashes[row] for row in rows], [_text(texts[row]) for row in rows], vectors[rest])
        yield _Texts(hashes, sound, wrong, batch.column("_rowid").to_pylist())


def _files(files: Table) -> Iterator[tuple[dict[str, Any], bool, int]]:
    """Every row of the table of files, whether it is sound, and its row number."""
    for batch in files.scan(list(_FILE_COLUMNS), numbers=True):
        columns = [_raw(batch.column(name)) for name in _FILE_COLUMNS]
        for number, key, path, language, texts, layout in zip(
            batch.column("_rowid").to_pylist(), *columns, strict=True
        ):
            row = {
                "file_key": _text(key), "path": _text(path), "language": _text(language), "texts": texts or b"",
                "layout": layout or b"",
            }  # fmt: skip
            yield row, _is_sound(row), number


def _is_sound(row: dict[str, Any]) -> bool:
    try:
        unpack_row(row, [""] * len(split_hashes(row["texts"])))
    except ValueError:
        return False
    return is_hash(row["file_key"])


def _among(known: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `wanted` are among the sorted `known`."""
    if not len(known):
        return np.zeros(len(wanted), dtype=bool)
    rows = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found: NDArray[np.bool_] = known[rows] == wanted
    return found


def _raw(column: pa.Array) -> list[bytes | None]:
    """The values as bytes: a damaged text need not be UTF-8."""
    values: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return values


def _text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")
