"""Which compiled files this user's Sage has made: those of which it has left a note in its own home.

A project's `.sage/codebase/` may come from anybody: committed to a repository, unpacked from an archive, put there by
a pull. So each generation that is published here has a note in Sage's private home, under the generation's name, which
no one can guess: which files it is made of, and their sizes and times. Compiled files without a note, or other ones
than it says, count as not there; a manifest counts when the generation that it names has a note.

The note is found by name and not by folder, so a project that is moved or renamed keeps its index; one that is copied
without its time stamps, or to another user or machine, is not indexed yet, and `sage index` brings its index back from
the store.

This is on the path of `sage grep`: one small file is read and a handful are looked at (0.1 ms).
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

# Bytes of chance in a generation's name.
NAME_BYTES = 12
# Thousands of segments, each with size and time.
_MAX_NOTE_BYTES = 1 << 20


def published_folder(root: str) -> str | None:
    """The folder of the published generation, or None when nothing was published that this user's Sage has made."""
    link = compiled_dir(root)
    folder = resolve(link)
    while folder is not None and not _is_ours(os.path.dirname(link), folder):
        # Replaced and deleted while we looked, perhaps: look again.
        before, folder = folder, resolve(link)
        if folder == before:
            return None
    return folder


def _is_ours(codebase: str, folder: str) -> bool:
    """Whether the files of this generation are the ones that this user's Sage has written."""
    generations = os.path.join(codebase, "generations")
    if os.path.dirname(folder) != generations:
        return False
    if any(map(os.path.islink, (os.path.dirname(codebase), codebase, generations, folder))):
        return False
    files = _noted_files(folder)
    return bool(files) and all(_stamp(os.path.join(folder, name)) == stamp for name, stamp in files.items())


def complaint(root: str) -> str:
    """What is wrong with the index that this user's Sage has published here and that is not usable now."""
    folder = resolve(compiled_dir(root)) or ""
    for name, stamp in _noted_files(folder).items():
        found = _stamp(os.path.join(folder, name))
        if found and found != stamp:
            return f"{os.path.join(folder, name)} is damaged"
    return f"the compiled index of {root} is incomplete or of another version"


def is_linked(root: str) -> bool:
    """Whether the project's `.sage/` or what indexing keeps there is a link, through which Sage never writes."""
    folder = dot_sage_dir(root)
    return os.path.islink(folder) or os.path.islink(os.path.join(folder, "codebase"))


def is_known(root: str) -> bool:
    """Whether this user's Sage has published an index here, sound or damaged by now."""
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
    """Remember that this user's Sage has made a generation, of the files in `folder`."""
    from sage_code.files.private import make_private  # lazy: readers do not write

    files = {name: _stamp(os.path.join(folder, name)) for name in os.listdir(folder)} if folder else {}
    make_private(os.path.dirname(_note(generation)))
    write_bytes(_note(generation), dumps({"root": root, "files": files}, ensure_ascii=True).encode(), mode=PRIVATE_FILE)


def noted(root: str) -> list[str]:
    """The generations of this project that have a note; reads all notes, for whoever deletes."""
    return [name for name in _all_notes() if _root_of(name) == root]


def forget(root: str, generations: Iterable[str]) -> None:
    """Drop the notes of generations of this project that are gone; one that a copy of the project has is the copy's."""
    for name in generations:
        if is_noted(name) and _root_of(name) == root and not os.path.lexists(os.path.join(generations_dir(root), name)):
            remove(_note(name))


def sweep() -> None:
    """Drop every note whose generation is gone, with the project or by hand; nobody indexes meanwhile."""
    for name in _all_notes():
        root = _root_of(name)
        if root is None or not os.path.lexists(generations_dir(root)):
            remove(_note(name))


def _noted_files(folder: str) -> dict[str, list[int]]:
    """The files of a generation as its note has them; none when there is no note."""
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
    """Size and time of a file; nothing when it is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
