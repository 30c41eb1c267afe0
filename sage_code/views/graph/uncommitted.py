"""The uncommitted changes of a project: which files and definitions they touch, what breaks, which memories go stale.

Git is asked only for what it has noted (see `discover/gitstate.py`); the files are read and compared here. What is
shown of them is masked.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from sage_code.compiled.inventory import reading
from sage_code.discover.decoding import decode
from sage_code.discover.gitstate import GitState, Staged
from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import discover_rules
from sage_code.discover.secret_files import is_secret_path, is_secret_text
from sage_code.files.contained import read_contained
from sage_code.index.manifest import manifest_or_none
from sage_code.languages.table import detect
from sage_code.memory.code.check import Checker, RefState
from sage_code.memory.code.referring_memories import ReferringMemory, memories
from sage_code.settings.loading import Settings
from sage_code.values import SkipReason, SourceFile
from sage_code.views.graph.breakage import Breakage, Breaking
from sage_code.views.graph.difference import Difference, TouchedDefinition, difference
from sage_code.xref.answers import Affected
from sage_code.xref.graph import Definition

FileChange: TypeAlias = Literal["added", "modified", "deleted", "untracked"]

DEFAULT_SECONDS = 8.0
# Of that time, what comparing files may take; the rest is for what breaks.
_COMPARING_SHARE = 0.4
# More files than a person reads about; a larger file is data.
_MAX_FILES = 200
_MAX_BYTES = 2 << 20
MOST_DEFINITIONS = 60


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is not as it was committed."""

    file: str
    change: FileChange
    difference: Difference | None = None
    note: str = ""  # why nothing is known about the difference


