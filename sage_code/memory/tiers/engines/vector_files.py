"""The vectors of one kind of rows, in files beside the database that can be deleted and made again.

Line n of each file belongs to slot n of the database. `rows` has the components as signed bytes with a scale, `signs`
only their signs, `agents` the number of the agent that a vector belongs to (0: none, the slot is empty) and `sequences`
the row that it was made from. A line is written before the transaction that names its slot is committed: a reader looks
only at slots that its own transaction knows, and a slot that was rolled back is written again by the next transaction.
One process writes at a time (it holds SQLite's lock), any number of processes read.

Up to `_MAX_EXACT` vectors are all compared. More are first ranked by their signs, and the best are compared.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterable, Iterator
from io import FileIO
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Slots = NDArray[np.int64]
# With 256 dimensions on two shared cores 50,000 vectors are compared in 21 ms, 20,000 in 8 ms; ranking 1,000,000 by
# signs takes 18 ms, and comparing the best 1,000 of them 4 to 6 ms.
_MAX_EXACT = 20_000
# Vectors that are compared after a ranking by signs. Signs of the query weigh 0 to 3 by the size of their component. Of
# 325,000 windows of 25 words from LoCoMo and BEAM, 2,000 have 0.95 of the true nearest 100 and 0.99 of the nearest 20,
# 1,500 have 0.93; with equal weights 2,000 have 0.79 of the nearest 100. A search needs 40.
_SHORTLIST = 1_000
# In more vectors, only the signs of the larger half of the query's components count, and all the same: fewer steps for
# each block. In 25,500 passages of LoCoMo and BEAM, 200 then have 0.82 of the nearest 20 instead of 0.89.
_MAX_WEIGHTED = 250_000
_SHARPNESS = 1.2
# Signs and vectors are read in blocks that fit into the processor's cache.
_SIGN_BLOCK, _ROW_BLOCK = 8_192, 4_096
# Lines that are not further apart are read at once: a read takes 2 to 3 µs.
_GAP = 32
_MOST = 127
_SIGNS_A_WORD = 64
_FOUR_WORDS = 4
_NEVER = 0xFFFF
# Rows that the border of the shortlist is estimated from; sorting all of them takes 4 ms.
_SAMPLE = 50_000
_EVEN_BYTES, _LOW_PAIR = np.uint32(0x00FF00FF), np.uint32(0xFFFF)
_BYTE, _PAIR = np.uint32(8), np.uint32(16)
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600
_ENDINGS = ("rows", "signs", "agents", "sequences")


class VectorsDamaged(Exception):  # noqa: N818 - says what is wrong; the engine catches it
    """A file is missing or shorter than the database says."""


class VectorFiles:
    """The vectors of one kind and one generation. Safe to share between threads."""

    def __init__(self, folder: str, name: str, dim: int) -> None:
        self.dim = dim
        words = -(-dim // _SIGNS_A_WORD)
        path = os.path.join(folder, name)
        self._rows = _Lines(f"{path}.rows", np.dtype([("values", "i1", (dim,)), ("scale", "<f4")]))
        self._signs = _Lines(f"{path}.signs", np.dtype(("<u8", (words,))))
        self._agents = _Lines(f"{path}.agents", np.dtype("<u4"))
        self._sequences = _Lines(f"{path}.sequences", np.dtype("<i8"))

    def write(self, first: int, agents: NDArray[np.uint32], sequences: Slots, vectors: Floats) -> None:
        """Write the lines from slot `first` on. Raises `VectorsDamaged` if lines before them are missing."""
        if first > 1:
            self.check(first - 1)
        else:
            _make_folder(os.path.dirname(self._rows.path))
        rows = np.empty(len(vectors), self._rows.dtype)
        most = np.abs(vectors).max(axis=1, initial=0.0)[:, None]
        whole = np.rint(vectors * (_MOST / np.where(most > 0, most, 1)))
        # The stored vector has the length of the given one, so that a cosine with itself is 1.
        rows["scale"] = _lengths(vectors) / np.maximum(_lengths(whole), 1)
        np.copyto(rows["values"], whole, casting="unsafe")
        for lines, block in (
            (self._rows, rows), (self._signs, _signs(vectors)), (self._sequences, sequences), (self._agents, agents)
        ):  # fmt: skip
            lines.write(first, block.astype(lines.dtype.base, copy=False), begin=first <= 1)

    def clear(self, slots: Slots) -> None:
        """Overwrite the lines of these slots with zeros."""
        for lines in self._all():
            lines.clear(slots)

    def check(self, last: int) -> None:
        """Raise `VectorsDamaged` unless every file has the lines up to `last`."""
        for lines in self._all():
            lines.check(last)

    def wrong(self, slots: Slots, sequences: Slots, last: int) -> Slots:
        """Those of the slots, sorted and none beyond `last`, that have no vector or one of another row."""
        self.check(last)
        missing = (self._agents.upto(last)[slots] == 0) | (self._sequences.upto(last)[slots] != sequences)
        for start, block in self._rows.read(slots, last):
            missing[start : start + len(block)] |= ~np.isfinite(block["scale"])
        found: Slots = slots[missing]
        return found

    def used(self, last: int) -> Slots:
        """The slots up to `last` that have a vector."""
        return np.flatnonzero(self._agents.upto(last))

    def nearest(
        self, query: Floats, agent: int, last: int, count: int, allowed: Slots | None = None
    ) -> tuple[Slots, Floats]:
        """At least `count` sequences of the agent, if there are as many, and the cosines of their best vectors, nearest
        first. With `allowed` only these sequences, which are sorted, are considered."""
        self.check(last)
        mine = self._agents.upto(last) == agent
        if allowed is not None:
            mine &= _among(self._sequences.upto(last), allowed)
        if np.count_nonzero(mine) > _MAX_EXACT:
            return self._best(query, self._by_signs(query, mine, last, max(_SHORTLIST, 2 * count)), last)
        return self._best(query, np.flatnonzero(mine), last)

    def of_slots(self, query: Floats, slots: Slots, last: int) -> tuple[Slots, Floats]:
        """The sequences of these slots and the cosines of their best vectors, nearest first."""
        self.check(last)
        return self._best(query, slots, last)

    def close(self) -> None:
        """Let the files go."""
        for lines in self._all():
            lines.close()

    def _all(self) -> Iterator[_Lines]:
        yield from (self._rows, self._signs, self._agents, self._sequences)

    def _by_signs(self, query: Floats, mine: NDArray[np.bool_], last: int, count: int) -> Slots:
        """About `count` of the slots in `mine`, those that differ from the query in the signs that weigh least."""
        signs = self._signs.upto(last)
        words = signs.shape[1]
        sizes = np.abs(query)
        is_fine = len(mine) <= _MAX_WEIGHTED
        weights = np.clip(np.rint(sizes * (_SHARPNESS / max(float(sizes.mean()), 1e-9))), 0, 3)
        if not is_fine:
            weights = (sizes > np.median(sizes)).astype(np.float32)
        # Repeated for a block, so that NumPy runs through it without a loop over rows.
        wanted, ones, twos = (
            np.tile(_signs(part[None, :])[0], _SIGN_BLOCK)
            for part in (query, (weights % 2).astype(np.float32), (weights // 2).astype(np.float32))
        )
        differing, masked = np.empty_like(wanted), np.empty_like(wanted)
        counted, more = np.empty(len(wanted), np.uint8), np.empty(len(wanted), np.uint8)
        different = np.full(len(mine), _NEVER, np.uint16)
        for start in range(0, len(mine), _SIGN_BLOCK):
            chosen = mine[start : start + _SIGN_BLOCK]
            is_whole = bool(chosen.all())
            if not is_whole and not chosen.any():
                continue
            # A block without gaps is not copied.
            block = signs[start : start + len(chosen)]
            own = (block if is_whole else block[chosen]).reshape(-1)
            size = len(own)
            np.bitwise_xor(own, wanted[:size], out=differing[:size])
            np.bitwise_and(differing[:size], ones[:size], out=masked[:size])
            np.bitwise_count(masked[:size], out=counted[:size])
            if is_fine:
                np.bitwise_and(differing[:size], twos[:size], out=masked[:size])
                np.bitwise_count(masked[:size], out=more[:size])
                counted[:size] += more[:size]
                counted[:size] += more[:size]
            sums = _row_sums(counted[:size], words)
            if is_whole:
                different[start : start + len(chosen)] = sums
            else:
                different[start : start + len(chosen)][chosen] = sums
        # Of every so many rows, so that about `count` of them are found.
        sample = different[:: max(len(different) // _SAMPLE, 1)]
        wanted_of_sample = min(-(-count * len(sample) // max(len(different), 1)) + 1, len(sample) - 1)
        most = int(np.partition(sample, wanted_of_sample)[wanted_of_sample])
        found = np.flatnonzero(different <= min(most, _NEVER - 1))
        if len(found) < count:  # an odd sample: look at all
            place = min(count, len(different) - 1)
            found = np.flatnonzero(different <= min(int(np.partition(different, place)[place]), _NEVER - 1))
        return found

    def _best(self, query: Floats, slots: Slots, last: int) -> tuple[Slots, Floats]:
        """The sequences of these slots and the cosines of their best vectors, nearest first."""
        cosines = np.empty(len(slots), np.float32)
        for start, block in self._rows.read(slots, last):
            # Not `@`: its threads wait for each other, and then spin for a while on the cores that SQLite needs.
            values = block["values"].astype(np.float32)
            cosines[start : start + len(block)] = np.einsum("ij,j->i", values, query) * block["scale"]
        sequences = self._sequences.upto(last)[slots].astype(np.int64)
        order = np.lexsort((-sequences, -cosines))
        _, firsts = np.unique(sequences[order], return_index=True)
        chosen = order[np.sort(firsts)]
        return sequences[chosen], np.minimum(cosines[chosen], 1)


class _Lines:
    """A file of lines of one width, read through a mapping that grows with it."""

    def __init__(self, path: str, dtype: np.dtype[Any]) -> None:
        self.path, self.dtype = path, dtype
        self._guard = Lock()
        self._mapping: mmap.mmap | None = None
        self._mapped: NDArray[Any] = np.empty(0, dtype)

    def check(self, last: int) -> None:
        try:
            size = os.stat(self.path, follow_symlinks=False).st_size
        except OSError as error:
            raise VectorsDamaged(self.path) from error
        if size < (last + 1) * self.dtype.itemsize:
            raise VectorsDamaged(self.path)

    def upto(self, last: int) -> NDArray[Any]:
        """The lines up to `last`; they stay readable when the file is mapped again."""
        # A file that was made shorter must not be read through an older mapping.
        self.check(last)
        with self._guard:
            if len(self._mapped) <= last:
                with open(self.path, "rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    self._mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                count = size // self.dtype.itemsize
                self._mapped = np.frombuffer(self._mapping, self.dtype.base, count * _items(self.dtype)).reshape(
                    (count, *self.dtype.shape)
                )
            return self._mapped[: last + 1]

    def read(self, slots: Slots, last: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """The lines of these slots, which are sorted, in blocks: each with its place among the slots. They are not
        mapped, since pages that were touched would count as memory of this process."""
        self.check(last)
        width = self.dtype.itemsize
        with open(self.path, "rb", buffering=0) as file:
            for start in range(0, len(slots), _ROW_BLOCK):
                block = slots[start : start + _ROW_BLOCK]
                # Lines that are near each other are read at once.
                ends = np.append(np.flatnonzero(np.diff(block) > _GAP), len(block) - 1)
                begins = np.append(0, ends[:-1] + 1)
                firsts, counts = block[begins], block[ends] - block[begins] + 1
                runs = zip((firsts * width).tolist(), (counts * width).tolist(), strict=True)
                lines = np.frombuffer(_read_all(file, runs), self.dtype)
                if len(lines) > len(block):
                    before = np.cumsum(counts) - counts
                    lines = lines[block - np.repeat(firsts - before, ends - begins + 1)]
                yield start, lines

    def write(self, first: int, lines: NDArray[Any], *, begin: bool) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags | (os.O_TRUNC if begin else 0), _FILE_MODE)
        with open(descriptor, "r+b", buffering=0) as file:
            _write_at(file, first * self.dtype.itemsize, lines.tobytes())

    def clear(self, slots: Slots) -> None:
        with contextlib.suppress(FileNotFoundError), open(self.path, "r+b", buffering=0) as file:
            end = os.fstat(file.fileno()).st_size
            for slot in slots.tolist():
                if (slot + 1) * self.dtype.itemsize <= end:
                    _write_at(file, slot * self.dtype.itemsize, bytes(self.dtype.itemsize))

    def close(self) -> None:
        with self._guard:
            self._mapping, self._mapped = None, np.empty(0, self.dtype)


def delete_files(folder: str, *, keep: str) -> None:
    """Delete the files of vectors in a folder, but not those whose names end with `keep`."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            stem, _, ending = name.rpartition(".")
            if ending in _ENDINGS and not stem.endswith(keep):
                with contextlib.suppress(OSError):  # on Windows another process may have it mapped
                    os.remove(os.path.join(folder, name))


