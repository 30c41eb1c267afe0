"""Provenance: notes in Sage's home that say which generations this user's Sage has made.

A project's `.sage/codebase/` may come from anybody: committed to a repository, unpacked from an archive, brought by a
pull. So Sage writes a note into its private home for each generation that it publishes. The note has the generation's
name, which cannot be guessed, and lists the generation's files with their sizes and times. Readers ignore compiled
files that have no note or differ from it, and a manifest whose generation has no note.

A note is found by the name of its generation, so a moved or renamed project keeps its index. A project that is copied
without its time stamps, or to another user or machine, counts as not indexed; `sage index` makes its index again from
the store.

This is on the path of `sage grep`: it reads one small file and the status of a few others (0.1 ms).
"""

from __future__ import annotations

import os

from sage_code.files.atomic import PRIVATE_FILE, remove, resolve, write_bytes
from sage_code.files.contained import read_regular
from sage_code.paths import compiled_dir, dot_sage_dir, generations_dir, sage_home
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Random bytes in a generation's name.
NAME_BYTES = 12
# Thousands of segments, each with size and time.
_MAX_NOTE_BYTES = 1 << 20


def published_folder(root: str) -> str | None:
    """The folder of the published generation; None if there is none that this user's Sage has made."""
    link = compiled_dir(root)
    folder = resolve(link)
    while folder is not None and not _is_as_noted(os.path.dirname(link), folder):
        # Perhaps it was replaced and deleted meanwhile: look again.
        before, folder = folder, resolve(link)
        if folder == before:
            return None
    return folder


def _is_as_noted(codebase: str, folder: str) -> bool:
    """Whether the generation in `folder` has a note, and its files are those of the note."""
    generations = os.path.join(codebase, "generations")
    if os.path.dirname(folder) != generations:
        return False
    if any(map(os.path.islink, (os.path.dirname(codebase), codebase, generations, folder))):
        return False
    files = _noted_files(folder)
    return bool(files) and all(_stamp(os.path.join(folder, name)) == stamp for name, stamp in files.items())


def complaint(root: str) -> str:
    """Says what is wrong with an index that this user's Sage has published here and that cannot be used."""
    folder = resolve(compiled_dir(root)) or ""
    for name, stamp in _noted_files(folder).items():
        found = _stamp(os.path.join(folder, name))
        if found and found != stamp:
            return f"{os.path.join(folder, name)} is damaged"
    return f"the compiled index of {root} is incomplete or of another version"


def is_linked(root: str) -> bool:
    """Whether the project's `.sage/` or `.sage/codebase/` is a link; Sage never writes through one."""
    folder = dot_sage_dir(root)
    return os.path.islink(folder) or os.path.islink(os.path.join(folder, "codebase"))


def is_known(root: str) -> bool:
    """Whether this user's Sage has published an index here, even if it is damaged by now."""
    if is_linked(root):
        return False
    try:
        name = os.path.basename(os.readlink(compiled_dir(root)))
    except OSError:  # no link, or a system that has none
        name = os.path.basename(resolve(compiled_dir(root)) or "")
    return is_noted(name)


def is_noted(generation: str) -> bool:
    """Whether this user's Sage has made a generation of this name."""
    return os.path.basename(generation) == generation != "" and os.path.isfile(_note(generation))


def note(root: str, generation: str, folder: str | None = None) -> None:
    """Write the note of a generation that consists of the files in `folder`."""
    from sage_code.files.private import make_private  # lazy: readers do not write

    files = {name: _stamp(os.path.join(folder, name)) for name in os.listdir(folder)} if folder else {}
    make_private(os.path.dirname(_note(generation)))
    write_bytes(_note(generation), dumps({"root": root, "files": files}, ensure_ascii=True).encode(), mode=PRIVATE_FILE)


def noted(root: str) -> list[str]:
    """The generations of this project that have a note; reads all notes."""
    return [name for name in _all_notes() if _root_of(name) == root]


def forget(root: str, generations: Iterable[str]) -> None:
    """Delete the notes of generations that are gone; a note that a copy of the project has taken over is kept."""
    for name in generations:
        if is_noted(name) and _root_of(name) == root and not os.path.lexists(os.path.join(generations_dir(root), name)):
            remove(_note(name))


def sweep() -> None:
    """Delete every note whose project is gone; the caller makes sure that no process indexes."""
    for name in _all_notes():
        root = _root_of(name)
        if root is None or not os.path.lexists(generations_dir(root)):
            remove(_note(name))


def _noted_files(folder: str) -> dict[str, list[int]]:
    """The files of a generation with their stamps, as its note lists them; empty if there is no note."""
    files = _read_note(os.path.basename(folder)).get("files")
    return files if isinstance(files, dict) else {}


def _all_notes() -> list[str]:
    try:
        return os.listdir(os.path.dirname(_note("")))
    except FileNotFoundError:
        return []


def _root_of(generation: str) -> str | None:
    root = _read_note(generation).get("root")
    return root if isinstance(root, str) else None


def _read_note(generation: str) -> dict[str, Any]:
    try:
        found = loads(read_regular(_note(generation), _MAX_NOTE_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _note(generation: str) -> str:
    return os.path.join(sage_home(), "codebase", "made", generation)


def _stamp(path: str) -> list[int]:
    """Size and time of a file; empty if it is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
