"""Makes references from the files and lines that a session read or changed.

A range becomes references to the functions and types that it touches, or to its own lines if there are none (prose,
module-level code). Files are read as they are now, since the session may have changed them. Files outside the project,
deleted and binary files and links are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from sage_code.memory.code.code_files import CodeFile, CodeFiles, span
from sage_code.memory.code.line_refs import inside
from sage_code.memory.files.code_ref import CodeRef
from sage_code.transcripts.code_context import FileInteraction, SessionCodeContext

# A hundred references say no more than sixty, and a memory is a small file.
MAX_REFS = 60
_MAX_REFS_A_FILE = 12
# A file that was read as a whole gives references to its definitions if it has at most so many, else to the file.
_FEW_UNITS = 6
# A range that was read shows a definition if it contains so many of its lines.
_SHOWN_LINES = 3
# The end of a longer run of lines without a definition adds nothing.
_MAX_ANCHOR_LINES = 60
# Changes come before what was only read.
_ORDER = {"edit": 0, "write": 0, "read": 1}


def capture(project_root: str, context: SessionCodeContext, code_files: CodeFiles | None = None) -> tuple[CodeRef, ...]:
    """The definitions that a session read or changed: changed ones first, then the latest first.

    `code_files` are the files that the caller has read already.
    """
    root = os.path.realpath(project_root)
    code_files = code_files or CodeFiles(root)
    found: dict[tuple[str, str, tuple[int, int] | None], CodeRef] = {}
    latest = sorted(enumerate(context.interactions), key=lambda one: (_ORDER.get(one[1].action, 2), -one[0]))
    counts: dict[str, int] = {}
    paths: dict[str, str] = {}
    seen: set[tuple[str, tuple[int, int] | None]] = set()
    for _, interaction in latest:
        location = (interaction.file, interaction.lines)
        if interaction.action not in _ORDER or location in seen:
            continue
        seen.add(location)
        if interaction.file not in paths:
            paths[interaction.file] = inside(root, project_root, interaction.file)
        path = paths[interaction.file]
        if not path or len(found) >= MAX_REFS or counts.get(path, 0) >= _MAX_REFS_A_FILE:
            continue
        file = code_files.get(path)
        if file is None:
            continue
        for ref in _refs(file, interaction):
            key = (ref.file, ref.symbol, None if ref.symbol else ref.lines)
            if key not in found and counts.get(ref.file, 0) < _MAX_REFS_A_FILE and len(found) < MAX_REFS:
                found[key] = ref
                counts[ref.file] = counts.get(ref.file, 0) + 1
    return tuple(found.values())


def _refs(file: CodeFile, interaction: FileInteraction) -> Iterator[CodeRef]:
    """References for one interaction: to definitions, to a run of lines, or to the whole file."""
    lines = interaction.lines
    if lines is None or lines[0] > len(file.lines):
        if file.units and len(file.units) <= _FEW_UNITS:
            yield from (file.ref(span(unit), unit.qualname) for unit in file.units)
        elif file.lines:
            yield file.ref(None)
        return
    first, last = lines[0], min(lines[1], len(file.lines))
    units = [unit for unit in file.units if _is_shown(span(unit), first, last, interaction.action != "read")]
    yield from (file.ref(span(unit), unit.qualname) for unit in units)
    if not units and (anchor := _trimmed(file, first, last)):
        yield file.ref(anchor)


def _is_shown(unit: tuple[int, int], first: int, last: int, is_change: bool) -> bool:
    common = min(unit[1], last) - max(unit[0], first) + 1
    return common >= (1 if is_change else min(_SHOWN_LINES, unit[1] - unit[0] + 1))


def _trimmed(file: CodeFile, first: int, last: int) -> tuple[int, int] | None:
    """A range without blank lines at its ends, cut to `_MAX_ANCHOR_LINES`; None if nothing is left."""
    while first <= last and not file.lines[first - 1].strip():
        first += 1
    last = min(last, first + _MAX_ANCHOR_LINES - 1)
    while last >= first and not file.lines[last - 1].strip():
        last -= 1
    return (first, last) if first <= last else None
