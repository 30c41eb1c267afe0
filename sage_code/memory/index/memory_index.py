"""One kind of memory in one home, kept ready to be searched: the index follows the Markdown files, whoever edits them.

A file that is new or has changed is read and embedded, one that is gone is forgotten. Files are looked at when their
folder has changed, and in any case after a while; what this process saves itself, it adds itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

from sage_code.errors import Busy, MemoryDamaged, UsageError
from sage_code.files.locks import locked
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.index.prose_embedder import prose_embedder
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from sage_code.memory.index.index_files import IndexFiles
    from sage_code.memory.index.passages import Floats, Passages, Record

_PATIENCE_S = 10.0
_BATCH = 256


@dataclass(frozen=True, slots=True)
class MemoryKind:
    """Where the files of this kind are and what a file says to a search."""

    kind: str
    folders: Callable[[MemoryHome], Sequence[str]]  # below the home, as they are now
    suffixes: tuple[str, ...]
    passage: Callable[[str, str], tuple[Record, str]]  # from id and file to a record and the text to embed


class MemoryIndex:
    """Answers for one kind of memory in one home. Threads may share one."""

    def __init__(self, home: MemoryHome, kind: MemoryKind, settings: Settings) -> None:
        self.home, self._kind, self._settings = home, kind, settings
        self.damaged: dict[str, str] = {}  # by id, why a file cannot be read
        self._stamps_of_damaged: dict[str, str] = {}
        self._files: IndexFiles | None = None
        self._seen: object = None
        self._looked = 0.0
        self._guard = RLock()

    def passages(self) -> Passages:
        """Everything that is on this memory_index now."""
        with self._guard:
            files = self._opened()
            files.refresh()
            state = self._state()
            if state != self._seen or time.monotonic() - self._looked > self._settings.knowledge_cache_ttl_seconds:
                self._follow(files)
                self._seen, self._looked = state, time.monotonic()
            return files.passages

    def known(self) -> Passages:
        """What the index holds, without a look at the files; for a writer who holds the home's lock."""
        with self._guard:
            files = self._opened()
            files.refresh()
            return files.passages

    def paths(self) -> dict[str, str]:
        """Every file by its id, in the order of ids: its path below the home."""
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
        """The same with the stamp of each."""
        found = {}
        for id_, path in self.paths().items():
            try:
                state = os.lstat(self.home.path(path))
            except OSError:
                continue
            found[id_] = (path, f"{state.st_mtime_ns:x}-{state.st_size:x}")
        return found

    def saved(self, path: str, record: Record, meaning: str, vector: Floats | None = None) -> None:
        """A file was just written by us, who hold the lock; `path` is below the home."""
        with self._guard:
            files = self._opened()
            files.refresh()
            before = self._seen
            state = os.stat(self.home.path(path))
            stamped = replace(record, stamp=f"{state.st_mtime_ns:x}-{state.st_size:x}")
            vectors = self.embed([meaning]) if vector is None else vector[None, :]
            files.add([stamped], vectors)
            if before is not None:
                self._seen = self._state()  # our own change is no reason to look at every file

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of what is stored."""
        return prose_embedder(self._settings).embed_code(texts)

    def rebuild(self) -> int:
        """Embed everything anew; how many memories there are."""
        listing = self.listing()
        if not listing:
            return 0
        self.home.prepare()
        with self._guard, locked(self.home.lock, timeout_s=_PATIENCE_S):
            files = self._opened()
            files.clear()
            self._catch_up(files, listing)
            files.pack()
            return len(files.passages)

    def _opened(self) -> IndexFiles:
        if self._files is None:
            from sage_code.memory.index.index_files import IndexFiles  # lazy: NumPy

            embedder = prose_embedder(self._settings)
            self._files = IndexFiles(self.home, self._kind.kind, embedder.name, embedder.dim)
        return self._files

    def _state(self) -> Mapping[str, int]:
        """When the folders have last changed: files were added, replaced or removed then."""
        times = {}
        for folder in self._kind.folders(self.home):
            try:
                times[folder] = os.stat(self.home.path(folder)).st_mtime_ns
            except OSError:
                continue
        return times

    def _follow(self, files: IndexFiles) -> None:
        listing = self.listing()
        if not self._differs(files, listing):
            self._pack_if_wanted(files)
            return
        try:
            self.home.prepare()
            with locked(self.home.lock, timeout_s=_PATIENCE_S):
                files.refresh()
                self._catch_up(files, listing)
        except (OSError, Busy, UsageError):
            self._catch_up(files, listing, keep=False)  # a home that cannot be written to is searched all the same
        self._pack_if_wanted(files)

    def _pack_if_wanted(self, files: IndexFiles) -> None:
        if files.wants_packing:
            try:
                self.home.prepare()
                with locked(self.home.lock, timeout_s=0):
                    files.refresh()
                    files.pack()
            except (OSError, Busy, UsageError):
                return  # somebody else does, or nobody can

    def _differs(self, files: IndexFiles, listing: Mapping[str, tuple[str, str]]) -> bool:
        known = files.passages
        for id_, (_, stamp) in listing.items():
            row = known.row_of.get(id_)
            if (row is None or known.records[row].stamp != stamp) and self._stamps_of_damaged.get(id_) != stamp:
                return True
        return any(id_ not in listing for id_ in known.row_of)

    def _catch_up(self, files: IndexFiles, listing: Mapping[str, tuple[str, str]], *, keep: bool = True) -> None:
        known = files.passages
        changed: list[tuple[Record, str]] = []
        self.damaged = {id_: why for id_, why in self.damaged.items() if id_ in listing}
        for id_, (path, stamp) in listing.items():
            row = known.row_of.get(id_)
            if row is not None and known.records[row].stamp == stamp:
                continue
            try:
                record, meaning = self._kind.passage(id_, self.home.read(*path.split("/")))
                changed.append((replace(record, stamp=stamp), meaning))
                self.damaged.pop(id_, None)
            except FileNotFoundError:
                continue
            except MemoryDamaged as error:
                self.damaged[id_], self._stamps_of_damaged[id_] = error.message, stamp
        for start in range(0, len(changed), _BATCH):
            batch = changed[start : start + _BATCH]
            records = [record for record, _ in batch]
            vectors = self.embed([meaning for _, meaning in batch])
            if keep:
                files.add(records, vectors)
            else:
                from sage_code.memory.index.index_files import as_kept  # lazy: NumPy

                for record, vector in zip(records, vectors, strict=True):
                    known.add(record, as_kept(vector))
        gone = [id_ for id_ in known.row_of if id_ not in listing or id_ in self.damaged]
        if keep:
            files.remove(gone)
        else:
            for id_ in gone:
                known.remove(id_)
