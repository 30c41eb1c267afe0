"""A file of named arrays, which readers map into memory: the container of segments and of the centrality file.

Layout: an 8-byte magic, the length of a JSON header, the header (`{name: [dtype, shape, offset]}` plus free `meta`),
then each array at a multiple of 64 bytes.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
from numpy.typing import DTypeLike, NDArray

from sage_code.compiled.inventory import MEND_HINT
from sage_code.errors import IndexCorrupt
from sage_code.files.contained import open_regular

_MAGIC = b"SAGESEG1"
_ALIGN = 64
# The letters of a term that are searched as one number.
_HEAD = 8
# Words whose rows are kept.
_KEPT = 4_096
# Arrays of objects would be unpickled; these are all the types we write.
_DTYPES = frozenset({"|u1", "|i1", "<u2", "<u4", "<u8", "<f4"})


class Deferred:
    """A column that is made when it is written, so that it takes no memory before."""

    __slots__ = ("_make", "dtype", "nbytes", "shape")

    def __init__(self, dtype: DTypeLike, size: int, make: Callable[[], NDArray[Any]]) -> None:
        self._make = make
        self.dtype, self.shape = np.dtype(dtype), (size,)
        self.nbytes = size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._make()


def write_sections(
    path: str,
    meta: Mapping[str, object],
    arrays: Mapping[str, NDArray[Any] | Sequence[NDArray[Any] | Deferred]],
    *,
    after_each: Callable[[], None] = lambda: None,
) -> None:
    """Write the file in one pass; an array may come in parts, which are written one after the other.

    `after_each` is called when a part is written.
    """
    table: dict[str, list[object]] = {}
    offset = 0
    columns = {name: [array] if isinstance(array, np.ndarray) else array for name, array in arrays.items()}
    for name, parts in columns.items():
        table[name] = [parts[0].dtype.str, [sum(map(len, parts)), *parts[0].shape[1:]], offset]
        offset += _aligned(parts)
    header = orjson.dumps({"meta": dict(meta), "arrays": table})
    header += b" " * (-(len(header) + 16) % _ALIGN)
    with open(path, "wb") as file:
        file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
        for parts in columns.values():
            for part in parts:
                file.write(np.ascontiguousarray(part).data)
                after_each()
            file.write(bytes(_aligned(parts) - sum(part.nbytes for part in parts)))


def _aligned(parts: Sequence[NDArray[Any] | Deferred]) -> int:
    return -(-sum(part.nbytes for part in parts) // _ALIGN) * _ALIGN


def read_sections(path: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header's `meta` and the arrays, as views of the mapped file."""
    try:
        with open_regular(path) as file:
            if not os.fstat(file.fileno()).st_size:
                raise ValueError("empty")
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if view[:8] != _MAGIC:
            raise ValueError("not a segment")
        length = int.from_bytes(view[8:16], "little")
        header = orjson.loads(view[16 : 16 + length])
        arrays = {}
        for name, (dtype, shape, offset) in header["arrays"].items():
            if dtype not in _DTYPES:
                raise ValueError(f"unexpected type {dtype}")
            count = int(np.prod(shape, dtype=np.int64))
            array = np.frombuffer(view, dtype=dtype, count=count, offset=16 + length + offset)
            arrays[name] = array.reshape(shape)
        return header["meta"], arrays
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise IndexCorrupt(f"{path} is damaged: {error}", MEND_HINT) from error


