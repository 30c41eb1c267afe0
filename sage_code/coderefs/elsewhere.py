"""Where code may have gone that is not in its place any more: files of the project that could hold it now.

The compiled index knows where a name is defined; it may be older than the files, so every candidate is read again by
whoever asked. Without an index, or when it names no right place, all files are looked through once, within a limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from sage_code.coderefs.source import Source, Sources
from sage_code.compiled.lookup import SymbolFiles
from sage_code.discover import list_files
from sage_code.errors import SageError
from sage_code.values import SourceFile

# What one look through a project may take; a reference is not worth more.
_SCAN_SECONDS = 10.0
_MAX_CANDIDATES = 40


class Elsewhere:
    """Finds the files in which a text may stand."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._files: list[str] | None = None
        self._deadline = 0.0

    def defining(self, name: str) -> Iterator[Source]:
        """The files that define `name`, as the index knows them."""
        try:
            matches = SymbolFiles(self._sources.root).find(name)
        except SageError:  # not indexed, or damaged: the files are still there to be looked through
            return
        yield from self._read(match["file"] for match in matches[:_MAX_CANDIDATES])

    def holding(self, *texts: str) -> Iterator[Source]:
        """The files in which all `texts` stand, as far as the time reaches."""
        if self._files is None:
            self._deadline = time.monotonic() + _SCAN_SECONDS
            self._files = [file.path for file in list_files(self._sources.root) if isinstance(file, SourceFile)]
        found = 0
        for path in self._files:
            if time.monotonic() > self._deadline or found >= _MAX_CANDIDATES:
                return
            source = self._sources.get(path)
            if source is not None and all(text in source.text for text in texts):
                found += 1
                yield source

    def _read(self, paths: Iterable[str]) -> Iterator[Source]:
        for path in dict.fromkeys(paths):
            source = self._sources.get(path)
            if source is not None:
                yield source
