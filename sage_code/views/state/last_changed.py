"""When the index and the memories of a project were last changed, by looking at a few times of the file system.

A page that was made earlier shows what was true then. This is what tells it, also what no event has said: a memory that
was deleted, memories that came with `git pull`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from sage_code.memory.code.referring_memories import folders_of
from sage_code.memory.files.core_files import CORE_FILE
from sage_code.memory.files.homes import homes
from sage_code.paths import compiled_dir, dot_sage_dir


@dataclass(frozen=True, slots=True)
class LastChanged:
    """Times in seconds since 1970; 0 if there is nothing."""

    index: float = 0.0
    memory: float = 0.0


def last_changed(root: str) -> LastChanged:
    """When a project's index was last published, and when one of the memories that it shows was last written.

    A run that finds nothing to do publishes nothing. A file is replaced as a whole, which changes the time
    of its folder.
    """
    own = (os.path.join(dot_sage_dir(root), CORE_FILE),)
    folders = [home.path(folder) for home in homes(root) for folder in folders_of(home)]
    return LastChanged(_time(compiled_dir(root)), max(map(_time, (*own, *folders)), default=0.0))


def _time(path: str) -> float:
    try:
        return os.lstat(path).st_mtime  # of the link itself, which is replaced with every new generation
    except OSError:
        return 0.0
