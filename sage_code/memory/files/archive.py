"""`archive/`: holds the memories that were moved out because of a limit, until a person restores them.

A memory keeps its path below `archive/`, so restoring moves it back. Sage never deletes anything here; people do.
`restored.txt` lists the ids of restored memories: they are not archived again, however old they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files.homes import MemoryHome, id_of, safe_id

FOLDER = "archive"
_RESTORED = "restored.txt"


def archive(home: MemoryHome, paths: Iterable[str]) -> list[str]:
    """Move files of a home into its archive; returns the paths that were moved. Paths are relative to the home."""
    moved = []
    for path in paths:
        home.prepare(os.path.dirname(f"{FOLDER}/{path}"))
        with home.locked():
            if os.path.isfile(home.path(path)) and not os.path.islink(home.path(path)):
                os.rename(home.path(path), _free_path(home.path(FOLDER, path)))
                moved.append(path)
    return moved


def archived(homes: Iterable[MemoryHome], folder: str) -> Iterator[tuple[MemoryHome, str]]:
    """The archived files of one folder, newest name first in each home, as the paths that restoring would give them."""
    for home in homes:
        found: list[str] = []
        top = home.path(FOLDER)
        for here, folders, names in os.walk(os.path.join(top, folder)) if not os.path.islink(top) else ():
            folders[:] = sorted(name for name in folders if not os.path.islink(os.path.join(here, name)))
            below = os.path.relpath(here, top).replace(os.sep, "/")
            found += [f"{below}/{name}" for name in names if name.endswith((".md", ".yaml"))]
        yield from ((home, path) for path in sorted(found, key=os.path.basename, reverse=True))


def find_archived(homes: Iterable[MemoryHome], folder: str, id_: str) -> tuple[MemoryHome, str]:
    """The archived memory with this id, or the only one whose id contains it."""
    wanted = safe_id(id_)
    by_id = {id_of(path): (home, path) for home, path in reversed([*archived(homes, folder)])}
    if wanted in by_id:
        return by_id[wanted]
    matches = [id_ for id_ in by_id if wanted in id_]
    if len(matches) == 1:
        return by_id[matches[0]]
    if matches:
        raise UsageError(f"{len(matches)} archived ids contain {wanted}", f"name one: {', '.join(matches[:5])}")
    command = f"sage {folder.removesuffix('s')} list --archived"
    raise UsageError(f"nothing archived is called {wanted}", f"`{command}` shows what is")


def restore(home: MemoryHome, path: str) -> str:
    """Move an archived file back to `path` below the home and list it as restored; returns its id."""
    id_ = id_of(path)
    home.prepare(os.path.dirname(path))
    with home.locked():
        if os.path.lexists(home.path(path)):
            raise UsageError(f"{id_} exists already", f"{home.path(FOLDER, path)} is the archived one")
        home.write("".join(f"{one}\n" for one in sorted(restored(home) | {id_})), FOLDER, _RESTORED)
        os.rename(home.path(FOLDER, path), home.path(path))
    return id_


def restored(home: MemoryHome) -> set[str]:
    """The ids of the memories that a person has restored."""
    try:
        return set(home.read(FOLDER, _RESTORED).split())
    except (OSError, MemoryDamaged):
        return set()


def _free_path(path: str) -> str:
    """`path`, with a number added if it is taken."""
    stem, suffix = os.path.splitext(path)
    number = 1
    while os.path.lexists(path):
        number += 1
        path = f"{stem}-{number}{suffix}"
    return path
