"""Which memories hang on a piece of code: a map from files to memories that a search can ask in a millisecond.

It is made from the memories' references and lies in `.sage/local/`, in a folder that no clone can have brought: a first
line with the state of the folders that it was made from, then one reference a line, sorted by file, so that a file's
are found by bisecting. When a folder has changed, only the files that changed are read again; a search spends little on
that and leaves the rest to the next.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
import xxhash

from sage_code.errors import UsageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.memory.code.referring_memories import files_of, folders_of, read
from sage_code.memory.files.homes import MemoryHome, homes

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.code.referring_memories import ReferringMemory
    from sage_code.search.results import Hit, SearchResponse

# History of the format: 1: first version. 2: a checksum in the head, and one in front of the rows.
_FORMAT = 2
_MAX_BYTES = 100_000_000
_SUM_CHARS = 16
_MAP, _ROWS = "attached.jsonl", "attached_rows.json"
_SEARCH_SECONDS = 0.15
_MAX_NOTES = 5

# file, first and last line (0: the whole file), symbol, id, title
Row = tuple[str, int, int, str, str, str]


def with_memories(response: SearchResponse) -> SearchResponse:
    """The answer with the memories that are about the code of its hits."""
    notes: dict[int, tuple[str, ...]] = {}
    for root in {hit.root or response.root for hit in response.results}:
        home = homes(root)[0]
        if home.scope != "project":
            continue
        refresh(home, _SEARCH_SECONDS)
        known = _Map(home)
        for hit in response.results:
            if (hit.root or response.root) == root:
                notes[hit.rank] = tuple(_notes(known.rows(hit.file), hit))
    return replace(response, results=tuple(replace(hit, memory=notes.get(hit.rank, ())) for hit in response.results))


def refresh(home: MemoryHome, seconds: float | None = None) -> None:
    """Bring the map up to date with the memories, as far as the time reaches."""
    state = _folders(home)
    is_current = _Map(home).folders == state
    if is_current and seconds is not None:
        return
    known = _rows(home)
    if is_current and known is not None:
        return
    rows, done = known or {}, True
    deadline = time.monotonic() + seconds if seconds is not None else float("inf")
    current: dict[str, list[str]] = {}
    for path, stamp in files_of(home):
        before = rows.get(path)
        if before is not None and before[0] == stamp:
            current[path] = before
        elif time.monotonic() < deadline:
            found = read(home, path)
            memory = found[0] if found else None
            rows_now = [_row(ref.file, ref.lines, ref.symbol, memory) for ref in memory.refs] if memory else []
            current[path] = [stamp, *rows_now]
        else:
            done = False
    _write(home, current, state if done else {})


def follow(home: MemoryHome, checked: Iterable[tuple[ReferringMemory, Sequence[RefState]]]) -> None:
    """Note where the code of the memories is now, as a check has found it."""
    refresh(home)
    rows = _rows(home) or {}
    paths = {os.path.splitext(os.path.basename(path))[0]: path for path in rows}
    for memory, states in checked:
        path = paths.get(memory.id)
        if path is not None:
            places_now = [found.now or found.ref for found in states]
            rows[path][1:] = [_row(now.file, now.lines, now.symbol, memory) for now in places_now]
    _write(home, rows, _folders(home))


class _Map:
    """The published map; empty when there is none that can be read, or when it is damaged."""

    def __init__(self, home: MemoryHome) -> None:
        self.folders: dict[str, int] | None = None
        self._data = b""
        self._start = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            self._data = read_regular(os.path.join(home.derived, _MAP), _MAX_BYTES)
            self._start = self._data.find(b"\n") + 1
            head = orjson.loads(self._data[: self._start])
            if head["format"] == _FORMAT and head["sum"] == _sum(self._data[self._start :]):
                self.folders = head["folders"]

    def rows(self, file: str) -> Iterator[Row]:
        """The references to a file."""
        if self.folders is None:
            return
        data, key = self._data, b"[" + orjson.dumps(file) + b","
        low, high = self._start, len(data)
        while low < high:
            middle = (low + high) // 2
            start = data.rfind(b"\n", low, middle) + 1 or low
            if data[start : start + len(key)] < key:
                low = data.find(b"\n", middle) + 1 or high
            else:
                high = start
        while data[low : low + len(key)] == key:
            end = data.find(b"\n", low)
            row = orjson.loads(data[low:end])
            yield row[0], row[1], row[2], row[3], row[4], row[5]
            low = end + 1


def _notes(rows: Iterable[Row], hit: Hit) -> list[str]:
    found = {}
    for _, first, last, symbol, id_, title in rows:
        is_whole = not first and not symbol
        common = min(last, hit.end_line) - max(first, hit.start_line) + 1
        is_named = bool(symbol) and bool(hit.qualname) and _is_part(symbol, hit.qualname)
        if is_whole or is_named or (first and 2 * common > last - first):
            found[id_] = f"{id_}: {title}" if title else id_
    return list(found.values())[:_MAX_NOTES]


def _is_part(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _row(file: str, lines: tuple[int, int] | None, symbol: str, memory: ReferringMemory) -> str:
    """A `Row` as it is kept: a line of the map."""
    first, last = lines or (0, 0)
    row: Row = (file, first, last, symbol, memory.id, memory.title)
    return orjson.dumps(row).decode()


def _folders(home: MemoryHome) -> dict[str, int]:
    """When the folders of memories have last changed."""
    times: dict[str, int] = {}
    with suppress(OSError):
        for folder in folders_of(home):
            times[folder] = os.stat(home.path(*folder.split("/"))).st_mtime_ns
    return times


def _rows(home: MemoryHome) -> dict[str, list[str]] | None:
    """What was read from each file of memories; None when that is not known any more."""
    with suppress(OSError, ValueError):
        data = read_regular(os.path.join(home.derived, _ROWS), _MAX_BYTES)
        if _sum(data[_SUM_CHARS + 1 :]) != data[:_SUM_CHARS].decode("ascii", "replace"):
            return None
        rows = orjson.loads(data[_SUM_CHARS + 1 :])
        if isinstance(rows, dict) and all(_is_sound(row) for row in rows.values()):
            return rows
    return None


def _is_sound(row: object) -> bool:
    return isinstance(row, list) and bool(row) and set(map(type, row)) == {str}


def _write(home: MemoryHome, rows: dict[str, list[str]], folders: dict[str, int]) -> None:
    lines = sorted(line.encode() for _, *of_file in rows.values() for line in of_file)
    body = b"".join(line + b"\n" for line in lines)
    head = orjson.dumps({"format": _FORMAT, "folders": folders, "sum": _sum(body)})
    kept = orjson.dumps(rows)
    with suppress(OSError, UsageError):  # a project that cannot be written to is searched all the same
        home.prepare()
        write_bytes(os.path.join(home.derived, _ROWS), f"{_sum(kept)}\n".encode() + kept, mode=PRIVATE_FILE)
        write_bytes(os.path.join(home.derived, _MAP), head + b"\n" + body, mode=PRIVATE_FILE)


def _sum(data: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(data)
