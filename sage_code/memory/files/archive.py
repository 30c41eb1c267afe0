"""`archive/`: where memories go that a limit takes off the memory_index, and where they come back from.

A memory keeps its path below the archive, so that restoring is moving it back. Nothing here is ever deleted: a person
empties the folder by hand. What was restored once is noted and stays, whatever its age.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.files.locks import locked
from sage_code.memory.files.homes import MemoryHome, safe_id

FOLDER = "archive"
_RESTORED = "restored.txt"
_PATIENCE_S = 30.0


def archive(home: MemoryHome, paths: Iterable[str]) -> list[str]:
    """Move files of a home (paths below it) into its archive; the paths that were moved."""
    moved = []
    for path in paths:
        home.prepare(os.path.dirname(f"{FOLDER}/{path}"))
        with locked(home.lock, timeout_s=_PATIENCE_S):
            if os.path.isfile(home.path(path)) and not os.path.islink(home.path(path)):
                os.rename(home.path(path), _unused(home.path(FOLDER, path)))
                moved.append(path)
    return moved


def archived(home: MemoryHome, folder: str) -> list[str]:
    """The archived files of a kind, as paths below the home that they would go back to; newest name first."""
    found: list[str] = []
    top = home.path(FOLDER)
    if os.path.islink(top):
        return []
    for here, folders, names in os.walk(os.path.join(top, folder)):
        folders[:] = sorted(name for name in folders if not os.path.islink(os.path.join(here, name)))
        below = os.path.relpath(here, top).replace(os.sep, "/")
        found += [f"{below}/{name}" for name in names if name.endswith((".md", ".yaml"))]
    return sorted(found, key=lambda path: path.rpartition("/")[2], reverse=True)


def find_archived(homes: Iterable[MemoryHome], folder: str, id_: str) -> tuple[MemoryHome, str]:
    """The archived memory with this id, or whose id alone contains it."""
    wanted = safe_id(id_)
    every = [(home, path) for home in homes for path in archived(home, folder)]
    named = {_id_of(path): (home, path) for home, path in reversed(every)}
    if wanted in named:
        return named[wanted]
    alike = [name for name in named if wanted in name]
    if len(alike) == 1:
        return named[alike[0]]
    if alike:
        raise UsageError(f"{len(alike)} archived ones are called like {wanted}", f"name one: {', '.join(alike[:5])}")
    command = f"sage {folder.removesuffix('s')} list --archived"
    raise UsageError(f"nothing archived is called {wanted}", f"`{command}` shows what is")


def restore(home: MemoryHome, path: str) -> str:
    """Move an archived file back to `path` below the home, and note that it is to stay; its id."""
    home.prepare(os.path.dirname(path))
    with locked(home.lock, timeout_s=_PATIENCE_S):
        if os.path.lexists(home.path(path)):
            raise UsageError(f"{_id_of(path)} is there again already", f"{home.path(FOLDER, path)} is the archived one")
        home.write("".join(f"{id_}\n" for id_ in sorted(restored(home) | {_id_of(path)})), FOLDER, _RESTORED)
        os.rename(home.path(FOLDER, path), home.path(path))
    return _id_of(path)


def restored(home: MemoryHome) -> set[str]:
    """The ids of what a person has taken back from the archive."""
    try:
        return set(home.read(FOLDER, _RESTORED).split())
    except (OSError, MemoryDamaged):
        return set()


def _unused(path: str) -> str:
    """`path`, or with a number when that is taken."""
    stem, suffix = os.path.splitext(path)
    number = 1
    while os.path.lexists(path):
        number += 1
        path = f"{stem}-{number}{suffix}"
    return path


def _id_of(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
