"""Finds the files of a project that may hold code which is no longer at its old location.

First come the files in which other code of the same old file was found (a renamed file keeps its code together) and
files with the same name, then the files that define the name according to the compiled index, and last all files that
contain the text, within a time limit. The index may be older than the files, so the caller checks each candidate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import cached_property

from sage_code.compiled.lookup import open_symbols
from sage_code.discover.listing import list_files
from sage_code.errors import SageError
from sage_code.memory.code.code_files import CodeFile, CodeFiles
from sage_code.values import SourceFile

# The processor time for scanning a project, for all references together.
_SCAN_SECONDS = 10.0
_MAX_CANDIDATES = 40


class CandidateFiles:
    """Finds the files that may hold moved code; remembers where code of a file was found."""

    def __init__(self, code_files: CodeFiles) -> None:
        self._code_files = code_files
        self._new_paths: dict[str, dict[str, None]] = {}
        self._seconds = 0.0

    @cached_property
    def _files(self) -> list[str]:
        return [file.path for file in list_files(self._code_files.root) if isinstance(file, SourceFile)]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._files:
            found.setdefault(os.path.basename(path), []).append(path)
        return found

    def note_found(self, file: str, path: str) -> None:
        """Remember that code of `file` was found in the file at `path`."""
        self._new_paths.setdefault(file, {})[path] = None

    def renamed(self, file: str) -> Iterator[CodeFile]:
        """The files that `file` may have been renamed to."""
        named = self._by_name.get(os.path.basename(file), ())
        yield from self._read([*self._new_paths.get(file, ()), *named[:_MAX_CANDIDATES]])

    def defining(self, name: str) -> Iterator[CodeFile]:
        """The files that define `name` according to the compiled index."""
        try:
            matches = open_symbols(self._code_files.root).find(name)
        except SageError:  # not indexed, or damaged
            return
        yield from self._read(match["file"] for match in matches[:_MAX_CANDIDATES])

    def containing(self, *texts: str) -> Iterator[CodeFile]:
        """The files that contain all `texts`, within the time limit."""
        started, found = time.thread_time(), 0
        for path in self._files:
            if self._seconds + time.thread_time() - started > _SCAN_SECONDS or found >= _MAX_CANDIDATES:
                break
            file = self._code_files.get(path)
            if file is not None and all(text in file.text for text in texts):
                found += 1
                yield file
        self._seconds += time.thread_time() - started

    def _read(self, paths: Iterable[str]) -> Iterator[CodeFile]:
        for path in dict.fromkeys(paths):
            file = self._code_files.get(path)
            if file is not None:
                yield file