def unload(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Give back the memory of a mapped file's pages; what is used again is read from the file again."""
    found: object = next(iter(arrays.values()), None)
    while isinstance(found, np.ndarray):
        found = found.base
    if isinstance(found, memoryview):
        found = found.obj
    if isinstance(found, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)


def ranked(numbers: Mapping[bytes, int]) -> tuple[list[bytes], NDArray[np.int64]]:
    """Numbered strings in order, and for each number the row of its string in that order."""
    ordered = sorted(numbers)
    rank = np.empty(len(ordered), np.int64)
    rank[[numbers[text] for text in ordered]] = np.arange(len(ordered))
    return ordered, rank


def pack_strings(strings: list[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Byte strings as (offsets, heap)."""
    offsets = np.zeros(len(strings) + 1, dtype=np.uint64)
    np.cumsum([len(string) for string in strings], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(strings), dtype=np.uint8)


class Strings:
    """A column of byte strings in two arrays, as `pack_strings` made them; sorted, it can be searched."""

    __slots__ = ("_at", "_heap")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        self._at, self._heap = arrays[f"{name}_at"], arrays[name]

    def __len__(self) -> int:
        return len(self._at) - 1

    def __getitem__(self, row: int) -> str:
        return self.raw(row).decode("utf-8", "surrogatepass")

    def raw(self, row: int) -> bytes:
        """The bytes of a row."""
        start, end = self._at[row : row + 2].tolist()
        return self._heap[start:end].tobytes()

    def between(self, first: int, last: int) -> Iterator[bytes]:
        """The strings of the rows from `first` to before `last`."""
        ends = self._at[first : last + 1].tolist()
        heap = self._heap[ends[0] : ends[-1]].tobytes()
        return (heap[start - ends[0] : end - ends[0]] for start, end in pairwise(ends))

    def __iter__(self) -> Iterator[bytes]:
        return self.between(0, len(self))

    def many(self, rows: NDArray[np.int64]) -> list[str]:
        """The strings of these rows."""
        starts, ends = self._at[rows].tolist(), self._at[rows + 1].tolist()
        heap = self._heap.data
        return [str(heap[start:end], "utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]

    def place(self, wanted: bytes) -> int:
        """The row of a sorted column before which all strings are smaller."""
        return bisect_left(range(len(self)), wanted, key=self.raw)

    def find(self, text: str) -> int | None:
        """The row of `text` in a sorted column."""
        wanted = text.encode("utf-8", "surrogatepass")
        row = self.place(wanted)
        return row if row < len(self) and self.raw(row) == wanted else None


class Terms:
    """A sorted column of byte strings with the first letters of each as a number, which NumPy searches."""

    __slots__ = ("_at", "_heads", "_known", "_strings")

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str) -> None:
        self._strings = Strings(arrays, name)
        self._at, self._heads = arrays[f"{name}_at"], arrays[f"{name}_heads"]
        self._known: dict[str, int | None] = {}  # several parts of a search look for the same words

    def __len__(self) -> int:
        return len(self._heads)

    def beginning(self, head: str, max_bytes: int) -> tuple[list[int], list[str]]:
        """The rows and strings that begin with `head` (or at least with its first letters), up to a length."""
        begin = head.encode("utf-8", "surrogatepass")[:_HEAD]
        low, high = (int.from_bytes(begin.ljust(_HEAD, fill), "big") for fill in (b"\0", b"\xff"))
        first, last = self._heads.searchsorted(np.array([low, high], np.uint64)).tolist()
        while last < len(self._heads) and int(self._heads[last]) == high:
            last += 1
        rows = first + (self._at[first + 1 : last + 1] - self._at[first:last] <= max_bytes).nonzero()[0]
        return rows.tolist(), self._strings.many(rows)

    def many(self, rows: NDArray[np.int64]) -> list[str]:
        """The strings of some rows."""
        return self._strings.many(rows)

    def find(self, text: str) -> int | None:
        """The row of `text`."""
        if text not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            size = len(text.encode("utf-8", "surrogatepass"))
            rows = zip(*self.beginning(text, size), strict=True)
            self._known[text] = next((row for row, found in rows if found == text), None)
        return self._known[text]


def pack_terms(strings: list[bytes], name: str) -> dict[str, NDArray[Any]]:
    """Sorted byte strings as the arrays of `Terms`."""
    at, heap = pack_strings(strings)
    return {f"{name}_at": at, name: heap, f"{name}_heads": heads_of(strings)}


def heads_of(strings: list[bytes]) -> NDArray[np.uint64]:
    """The first letters of each string as a number."""
    heads: NDArray[np.uint64] = np.array([string[:_HEAD] for string in strings], f"S{_HEAD}").view(">u8").astype("<u8")
    return heads