def _make_folder(folder: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, _FOLDER_MODE)


def _read_all(file: FileIO, runs: Iterable[tuple[int, int]]) -> bytes:
    """The bytes of all runs, each an offset and a size, joined."""
    wanted = list(runs)
    if hasattr(os, "pread"):
        pread, descriptor = os.pread, file.fileno()
        found = [pread(descriptor, size, offset) for offset, size in wanted]
    else:
        found = [file.read(size) for offset, size in wanted if file.seek(offset) >= 0]
    data = b"".join(found)
    if len(data) < sum(size for _, size in wanted):
        raise VectorsDamaged(file.name)
    return data


def _write_at(file: FileIO, offset: int, data: bytes) -> None:
    """Write all of `data`: a full disk may take a part of it and says so only at the next write."""
    file.seek(offset)
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _items(dtype: np.dtype[Any]) -> int:
    return int(np.prod(dtype.shape, dtype=np.int64))


def _row_sums(counted: NDArray[np.uint8], words: int) -> NDArray[Any]:
    """The sums of `words` numbers each, which are below 256."""
    if words != _FOUR_WORDS:
        added: NDArray[Any] = np.add.reduce(counted.reshape(-1, words), axis=1, dtype=np.uint16)
        return added
    # Four bytes are added as two pairs in one number, ten times as fast.
    four = counted.view(np.uint32)
    pairs = (four & _EVEN_BYTES) + ((four >> _BYTE) & _EVEN_BYTES)
    sums: NDArray[Any] = (pairs + (pairs >> _PAIR)) & _LOW_PAIR
    return sums


def _lengths(vectors: Floats) -> Floats:
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def _signs(vectors: Floats) -> NDArray[np.uint64]:
    """The signs of vectors, 64 in a number."""
    packed = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(packed), -(-vectors.shape[1] // _SIGNS_A_WORD) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")


def _among(sequences: NDArray[np.int64], allowed: Slots) -> NDArray[np.bool_]:
    """Which of the sequences are allowed; a table is faster than a search, as sequences have no large gaps."""
    if not len(allowed):
        return np.zeros(len(sequences), np.bool_)
    table = np.zeros(int(allowed[-1]) + 2, np.bool_)
    table[allowed] = True
    found: NDArray[np.bool_] = table[np.minimum(sequences, len(table) - 1)]
    return found
