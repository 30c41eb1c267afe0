"""The index of one kind of memory in one home; it follows the Markdown files, whichever program edits them.

A new or changed file is read and embedded, a deleted one is removed. The files are compared with the index when their
folder has changed, and in any case after `knowledge_cache_ttl_seconds`. A save of this process is added directly.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from sage_code.errors import Busy, MemoryDamaged, UsageError
from sage_code.memory.files.homes import MemoryHome, stamp_of
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from sage_code.memory.index.index_files import IndexFiles
    from sage_code.memory.index.passages import Floats, Passages, Record

_LOCK_TIMEOUT_S = 10.0
_BATCH = 256


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """A kind of memory: where its files are, and how a file becomes a passage."""

    name: str
    folders: Callable[[MemoryHome], Sequence[str]]  # relative to the home, as they are now
    suffixes: tuple[str, ...]  # if a memory has files with several, the first suffix wins
    passage: Callable[[str, str], tuple[Record, str]]  # from id and file text to a record and the text to embed


class MemoryIndex:
    """The index of one kind of memory in one home; safe to share between threads."""

    def __init__(self, home: MemoryHome, kind: MemoryKind, settings: Settings) -> None:
        self.home, self._kind, self._settings = home, kind, settings
        self.damaged: dict[str, str] = {}  # by id, why a file cannot be read
        self._stamps_of_damaged: dict[str, str] = {}
        self._files: IndexFiles | None = None
        self._seen_folders: Mapping[str, int] | None = None
        self._compared_at = 0.0
        self._guard = RLock()

    def passages(self) -> Passages:
        """All memories of this kind, in step with the files."""
        with self._guard:
            files = self._opened()
            files.refresh()
            folders = self._folder_times()
            age = time.monotonic() - self._compared_at
            if folders != self._seen_folders or age > self._settings.knowledge_cache_ttl_seconds:
                self._follow_files(files)
                self._seen_folders, self._compared_at = folders, time.monotonic()
            return files.passages

    def indexed_passages(self) -> Passages:
        """What the index holds, without comparing it to the files; for a writer that holds the home's lock."""
        with self._guard:
            files = self._opened()
            files.refresh()
            return files.passages

    def paths(self) -> dict[str, str]:
        """The path of every file by id, sorted by id and relative to the home."""
        found: dict[str, str] = {}
        for folder in self._kind.folders(self.home):
            try:
                entries = os.scandir(self.home.path(folder))
            except OSError:
                continue
            for entry in entries:
                name, suffix = os.path.splitext(entry.name)
                is_first = name not in found or suffix == self._kind.suffixes[0]
                if suffix in self._kind.suffixes and is_first and entry.is_file(follow_symlinks=False):
                    found[name] = f"{folder}/{entry.name}"
        return dict(sorted(found.items()))

    def listing(self) -> dict[str, tuple[str, str]]:
        """The path and stamp of every file by id; a stamp changes with the file."""
        found = {}
        for id_, path in self.paths().items():
            with suppress(OSError):
                found[id_] = (path, stamp_of(os.lstat(self.home.path(path))))
        return found

    def saved(self, path: str, record: Record, meaning: str, vector: Floats | None = None) -> None:
        """Add a file that this process has just written, holding the lock; `path` is relative to the home."""
        with self._guard:
            files = self._opened()
            files.refresh()
            stamped = replace(record, stamp=stamp_of(os.stat(self.home.path(path))))
            vectors = self.embed([meaning]) if vector is None else vector[None, :]
            files.add([stamped], vectors)
            if self._seen_folders is not None:
                self._seen_folders = self._folder_times()  # so that this save does not cause a comparison

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of texts that are stored."""
        return prose_embedder(self._settings).embed_code(texts)

    def rebuild(self) -> int:
        """Embed all memories again; returns their number."""
        listing = self.listing()
        if not listing:
            return 0
        self.home.prepare()
        with self._guard, self.home.locked(_LOCK_TIMEOUT_S):
            files = self._opened()
            files.clear()
            self._catch_up(files, listing)
            files.pack()
            return len(files.passages)

    def _opened(self) -> IndexFiles:
        if self._files is None:
            from sage_code.memory.index.index_files import IndexFiles  # lazy: NumPy

            embedder = prose_embedder(self._settings)
            self._files = IndexFiles(self.home, self._kind.name, embedder.name, embedder.dim)
        return self._files

    def _folder_times(self) -> Mapping[str, int]:
        """When each folder last changed, that is when a file was added, replaced or removed."""
        times = {}
        for folder in self._kind.folders(self.home):
            with suppress(OSError):
                times[folder] = os.stat(self.home.path(folder)).st_mtime_ns
        return times

    def _follow_files(self, files: IndexFiles) -> None:
        """Bring the index in step with the files, in memory only if the home cannot be written to."""
        listing = self.listing()
        if not self._differs(files, listing):
            self._pack_if_wanted(files)
            return
        try:
            self.home.prepare()
            with self.home.locked(_LOCK_TIMEOUT_S):
                files.refresh()
                self._catch_up(files, listing)
        except (OSError, Busy, UsageError):
            self._catch_up(files, listing, write=False)
        self._pack_if_wanted(files)

    def _pack_if_wanted(self, files: IndexFiles) -> None:
        if files.wants_packing:
            with suppress(OSError, Busy, UsageError):  # another process packs, or the home cannot be written to
                self.home.prepare()
                with self.home.locked(0):
                    files.refresh()
                    files.pack()

    def _differs(self, files: IndexFiles, listing: Mapping[str, tuple[str, str]]) -> bool:
        known = files.passages
        for id_, (_, stamp) in listing.items():
            row = known.row_of.get(id_)
            if (row is None or known.records[row].stamp != stamp) and self._stamps_of_damaged.get(id_) != stamp:
                return True
        return any(id_ not in listing for id_ in known.row_of)

    def _catch_up(self, files: IndexFiles, listing: Mapping[str, tuple[str, str]], *, write: bool = True) -> None:
        """Embed changed files and remove deleted ones; without `write`, nothing is written to the disk."""
        known = files.passages
        changed: list[tuple[Record, str]] = []
        self.damaged = {id_: why for id_, why in self.damaged.items() if id_ in listing}
        for id_, (path, stamp) in listing.items():
            row = known.row_of.get(id_)
            if row is not None and known.records[row].stamp == stamp:
                continue
            try:
                record, meaning = self._kind.passage(id_, self.home.read(path))
                changed.append((replace(record, stamp=stamp), meaning))
                self.damaged.pop(id_, None)
            except FileNotFoundError:
                continue
            except MemoryDamaged as error:
                self.damaged[id_], self._stamps_of_damaged[id_] = error.message, stamp
        for start in range(0, len(changed), _BATCH):
            batch = changed[start : start + _BATCH]
            vectors = self.embed([meaning for _, meaning in batch])
            files.add([record for record, _ in batch], vectors, write=write)
        gone = [id_ for id_ in known.row_of if id_ not in listing or id_ in self.damaged]
        files.remove(gone, write=write)
