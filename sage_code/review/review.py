"""What a change means: the definitions that it touches, what that may break, and what is known about the code already.

The change is the difference between the files on disk and a commit. Git is asked only for what it has noted, and no
program that the repository names is run (`discover/gitstate.py`). Everything is bounded in time and number; what was
left out is in `notes`. Only memories that are committed with the project are named: a review is read by others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sage_code.compiled.inventory import reading
from sage_code.discover.decoding import decode
from sage_code.discover.gitstate import GitState
from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.lookup.similar import Duplicate, VectorSnapshot
from sage_code.memory.code.check import Checker, RefState, holds
from sage_code.memory.code.code_files import CodeFile
from sage_code.memory.code.referring_memories import ReferringMemory, memories
from sage_code.memory.files.code_ref import CodeRef
from sage_code.paths import DOT_SAGE
from sage_code.review.base import Base, find_base, git_of
from sage_code.settings.loading import Settings
from sage_code.views.graph.breakage import Breaking, is_test
from sage_code.views.graph.difference import TouchedDefinition
from sage_code.views.graph.uncommitted import MOST_DEFINITIONS, ChangedFile, Changes, broken_by, changed_files
from sage_code.xref.answers import Affected

_Item = TypeVar("_Item")

# For a hundred changed files of a large project on a slow machine; `sage review --seconds` gives more.
DEFAULT_SECONDS = 40.0
# Of that time: comparing files, following references, comparing memories.
_COMPARING, _FOLLOWING, _REMEMBERING = 0.4, 0.4, 0.2
_MAX_BLOB = 2 << 20
# More than anybody reads; a document of them is still small.
_MOST_LISTED = 500


@dataclass(frozen=True, slots=True)
class ReviewedDefinition:
    """A definition that the change touches."""

    file: str
    line: int  # of a removed one, where it was
    kind: str
    qualname: str
    change: str  # added changed signature removed moved
    signature: str
    before: str = ""  # of a changed signature, as it was
    moved_from: str = ""


@dataclass(frozen=True, slots=True)
class MadeStale:
    """A memory that said the same as the code before the change, and the references that no longer do."""

    memory: ReferringMemory
    states: tuple[RefState, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """What a change means."""

    base: Base
    files: tuple[ChangedFile, ...]
    definitions: tuple[ReviewedDefinition, ...] = ()
    breaks: tuple[Affected, ...] = ()  # with what was removed, or has another signature
    uses: tuple[Affected, ...] = ()  # of what works otherwise now
    tests: tuple[Affected, ...] = ()  # that reach any of it
    stale: tuple[MadeStale, ...] = ()
    similar: tuple[Duplicate, ...] = ()
    notes: tuple[str, ...] = ()


def review(
    root: str, settings: Settings, revision: str = "", *, seconds: float = DEFAULT_SECONDS, note: str = ""
) -> Review:
    """What the change since `revision`, by default since the default branch, means; `note`: what the index lacks."""
    git = git_of(root)
    base = find_base(git, revision)
    notes = [one for one in (base.note, note) if one]
    changes = changed_files(root, settings, base.commit, seconds=seconds * _COMPARING)
    if changes is None or not changes.files:
        return Review(base, (), notes=tuple(notes))
    notes += _not_compared(changes)
    touched = sorted(changes.touched, key=lambda one: (is_test(one.file), one.file, one.symbol.line))
    definitions = sorted(_described(touched), key=lambda one: (one.file, one.line, one.qualname))
    with reading(root):
        breaks, uses, tests = _followed(Breaking(root, seconds * _FOLLOWING), touched, notes)
        new = {one.file: one.difference.new_lines for one in changes.files if one.difference}
        similar = VectorSnapshot(root).copies(new)
    similar.sort(key=lambda pair: is_test(pair.first.file) or is_test(pair.second.file))  # stable: most similar first
    stale = tuple(_made_stale(root, git, changes, time.monotonic() + seconds * _REMEMBERING, notes))
    return Review(
        base,
        changes.files,
        _first(definitions, "changed definitions", notes),
        _first(breaks, "places that may break", notes),
        _first(uses, "places that use what has changed", notes),
        _first(tests, "tests", notes),
        _first(stale, "stale memories", notes),
        _first(similar, "similar definitions", notes),
        tuple(notes),
    )


def _first(items: Sequence[_Item], what: str, notes: list[str]) -> tuple[_Item, ...]:
    """The first items; how many more there are is noted."""
    if len(items) > _MOST_LISTED:
        notes.append(f"{len(items) - _MOST_LISTED:,} more {what} are not listed")
    return tuple(items[:_MOST_LISTED])


def _not_compared(changes: Changes) -> Iterator[str]:
    """What is not known about the changed files, a sentence for each reason."""
    if changes.left:
        yield f"{changes.left:,} more changed files were not looked at"
    reasons: dict[str, int] = {}
    for one in changes.files:
        if one.note:
            reasons[one.note] = reasons.get(one.note, 0) + 1
    for note, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"{count:,} changed {'file' if count == 1 else 'files'}: {note}"


def _described(touched: Sequence[TouchedDefinition]) -> Iterator[ReviewedDefinition]:
    """The touched definitions; one that was removed here and added there has moved."""
    sides: dict[tuple[str, str], tuple[list[TouchedDefinition], list[TouchedDefinition]]] = {}
    for one in touched:
        if one.change in ("added", "removed"):
            sides.setdefault((one.symbol.kind, one.symbol.qualname), ([], []))[one.change == "added"].append(one)
    moved = {id(new[0]): old[0] for old, new in sides.values() if len(old) == len(new) == 1}
    gone = {id(one) for one in moved.values()}
    for one in touched:
        if id(one) in gone:
            continue
        symbol, old = one.symbol, moved.get(id(one))
        what = ReviewedDefinition(
            one.file, symbol.line, symbol.kind, symbol.qualname, one.change, symbol.signature, one.before
        )
        yield replace(what, change="moved", moved_from=old.file) if old else what


def _followed(
    breaking: Breaking, touched: Sequence[TouchedDefinition], notes: list[str]
) -> tuple[list[Affected], list[Affected], list[Affected]]:
    """What may break, what uses what has changed, and the tests of both: what the change itself touches is left out."""
    own = {(one.file, one.symbol.qualname) for one in touched}
    found: dict[str, list[Affected]] = {}
    left, is_complete = 0, True
    for change in ("removed", "signature", "changed"):
        some = [one for one in touched if one.change == change]
        left += max(len(some) - MOST_DEFINITIONS, 0)
        broken = broken_by(breaking, some)
        is_complete = is_complete and broken.is_complete
        places = [place for file in (*broken.files, *broken.tests) for place in file.places]
        # Who still uses what is gone breaks, touched or not.
        found[change] = [one for one in places if change == "removed" or (one.file, one.scope) not in own]
    if left:
        notes.append(f"{left:,} changed definitions were not followed to their users")
    if not is_complete:
        notes.append("the time was over before all users were found: --seconds gives more")
    breaks = _nearest([*found["removed"], *found["signature"]])
    known = {(one.file, one.scope) for one in breaks}
    uses = [one for one in _nearest(found["changed"]) if (one.file, one.scope) not in known]
    tests = [one for one in _nearest([*breaks, *uses]) if is_test(one.file)]
    breaks, uses = ([one for one in places if not is_test(one.file)] for places in (breaks, uses))
    return breaks, uses, tests


def _nearest(places: Iterable[Affected]) -> list[Affected]:
    """Each place once, the nearest and most certain first."""
    best: dict[tuple[str, str], Affected] = {}
    for one in sorted(places, key=lambda one: (one.distance, -one.confidence, one.file, one.line, one.why)):
        best.setdefault((one.file, one.scope), one)
    return list(best.values())


def _made_stale(root: str, git: GitState, changes: Changes, until: float, notes: list[str]) -> Iterator[MadeStale]:
    """The shared memories that the change makes stale; those that were stale before are counted."""
    tracked = git.staged() or {}
    checker, versions = Checker(root), _Versions(git, changes)
    unchecked = stale_before = 0
    for memory in memories(root):
        if memory.scope != "project" or f"{DOT_SAGE}/{memory.path}" not in tracked:
            continue
        refs = [ref for ref in memory.refs if ref.file in changes.blobs]
        if refs and time.monotonic() > until:
            unchecked += 1
            continue
        stale = [state for state in map(checker.check, refs) if state.is_stale]
        by_change = tuple(state for state in stale if versions.held(state.ref))
        if by_change:
            yield MadeStale(memory, by_change)
        elif stale:
            stale_before += 1
    if stale_before:
        notes.append(f"memories about the changed files that were stale before: {stale_before:,}")
    if unchecked:
        notes.append(
            f"memories about the changed files that were not compared, because the time was over: {unchecked:,}"
        )


class _Versions:
    """The changed files as they were."""

    def __init__(self, git: GitState, changes: Changes) -> None:
        self._git, self._changes = git, changes
        self._known: dict[str, CodeFile | None] = {}

    def held(self, ref: CodeRef) -> bool:
        """Whether a reference said the same as its file before the change."""
        if ref.file not in self._known:
            self._known[ref.file] = self._read(ref.file)
        file = self._known[ref.file]
        return file is not None and holds(file, ref)

    def _read(self, path: str) -> CodeFile | None:
        blob = self._changes.blobs.get(path, "")
        data = self._git.blob(blob, _MAX_BLOB) if blob else None
        decoded = decode(data) if data is not None else None
        if data is None or decoded is None:
            return None
        language = detect(path, data[:HEAD_BYTES])
        if language is not None and language.may_crash:
            return None  # parsing a stranger's file could end this process
        return CodeFile(path, decoded.text)
