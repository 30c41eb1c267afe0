"""Reads the memories that refer to code: their ids, titles and references.

Checkpoints and knowledge are read in the same way, since only `code_refs` in the frontmatter and the first words of the
body are needed. A file that does not contain `code_refs:` is not parsed; a damaged file is skipped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.code_ref import CodeRef, code_ref_of
from sage_code.memory.files.homes import MemoryHome, homes, id_of, stamp_of
from sage_code.values import Scope

_SUFFIX = ".md"
_MARK = "code_refs:"
# Knowledge is in `global/` and `skills/NAME/`; deeper folders are ignored.
_DEPTH = {"checkpoints": 1, "knowledge": 3}
_MAX_TITLE_CHARS = 120
_THESIS = re.compile(r"^## Thesis[ \t]*\n+([^\n#]+)", re.MULTILINE)
_FIRST_WORDS = re.compile(r"^#*[ \t]*(\S[^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ReferringMemory:
    """A memory that refers to code."""

    id: str
    kind: str  # checkpoint | knowledge
    title: str  # its thesis or first words, in one line
    ts: str  # when it was written, as the file says
    scope: Scope
    refs: tuple[CodeRef, ...]
    path: str  # relative to its home
    project: str  # as the file says


def memories(project_root: str) -> Iterator[ReferringMemory]:
    """The memories that refer to code of the project, newest first within each kind."""
    roots = (project_root, os.path.realpath(project_root))
    for home in homes(project_root):
        for path, _ in sorted(files_of(home), reverse=True):
            found = read_memory(home, path)
            if found is not None and (home.is_about_project or found.project in roots):
                yield found


def files_of(home: MemoryHome) -> Iterator[tuple[str, str]]:
    """The files of a home that may hold memories: the path relative to it, and a stamp that changes with the file."""
    for folder, depth in _DEPTH.items():
        yield from _files(home, folder, depth)


def folders_of(home: MemoryHome) -> Iterator[str]:
    """The folders whose times change when memories are added, replaced or removed."""
    for folder, depth in _DEPTH.items():
        yield from _folders(home, folder, depth)


def read_memory(home: MemoryHome, path: str) -> ReferringMemory | None:
    """The memory in a file; None if it refers to no code or cannot be read."""
    try:
        text = home.read(path)
        if _MARK not in text:
            return None
        head, body = frontmatter.split(text)
        record = frontmatter.load(head, path)
    except (OSError, MemoryDamaged):
        return None
    refs = tuple(_refs(record.get("code_refs")))
    if not refs:
        return None
    when, project = record.get("ts") or record.get("added"), record.get("project")
    return ReferringMemory(
        id_of(path),
        path.partition("/")[0].removesuffix("s"),
        title_of(body),
        when if isinstance(when, str) else "",
        home.scope,
        refs,
        path,
        project if isinstance(project, str) else "",
    )


def _files(home: MemoryHome, folder: str, depth: int) -> Iterator[tuple[str, str]]:
    """The files in a folder and its subfolders, down to a depth, each with its stamp."""
    try:
        entries = list(os.scandir(home.path(folder)))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
            yield f"{folder}/{entry.name}", stamp_of(entry.stat(follow_symlinks=False))
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _files(home, f"{folder}/{entry.name}", depth - 1)


def _folders(home: MemoryHome, folder: str, depth: int) -> Iterator[str]:
    path = home.path(folder)
    if not os.path.isdir(path):
        return
    yield folder
    # `global/` has no subfolders and may have thousands of files, so it is not scanned.
    for entry in os.scandir(path) if depth > 1 and not folder.endswith("/global") else ():
        if entry.is_dir(follow_symlinks=False):
            yield from _folders(home, f"{folder}/{entry.name}", depth - 1)


def _refs(records: object) -> Iterable[CodeRef]:
    for record in records if isinstance(records, list) else ():
        with suppress(UsageError, TypeError, ValueError):  # a bad reference does not hide the others
            yield code_ref_of(record)


def title_of(body: str) -> str:
    """The thesis of a memory or its first words, in one line."""
    found = _THESIS.search(body) or _FIRST_WORDS.search(body)
    return " ".join(found[1].split())[:_MAX_TITLE_CHARS] if found else ""
