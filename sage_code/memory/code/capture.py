"""From the files and lines of a session to references: what was looked at, as definitions of the code.

A range becomes the functions and types that it touches; where there are none (prose, module-level code) it is anchored
by its own lines. Files are read as they are now, since a session has often just changed them. What a transcript says
about files outside the project is left out, and counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.memory.code.code_files import CodeFile, CodeFiles, span
from sage_code.memory.files.code_ref import CodeRef, relative_file
from sage_code.paths import DOT_SAGE
from sage_code.transcripts.context import FileInteraction, SessionCodeContext

# What a memory carries at most: a hundred references say no more than sixty, and a memory is a small file.
MAX_REFS = 60
_MAX_REFS_A_FILE = 12
# A file that was read as a whole: its definitions when there are few, otherwise the file.
_FEW_UNITS = 6
# A range that was read shows a definition when it shows so many of its lines.
_SHOWN_LINES = 3
# A longer run of lines without a definition says nothing more by its end.
_MAX_ANCHOR_LINES = 60
_OWN_FOLDERS = frozenset({DOT_SAGE, ".git", ".hg", ".jj", ".svn"})
# What a session did matters more than what it saw.
_WEIGHT = {"edit": 0, "write": 0, "read": 1}


@dataclass(frozen=True, slots=True)
class Captured:
    """The references of a session, and how many of its files are not in them."""

    refs: tuple[CodeRef, ...]
    outside: int  # files outside the project
    unreadable: int  # deleted since, binary, or links


def capture(project_root: str, context: SessionCodeContext) -> tuple[CodeRef, ...]:
    """The definitions that a session read or changed, what was changed and what came last first."""
    return captured(project_root, context).refs


def captured(project_root: str, context: SessionCodeContext) -> Captured:
    """`capture`, with what was left out."""
    root = os.path.realpath(project_root)
    sources = CodeFiles(root)
    outside, unreadable = set[str](), set[str]()
    found: dict[tuple[str, str, tuple[int, int] | None], CodeRef] = {}
    latest = sorted(enumerate(context.interactions), key=lambda one: (_WEIGHT.get(one[1].action, 2), -one[0]))
    counts: dict[str, int] = {}
    paths: dict[str, str] = {}
    seen: set[tuple[str, tuple[int, int] | None]] = set()
    for _, interaction in latest:
        place = (interaction.file, interaction.lines)
        if interaction.action not in _WEIGHT or place in seen:
            continue
        seen.add(place)
        if interaction.file not in paths:
            paths[interaction.file] = inside(root, project_root, interaction.file)
        path = paths[interaction.file]
        if path and (len(found) >= MAX_REFS or counts.get(path, 0) >= _MAX_REFS_A_FILE):
            continue
        source = sources.get(path) if path else None
        if source is None:
            (unreadable if path else outside).add(interaction.file)
            continue
        for ref in _refs(source, interaction):
            key = (ref.file, ref.symbol, None if ref.symbol else ref.lines)
            if key not in found and counts.get(ref.file, 0) < _MAX_REFS_A_FILE and len(found) < MAX_REFS:
                found[key] = ref
                counts[ref.file] = counts.get(ref.file, 0) + 1
    return Captured(tuple(found.values()), len(outside), len(unreadable))


def inside(root: str, given_root: str, file: str) -> str:
    """An absolute path as one relative to the project, or nothing when it is not in it."""
    for path in (file, os.path.realpath(file) if os.path.isabs(file) and "\0" not in file else ""):
        for top in (root, os.path.abspath(given_root)):
            if path.startswith(top.rstrip(os.sep) + os.sep):
                try:
                    relative = relative_file(os.path.relpath(path, top).replace(os.sep, "/"))
                except (UsageError, ValueError):
                    return ""
                return "" if relative.partition("/")[0] in _OWN_FOLDERS else relative
    return ""


def _refs(source: CodeFile, interaction: FileInteraction) -> Iterator[CodeRef]:
    lines = interaction.lines
    if lines is None or lines[0] > len(source.lines):
        if source.units and len(source.units) <= _FEW_UNITS:
            yield from (source.ref(span(unit), unit.qualname) for unit in source.units)
        elif source.lines:
            yield source.ref(None)
        return
    first, last = lines[0], min(lines[1], len(source.lines))
    units = [unit for unit in source.units if _is_shown(span(unit), first, last, interaction.action != "read")]
    yield from (source.ref(span(unit), unit.qualname) for unit in units)
    if not units and (anchor := _trimmed(source, first, last)):
        yield source.ref(anchor)


def _is_shown(unit: tuple[int, int], first: int, last: int, is_change: bool) -> bool:
    common = min(unit[1], last) - max(unit[0], first) + 1
    return common >= (1 if is_change else min(_SHOWN_LINES, unit[1] - unit[0] + 1))


def _trimmed(source: CodeFile, first: int, last: int) -> tuple[int, int] | None:
    """A range without the blank lines at its ends, and not endless."""
    while first <= last and not source.lines[first - 1].strip():
        first += 1
    last = min(last, first + _MAX_ANCHOR_LINES - 1)
    while last >= first and not source.lines[last - 1].strip():
        last -= 1
    return (first, last) if first <= last else None
