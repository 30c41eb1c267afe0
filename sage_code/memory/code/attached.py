"""The map of attached memories: from a file of the project to the memories about it, for a search, in a millisecond.

The map is made from the references of the memories and stored in the home's `derived` folder, which no clone can bring.
`attached.jsonl` has a head with the times of the folders of memories, then one reference per line, sorted by file and
found by bisection. `attached_rows.json` has the same lines by memory file, with the file's stamp: when a folder has
changed, only changed files are read again. A search spends at most `_SEARCH_SECONDS` on that; the next one continues.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
import xxhash

from sage_code.errors import UsageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.memory.code.referring_memories import files_of, folders_of, read_memory
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import MemoryHome, homes

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.code.referring_memories import ReferringMemory
    from sage_code.search.results import Hit, SearchResponse

# History of the format: 1: first version. 2: a checksum in the head, and one before the rows.
_FORMAT = 2
_MAX_BYTES = 100_000_000
_CHECKSUM_CHARS = 16
_MAP, _ROWS = "attached.jsonl", "attached_rows.json"
_SEARCH_SECONDS = 0.15
_MAX_NOTES = 5

# file, first and last line (0: the whole file), symbol, id and title of the memory
Row = tuple[str, int, int, str, str, str]


def with_memories(response: SearchResponse) -> SearchResponse:
    """The response with the memories that are about the code of each hit."""
    notes: dict[int, tuple[str, ...]] = {}
    for root in {hit.root or response.root for hit in response.results if not hit.repository}:
        home = homes(root)[0]
        if home.scope != "project":
            continue
        known = _Map(home)
        if known.folders != _folder_times(home):
            refresh(home, _SEARCH_SECONDS)
            known = _Map(home)
        for hit in response.results:
            if not hit.repository and (hit.root or response.root) == root:
                notes[hit.rank] = tuple(_notes(known.rows(hit.file), hit))
    return replace(response, results=tuple(replace(hit, memory=notes.get(hit.rank, ())) for hit in response.results))


def note_locations(home: MemoryHome, checked: Iterable[tuple[ReferringMemory, Sequence[RefState]]]) -> None:
    """Write the locations at which a check has found the code of memories into the map."""
    located = {memory.path: [_row(one.now or one.ref, memory) for one in states] for memory, states in checked}
    refresh(home, located=located)


def refresh(home: MemoryHome, seconds: float = math.inf, located: Mapping[str, list[str]] | None = None) -> None:
    """Bring the map up to date within a time; `located` are rows by memory file that are known already."""
    folders = _folder_times(home)
    before, located = _rows(home), located or {}
    deadline = time.monotonic() + seconds
    rows: dict[str, list[str]] = {}
    is_complete = True
    for path, stamp in files_of(home):
        if path in located:
            rows[path] = [stamp, *located[path]]
        elif path in before and before[path][0] == stamp:
            rows[path] = before[path]
        elif time.monotonic() < deadline:
            memory = read_memory(home, path)
            rows[path] = [stamp, *(_row(ref, memory) for ref in memory.refs)] if memory else [stamp]
        else:
            is_complete = False
    _write(home, rows, folders if is_complete else {})


class _Map:
    """The map as it was written; empty if it is missing or damaged."""

    def __init__(self, home: MemoryHome) -> None:
        self.folders: dict[str, int] | None = None
        self._data = b""
        self._start = 0
        with suppress(OSError, ValueError, KeyError, TypeError):
            self._data = read_regular(os.path.join(home.derived, _MAP), _MAX_BYTES)
            self._start = self._data.find(b"\n") + 1
            head = orjson.loads(self._data[: self._start])
            if head["format"] == _FORMAT and head["sum"] == _checksum(self._data[self._start :]):
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
            yield orjson.loads(data[low:end])
            low = end + 1


def _notes(rows: Iterable[Row], hit: Hit) -> list[str]:
    """The memories about a hit: about its whole file, its symbol, or lines that it shows more than half of."""
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


def _row(ref: CodeRef, memory: ReferringMemory) -> str:
    """A `Row` as a line of the map."""
    first, last = ref.lines or (0, 0)
    row: Row = (ref.file, first, last, ref.symbol, memory.id, memory.title)
    return orjson.dumps(row).decode()


def _folder_times(home: MemoryHome) -> dict[str, int]:
    """When each folder of memories last changed."""
    times: dict[str, int] = {}
    with suppress(OSError):
        for folder in folders_of(home):
            times[folder] = os.stat(home.path(folder)).st_mtime_ns
    return times


def _rows(home: MemoryHome) -> dict[str, list[str]]:
    """The stamp and the lines of each memory file; empty if they cannot be read."""
    with suppress(OSError, ValueError):
        data = read_regular(os.path.join(home.derived, _ROWS), _MAX_BYTES)
        checksum, kept = data[:_CHECKSUM_CHARS], data[_CHECKSUM_CHARS + 1 :]
        rows = orjson.loads(kept) if _checksum(kept).encode() == checksum else None
        if isinstance(rows, dict) and all(_is_sound(row) for row in rows.values()):
            return rows
    return {}


def _is_sound(row: object) -> bool:
    return isinstance(row, list) and bool(row) and set(map(type, row)) == {str}


def _write(home: MemoryHome, rows: dict[str, list[str]], folders: dict[str, int]) -> None:
    lines = sorted(line.encode() for _, *of_file in rows.values() for line in of_file)
    body = b"".join(line + b"\n" for line in lines)
    head = orjson.dumps({"format": _FORMAT, "folders": folders, "sum": _checksum(body)})
    kept = orjson.dumps(rows)
    with suppress(OSError, UsageError):  # a project that cannot be written to has no map
        home.prepare()
        write_bytes(os.path.join(home.derived, _ROWS), f"{_checksum(kept)}\n".encode() + kept, mode=PRIVATE_FILE)
        write_bytes(os.path.join(home.derived, _MAP), head + b"\n" + body, mode=PRIVATE_FILE)


def _checksum(data: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(data)
