"""Where code may have gone that is not in its place any more: files of the project that could hold it now.

A file that was renamed takes all its code with it: where one reference of a file was found, the others are looked for
first, and before that in files of the same name. The compiled index knows where a name is defined; it may be older than
the files, so every candidate is read again by whoever asked. Last, all files are looked through, within a limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from functools import cached_property

from sage_code.compiled.lookup import open_symbols
from sage_code.discover import list_files
from sage_code.errors import SageError
from sage_code.memory.code.code_files import CodeFile, CodeFiles
from sage_code.values import SourceFile

# What looking through a project may take for all references together, of the processor's time.
_SCAN_SECONDS = 10.0
_MAX_CANDIDATES = 40


class CandidateFiles:
    """Finds the files in which a text may stand."""

    def __init__(self, sources: CodeFiles) -> None:
        self._sources = sources
        self._homes: dict[str, dict[str, None]] = {}
        self._spent = 0.0

    @cached_property
    def _files(self) -> list[str]:
        return [file.path for file in list_files(self._sources.root) if isinstance(file, SourceFile)]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in self._files:
            found.setdefault(os.path.basename(path), []).append(path)
        return found

    def found(self, file: str, home: str) -> None:
        """Code of `file` was found in `home`: there may be more of it there."""
        self._homes.setdefault(file, {})[home] = None

    def likely(self, file: str) -> Iterator[CodeFile]:
        """The files that `file` may be called now."""
        named = self._by_name.get(os.path.basename(file), ())
        yield from self._read([*self._homes.get(file, ()), *named[:_MAX_CANDIDATES]])

    def defining(self, name: str) -> Iterator[CodeFile]:
        """The files that define `name`, as the index knows them."""
        try:
            matches = open_symbols(self._sources.root).find(name)
        except SageError:  # not indexed, or damaged: the files are still there to be looked through
            return
        yield from self._read(match["file"] for match in matches[:_MAX_CANDIDATES])

    def holding(self, *texts: str) -> Iterator[CodeFile]:
        """The files in which all `texts` stand, as far as the time reaches."""
        started, found = time.thread_time(), 0
        for path in self._files:
            if self._spent + time.thread_time() - started > _SCAN_SECONDS or found >= _MAX_CANDIDATES:
                break
            source = self._sources.get(path)
            if source is not None and all(text in source.text for text in texts):
                found += 1
                yield source
        self._spent += time.thread_time() - started

    def _read(self, paths: Iterable[str]) -> Iterator[CodeFile]:
        for path in dict.fromkeys(paths):
            source = self._sources.get(path)
            if source is not None:
                yield source
