"""Writes the symbol files: sorted runs first, then one streaming merge.

A run has a bounded size, so memory does not grow with the project. An update merges the old file, without the lines of
changed files, with the new runs.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Collection, Iterable, Iterator

import orjson

from sage_code.compiled.lookup import LINE_START
from sage_code.files.contained import open_regular
from sage_code.languages.kinds import TABLES, table_of
from sage_code.store.rows import FileRows

# History of the format: 1: one symbol a line, sorted as bytes, name first.
FORMAT = 1
_RUN_SYMBOLS = 20_000


class SymbolWriter:
    """Collects symbols of files and merges them with the files of an older generation."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pending: dict[str, list[bytes]] = {table: [] for table in TABLES}
        self._runs: dict[str, list[str]] = {table: [] for table in TABLES}

    def add(self, file: FileRows) -> None:
        """Take the symbols of one file."""
        for chunk in file.chunks:
            for symbol in chunk.symbols:
                encoded = orjson.dumps(
                    {
                        "name": symbol.name,
                        "qualname": symbol.qualname,
                        "kind": symbol.kind,
                        "file": file.path,
                        "line": symbol.line,
                        "start_line": symbol.start_line,
                        "end_line": symbol.end_line,
                        "signature": symbol.signature,
                        "docstring": symbol.docstring,
                        "language": file.language,
                    }
                )
                table = table_of(symbol.kind)
                pending = self._pending[table]
                # A copy: orjson's own bytes keep the buffer they were written to, ten times their size.
                pending.append(bytes(memoryview(encoded)))
                if len(pending) >= _RUN_SYMBOLS:
                    self._spill(table)

    def finish(self, old_folder: str | None, dropped: Collection[str]) -> dict[str, int]:
        """Write the final files; returns how many symbols each lists."""
        counts = {}
        for table in TABLES:
            self._pending[table].sort()
            sources: list[Iterable[bytes]] = [self._pending[table]]
            sources += [_read_run(run) for run in self._runs[table]]
            if old_folder is not None:
                sources.append(_kept(os.path.join(old_folder, f"{table}.json"), dropped))
            counts[table] = _write(os.path.join(self._folder, f"{table}.json"), table, heapq.merge(*sources))
            for run in self._runs[table]:
                os.unlink(run)
        return counts

    def _spill(self, table: str) -> None:
        pending = self._pending[table]
        pending.sort()
        run = os.path.join(self._folder, f"{table}.{len(self._runs[table])}.run")
        with open(run, "wb") as file:
            file.writelines(line + b"\n" for line in pending)
        self._runs[table].append(run)
        pending.clear()


def _write(path: str, table: str, lines: Iterable[bytes]) -> int:
    """Write the sorted lines of one table as JSON; returns how many there are."""
    count = 0
    with open(path, "wb", buffering=1 << 20) as file:
        file.write(orjson.dumps({"format": FORMAT, "table": table})[:-1] + b',"symbols":[\n')
        for count, line in enumerate(lines, 1):
            file.write(b",\n" + line if count > 1 else line)
        if count:
            file.write(b"\n")
        file.write(b'],"count":%d}\n' % count)
    return count


def _read_run(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        for line in file:
            yield line[:-1]


def _kept(path: str, dropped: Collection[str]) -> Iterator[bytes]:
    """The symbols of an older file, without those of the files in `dropped`."""
    marks = {b'"file":' + orjson.dumps(file) + b"," for file in dropped}
    with open_regular(path) as file:
        for raw in file:
            line = raw.rstrip(b",\n")
            if line.startswith(LINE_START) and not _belongs(line, marks):
                yield line


def _belongs(line: bytes, marks: Collection[bytes]) -> bool:
    start = line.find(b'"file":')
    # Strings are JSON-encoded, so an unescaped `","` ends the path and nothing inside it does.
    end = line.find(b',"line":', start)
    return line[start : end + 1] in marks