@dataclass(frozen=True, slots=True)
class StaleMemory:
    """A memory about changed code that no longer says the same."""

    memory: ReferringMemory
    states: tuple[RefState, ...]


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """What differs from the last commit, and what that means."""

    has_git: bool
    files: tuple[ChangedFile, ...] = ()
    files_left: int = 0  # changed files that are not listed
    breakage: Breakage | None = None
    stale: tuple[StaleMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from a commit."""

    files: tuple[ChangedFile, ...]
    left: int  # changed files that are not listed
    blobs: dict[str, str]  # by path of every changed file, what it was in the commit; empty if it is new

    @property
    def touched(self) -> list[TouchedDefinition]:
        """The definitions that differ, by file."""
        return [one for file in self.files if file.difference for one in file.difference.definitions]


class _Text(NamedTuple):
    """A version of a file, or a note why it is not compared."""

    text: str = ""
    note: str = ""


def uncommitted(root: str, settings: Settings, *, seconds: float = DEFAULT_SECONDS) -> Uncommitted:
    """The changes since the last commit, untracked files too."""
    changes = changed_files(root, settings, seconds=seconds * _COMPARING_SHARE)
    if changes is None:
        return Uncommitted(has_git=False)
    if not changes.files:
        return Uncommitted(has_git=True)
    with reading(root):
        broken = broken_by(Breaking(root, seconds - seconds * _COMPARING_SHARE), changes.touched)
    stale = tuple(_stale(root, {one.file for one in changes.files}))
    return Uncommitted(True, changes.files, changes.left, broken, stale)


def changed_files(root: str, settings: Settings, base: str = "HEAD", *, seconds: float) -> Changes | None:
    """The files that are not as in the commit `base`, untracked ones too; None if git cannot be asked."""
    git = GitState.of(root)
    staged = git.staged() if git is not None else None
    if git is None or staged is None:
        return None
    until = time.monotonic() + seconds
    names = sorted(_changed_names(root, git, staged, base).items())
    files = tuple(_compared(_Reader(root, settings, git), names[:_MAX_FILES], until))
    return Changes(files, max(len(names) - _MAX_FILES, 0), {path: blob for path, (_, blob) in names})


def _changed_names(root: str, git: GitState, staged: dict[str, Staged], base: str) -> dict[str, tuple[FileChange, str]]:
    """By path, how a file has changed and its blob in the commit `base`."""
    committed, written = git.committed(base), git.index_time_ns()
    found: dict[str, tuple[FileChange, str]] = dict.fromkeys(git.untracked(), ("untracked", ""))
    for path in committed.keys() | staged.keys():
        blob, entry = committed.get(path, ""), staged.get(path)
        try:
            facts = os.lstat(os.path.join(root, path))
        except OSError:
            if blob:
                found[path] = ("deleted", blob)
            continue
        is_stamped = entry is not None and (facts.st_mtime_ns, facts.st_size) == (entry.mtime_ns, entry.size)
        if entry is not None and is_stamped and facts.st_mtime_ns < written:
            if entry.blob != blob:
                found[path] = ("modified" if blob else "added", blob)
        elif not blob or not _is_blob(root, path, blob):
            found[path] = ("modified" if blob else "added", blob)
    return found


def _is_blob(root: str, path: str, blob: str) -> bool:
    """Whether a file has the content of a blob, whatever its line ends."""
    try:
        data = read_contained(os.fsencode(root), os.fsencode(path), _MAX_BYTES + 1)
    except OSError:
        return False
    return any(_blob_name(one, len(blob)) == blob for one in (data, data.replace(b"\r\n", b"\n")))


def _blob_name(data: bytes, length: int) -> str:
    made = hashlib.sha256() if length == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % len(data) + data)
    return made.hexdigest()


def _compared(
    reader: _Reader, names: Sequence[tuple[str, tuple[FileChange, str]]], until: float
) -> Iterator[ChangedFile]:
    """The changed files with their differences; those whose text is the same are left out."""
    for file, (change, blob) in names:
        if time.monotonic() > until:
            yield ChangedFile(file, change, note="not compared, because the time was over")
            continue
        before, after = reader.before(file, blob), reader.after(file) if change != "deleted" else _Text()
        note = before.note or after.note
        found = difference(file, before.text, after.text) if not note else None
        if found is None:
            yield ChangedFile(file, change, note=note or "too many changed lines to be compared here")
        elif before.text != after.text:
            yield ChangedFile(file, change, found)


class _Reader:
    """Reads both versions of files, if they belong to the project."""

    def __init__(self, root: str, settings: Settings, git: GitState) -> None:
        self._root, self._git, self._rules = root, git, discover_rules(settings)
        manifest = manifest_or_none(root)
        self._indexed = manifest.files if manifest is not None else {}

    @cached_property
    def _listed(self) -> frozenset[str]:
        """The files that the next run would index: an index may be older than a change."""
        found = list_files(self._root, self._rules)
        return frozenset(one.path for one in found if isinstance(one, SourceFile))

    def before(self, file: str, blob: str) -> _Text:
        """A file as it was committed."""
        if not blob:
            return _Text()
        if not self._rules.include_secrets and is_secret_path(file):
            return _Text(note="it may hold secrets and is not shown")
        data = self._git.blob(blob, _MAX_BYTES)
        decoded = decode(data) if data is not None else None
        if data is None or decoded is None:
            return _Text(note="too large to be compared here, or not fetched" if data is None else "not text")
        if not self._rules.include_secrets and is_secret_text(file, decoded.text):
            return _Text(note="it may hold secrets and is not shown")
        return _Text(decoded.text)

    def after(self, file: str) -> _Text:
        """A file as it is now."""
        if file not in self._indexed and file not in self._listed:
            return _Text(note="not part of the project, as far as Sage reads it")
        found = read_source(self._root, SourceFile(file, 0, 0), self._rules)
        if isinstance(found, SourceText):
            return _Text(found.text)
        return _Text() if found.reason is SkipReason.EMPTY else _Text(note=f"not shown ({found.reason})")


def broken_by(breaking: Breaking, touched: Sequence[TouchedDefinition]) -> Breakage:
    """What may break with the touched definitions: nothing uses a new one yet, and users of a removed one lost it."""
    changed: list[Definition] = []
    lost: list[Affected] = []
    for one in touched[:MOST_DEFINITIONS]:
        named = detect(one.file)
        language = breaking.graph.file_language(one.file) or (named.name if named else "")
        if one.change == "removed":
            lost += breaking.lost(one.file, one.symbol, language)
        elif one.change != "added":
            changed.append(Definition(one.file, language, one.symbol))
    return breaking.of_definitions(changed, lost)


def _stale(root: str, files: set[str]) -> Iterator[StaleMemory]:
    """The memories about these files whose code has changed or is gone."""
    checker = Checker(root)
    for memory in memories(root):
        states = [checker.check(ref) for ref in memory.refs if ref.file in files]
        stale = tuple(state for state in states if state.is_stale)
        if stale:
            yield StaleMemory(memory, stale)
