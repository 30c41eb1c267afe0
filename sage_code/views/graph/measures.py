"""Measures of the files of a project for its map: lines, use by other files, age, and memories that no longer hold.

Everything but age and staleness is read from the compiled index, in milliseconds also for tens of thousands of files.
What lies deeper in a folder than a map shows is added up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sage_code.compiled.inventory import reading
from sage_code.compiled.published import needed_snapshot
from sage_code.discover.gitstate import GitState
from sage_code.languages.table import by_name
from sage_code.memory.code.check import Checker
from sage_code.memory.code.referring_memories import memories

Measure: TypeAlias = Literal["size", "use", "age", "stale"]
MEASURES: tuple[Measure, ...] = ("size", "use", "age", "stale")
# A folder with a smaller share of the lines is too small for a map to show what is in it.
_LEAST_SHARE = 1 / 10_000
# Projects whose last commits are kept, each for one commit.
_KEPT = 8
_times: dict[str, tuple[str, dict[str, int]]] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class FileMeasures:
    """One indexed file."""

    path: str
    language: str
    lines: int
    users: int = 0  # files that refer to anything that it defines
    committed: int = 0  # when it was last committed, in seconds since 1970; 0: unknown
    memories: int = 0  # that are about code of this file
    stale: int = 0  # of those, the ones whose code has changed or is gone


@dataclass(frozen=True, slots=True)
class FolderMeasures:
    """A folder, or a file (`file` is set), with what is below it added up."""

    name: str
    path: str
    lines: int
    files: int
    users: int  # of the file below it that most files use
    committed: int  # of the file below it that was changed last
    memories: int
    stale: int
    language: str  # of most lines
    children: tuple[FolderMeasures, ...] = ()
    file: FileMeasures | None = None


def measures(root: str, by: Measure = "size") -> list[FileMeasures]:
    """The measures of every indexed file, by path; those that take longer only if the map is coloured by them."""
    with reading(root):
        files = _indexed(root)
    if by == "age":
        times = _last_commits(root)
        return [_with(one, committed=times.get(one.path, 0)) for one in files]
    if by == "stale":
        counts = _memory_counts(root)
        return [
            _with(one, memories=counts[one.path][0], stale=counts[one.path][1]) if one.path in counts else one
            for one in files
        ]
    return files


def is_code(one: FileMeasures) -> bool:
    """Whether a file is in a language with a grammar: no text, data or markup."""
    language = by_name(one.language)
    return language is not None and bool(language.queries)


def folder(files: Iterable[FileMeasures], below: str = "") -> FolderMeasures:
    """The folder `below` with its folders and files."""
    prefix = f"{below}/" if below else ""
    inside = [one for one in files if one.path.startswith(prefix)]
    least = sum(one.lines for one in inside) * _LEAST_SHARE
    return _added_up(below.rpartition("/")[2], below, inside, len(prefix), least)


def _added_up(name: str, path: str, files: list[FileMeasures], start: int, least: float) -> FolderMeasures:
    """A folder and what is in it, unless it has fewer than `least` lines; `start` is the length of its path with the
    slash."""
    if sum(one.lines for one in files) < least:
        return _sum(name, path, files, ())
    own: list[FolderMeasures] = []
    deeper: dict[str, list[FileMeasures]] = {}
    for one in files:
        step, slash, _ = one.path[start:].partition("/")
        if slash:
            deeper.setdefault(step, []).append(one)
        else:
            own.append(_as_folder(step, one))
    for step, members in deeper.items():
        own.append(_added_up(step, files[0].path[:start] + step, members, start + len(step) + 1, least))
    return _sum(name, path, files, sorted(own, key=lambda one: (-one.lines, one.name)))


def _sum(name: str, path: str, files: Sequence[FileMeasures], children: Sequence[FolderMeasures]) -> FolderMeasures:
    """A folder as the sum of its files, or the most of them where a sum says nothing."""
    lines_of: dict[str, int] = {}
    users = committed = known = stale = 0
    for one in files:
        lines_of[one.language] = lines_of.get(one.language, 0) + one.lines
        users, committed = max(users, one.users), max(committed, one.committed)
        known, stale = known + one.memories, stale + one.stale
    language = max(lines_of, key=lambda language: (lines_of[language], language), default="")
    counted = (sum(lines_of.values()), len(files), users, committed, known, stale)
    return FolderMeasures(name, path, *counted, language, tuple(children))


def _as_folder(name: str, one: FileMeasures) -> FolderMeasures:
    measured = (one.lines, 1, one.users, one.committed, one.memories, one.stale, one.language)
    return FolderMeasures(name, one.path, *measured, file=one)


def _with(one: FileMeasures, *, committed: int = 0, memories: int = 0, stale: int = 0) -> FileMeasures:
    return FileMeasures(one.path, one.language, one.lines, one.users, committed, memories, stale)


def _indexed(root: str) -> list[FileMeasures]:
    """Every file of the published index with its lines and its users."""
    snapshot = needed_snapshot(root)
    users_of = snapshot.centrality["file_users"]
    found = []
    first = 0
    for ref, segment in zip(snapshot.generation.segments, snapshot.segments, strict=True):
        count = segment.meta["files"]
        lines = np.zeros(count, np.int64)
        np.maximum.at(
            lines, segment.arrays["chunk_file"].astype(np.int64), segment.arrays["chunk_end"].astype(np.int64)
        )
        users = users_of[first : first + count].tolist()
        alive, languages = segment.alive(ref.dead).tolist(), segment.meta["languages"]
        rows = zip(segment.paths, segment.arrays["file_language"].tolist(), lines.tolist(), users, alive, strict=True)
        found += [
            FileMeasures(path, languages[number], size, used) for path, number, size, used, lives in rows if lives
        ]
        first += count
    return sorted(found, key=lambda one: one.path)


def _last_commits(root: str) -> dict[str, int]:
    """When each file was last committed; kept until the next commit."""
    git = GitState.of(root)
    head = git.head() if git is not None else ""
    if git is None or not head:
        return {}
    with _lock:
        known = _times.get(root)
    if known is None or known[0] != head:
        known = (head, git.last_commits())
        with _lock:
            _times.pop(root, None)
            _times[root] = known
            if len(_times) > _KEPT:
                del _times[next(iter(_times))]
    return known[1]


def _memory_counts(root: str) -> dict[str, tuple[int, int]]:
    """By file, the memories about it and how many of them are stale."""
    checker = Checker(root)
    counts: dict[str, tuple[int, int]] = {}
    for memory in memories(root):
        about: dict[str, bool] = {}
        for ref in memory.refs:
            state = checker.check(ref)
            file = state.now.file if state.now is not None else ref.file
            about[file] = about.get(file, False) or state.is_stale
        for file, stale in about.items():
            known, old = counts.get(file, (0, 0))
            counts[file] = (known + 1, old + stale)
    return counts
