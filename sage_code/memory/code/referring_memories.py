"""The memories that refer to code, whatever their kind: who they are, what they say in a line, and to what they refer.

Only the frontmatter's `code_refs` and the first words of a file are looked at, so every kind of memory is read in the
same way. A file without references is told by its bytes and not parsed; a damaged one is passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import MemoryHome, homes
from sage_code.values import Scope

FOLDERS = {"checkpoints": "checkpoint", "knowledge": "knowledge"}
_SUFFIX = ".md"
_MARK = "code_refs:"
# Knowledge lies in `global/` and `skills/NAME/`; deeper folders are nobody's.
_DEPTH = {"checkpoints": 1, "knowledge": 3}
_MAX_TITLE_CHARS = 120
_THESIS = re.compile(r"^## Thesis[ \t]*\n+([^\n#]+)", re.MULTILINE)
_FIRST_WORDS = re.compile(r"^#*[ \t]*(\S[^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ReferringMemory:
    """A memory that refers to code."""

    id: str
    kind: str  # checkpoint | knowledge
    title: str  # what it says, in a line
    ts: str  # when it was written, as the file has it
    scope: Scope
    refs: tuple[CodeRef, ...]


def memories(project_root: str) -> Iterator[ReferringMemory]:
    """Every memory that refers to code of the project, newest first within each kind."""
    for home in homes(project_root):
        for path, _ in sorted(files_of(home), reverse=True):
            found = read(home, path)
            if found is not None and (home.scope == "project" or _is_about(found[1], project_root)):
                yield found[0]


def files_of(home: MemoryHome) -> Iterator[tuple[str, str]]:
    """The files of a home that may hold memories: the path below it, and a stamp that changes with the content."""
    for folder in FOLDERS:
        yield from _files(home, folder, _DEPTH[folder])


def folders_of(home: MemoryHome) -> Iterator[str]:
    """The folders whose change means that memories were added, replaced or removed."""
    for folder, depth in _DEPTH.items():
        yield from _folders(home, folder, depth)


def read(home: MemoryHome, path: str) -> tuple[ReferringMemory, dict[str, Any]] | None:
    """The memory in a file and its head; None for one that refers to nothing, or cannot be read."""
    try:
        text = home.read(*path.split("/"))
        if _MARK not in text:
            return None
        head, body = frontmatter.split(text)
        record = frontmatter.load(head, path)
    except (OSError, MemoryDamaged):
        return None
    refs = tuple(_refs(record.get("code_refs")))
    if not refs:
        return None
    id_ = os.path.splitext(os.path.basename(path))[0]
    when = record.get("ts") or record.get("added") or ""
    kind = FOLDERS[path.partition("/")[0]]
    return ReferringMemory(id_, kind, _title(body), when if isinstance(when, str) else "", home.scope, refs), record


def _files(home: MemoryHome, folder: str, depth: int) -> Iterator[tuple[str, str]]:
    try:
        entries = list(os.scandir(home.path(*folder.split("/"))))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
            facts = entry.stat(follow_symlinks=False)
            yield f"{folder}/{entry.name}", f"{facts.st_mtime_ns:x}-{facts.st_size:x}"
        elif depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _files(home, f"{folder}/{entry.name}", depth - 1)


def _folders(home: MemoryHome, folder: str, depth: int) -> Iterator[str]:
    path = home.path(*folder.split("/"))
    if not os.path.isdir(path):
        return
    yield folder
    # `global/` may hold thousands of files and no folder: only where there are folders, they are looked for.
    for entry in os.scandir(path) if depth > 1 and not folder.endswith("/global") else ():
        if entry.is_dir(follow_symlinks=False):
            yield from _folders(home, f"{folder}/{entry.name}", depth - 1)


def _refs(records: object) -> Iterable[CodeRef]:
    for record in records if isinstance(records, list) else ():
        try:
            lines = record.get("lines")
            # Frontmatter is read as text: numbers are ours to read.
            yield CodeRef.from_dict({**record, "lines": [int(line) for line in lines]} if lines else record)
        except (UsageError, AttributeError, TypeError, ValueError):  # one bad reference does not hide the others
            continue


def _title(body: str) -> str:
    found = _THESIS.search(body) or _FIRST_WORDS.search(body)
    return " ".join(found[1].split())[:_MAX_TITLE_CHARS] if found else ""


def _is_about(head: dict[str, Any], project_root: str) -> bool:
    return head.get("project") in (project_root, os.path.realpath(project_root))
