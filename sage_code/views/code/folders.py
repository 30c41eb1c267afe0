"""The files of a project by folder, for browsing: what is in a folder, and what its README says first."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sage_code.compiled.published import open_snapshot
from sage_code.errors import UsageError
from sage_code.index.manifest import FileState, manifest_or_none
from sage_code.paths import manifest_path

# Projects whose lists are kept.
_KEPT = 4
_README = ("readme.md", "readme.rst", "readme.txt", "readme", "readme.markdown", "readme.adoc", "readme.org")


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file of a folder."""

    path: str
    name: str
    language: str
    size: int
    lines: int


@dataclass(frozen=True, slots=True)
class SubFolder:
    """A folder in a folder."""

    path: str
    name: str
    files: int  # in it and below it


@dataclass(frozen=True, slots=True)
class Folder:
    """What is in a folder, by name, folders and files apart."""

    path: str  # empty: the root
    folders: tuple[SubFolder, ...]
    files: tuple[FolderFile, ...]

    @property
    def readme(self) -> str:
        """The path of its README; empty without one."""
        found = {one.name.lower(): one.path for one in reversed(self.files)}
        return next((found[name] for name in _README if name in found), "")


class _Listed:
    """The files of one manifest, by folder."""

    def __init__(self, files: Mapping[str, FileState]) -> None:
        self.files = files
        self._line_counts: dict[str, int] | None = None

    @cached_property
    def by_folder(self) -> dict[str, tuple[list[str], dict[str, int]]]:
        """For each folder its files, and its folders with the number of files below them."""
        found: dict[str, tuple[list[str], dict[str, int]]] = {"": ([], {})}
        for path in self.files:
            above = path.rpartition("/")[0]
            found.setdefault(above, ([], {}))[0].append(path)
            while above:
                below, above = above, above.rpartition("/")[0]
                folders = found.setdefault(above, ([], {}))[1]
                folders[below] = folders.get(below, 0) + 1
        return found

    def line_counts(self, root: str) -> dict[str, int]:
        """How many lines each file has, by the ends of its last chunk; nothing without compiled files."""
        if self._line_counts is None:
            snapshot = open_snapshot(root)
            counts: dict[str, int] = {}
            for ref, segment in zip(snapshot.generation.segments, snapshot.segments, strict=True) if snapshot else ():
                dead, arrays = frozenset(ref.dead), segment.arrays
                ends = dict(zip(arrays["chunk_file"].tolist(), arrays["chunk_end"].tolist(), strict=True))
                counts |= {path: ends.get(row, 0) for row, path in enumerate(segment.paths) if row not in dead}
            self._line_counts = counts
        return self._line_counts


_kept: OrderedDict[str, tuple[tuple[int, int, int], _Listed]] = OrderedDict()
_lock = threading.Lock()


def known_files(root: str) -> Mapping[str, FileState]:
    """The files of the index, by path."""
    return _listed(root).files


def folder(root: str, path: str) -> Folder:
    """What the index has in a folder; UsageError if there is none of that name."""
    listed = _listed(root)
    found = listed.by_folder.get(path)
    if found is None:
        raise UsageError(f"there is no folder {path} in this project", "only folders with indexed files are shown")
    paths, folders = found
    below = sorted(folders.items(), key=lambda one: _order(one[0]))
    counts = listed.line_counts(root)
    return Folder(
        path,
        tuple(SubFolder(one, one.rpartition("/")[2], count) for one, count in below),
        tuple(
            FolderFile(
                one, one.rpartition("/")[2], listed.files[one].language, listed.files[one].size, counts.get(one, 0)
            )
            for one in sorted(paths, key=_order)
        ),
    )


def _order(path: str) -> tuple[str, str]:
    return path.casefold(), path


def _listed(root: str) -> _Listed:
    """The files of the manifest, which is read again when it was replaced."""
    try:
        facts = os.stat(manifest_path(root))
        stamp = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
    except OSError:
        stamp = (0, 0, 0)
    with _lock:
        known = _kept.pop(root, None)
        if known is None or known[0] != stamp:
            manifest = manifest_or_none(root)
            known = (stamp, _Listed(manifest.files if manifest else {}))
        _kept[root] = known
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return known[1]
