"""What the stores of checkpoints and of knowledge have in common: their homes, their indexes and their archive."""

from __future__ import annotations

import os

from sage_code.errors import Conflict, UsageError
from sage_code.memory.files.archive import find_archived, restore
from sage_code.memory.files.homes import MemoryHome, homes, id_of
from sage_code.memory.index.memory_index import MemoryIndex, MemoryKind
from sage_code.memory.notices import Notices
from sage_code.settings.table import Settings
from sage_code.values import Scope


class StoredMemories:
    """The memories of one kind of a project and of its user."""

    def __init__(self, kind: MemoryKind, root: str | None, settings: Settings, notices: Notices | None) -> None:
        self.root, self.settings = root, settings
        self.notices = Notices() if notices is None else notices
        self._kind = kind
        self._memory_indexes: dict[MemoryHome, MemoryIndex] = {}

    @property
    def memory_indexes(self) -> list[MemoryIndex]:
        """The indexes of all homes, the project's first."""
        return [self.memory_index(home) for home in homes(self.root)]

    def memory_index(self, home: MemoryHome) -> MemoryIndex:
        """The index of a home."""
        if home not in self._memory_indexes:
            self._memory_indexes[home] = MemoryIndex(home, self._kind, self.settings)
        return self._memory_indexes[home]

    def find(self, id_: str) -> tuple[MemoryHome, str]:
        """The home of a memory, and its path relative to the home; UsageError if there is none."""
        raise NotImplementedError

    def remove(self, id_: str, *, before: str | None = None) -> str:
        """Delete a memory; Conflict if `before` is given and is not its text any more."""
        raise NotImplementedError

    def restore(self, id_: str) -> tuple[str, Scope]:
        """Move a memory back from the archive, for good; returns its id and scope."""
        home, path = find_archived(homes(self.root), self._kind.name, id_)
        return restore(home, path), home.scope

    def replace_text(self, home: MemoryHome, path: str, before: str, text: str) -> None:
        """Write another text into a memory's file; Conflict if it no longer has the text `before`.

        MemoryDamaged if the new text could not be read as a memory.
        """
        self._kind.passage(id_of(path), text)
        with home.locked():
            check_unchanged(home, path, before)
            home.write(text, path)

    def put_back(self, home: MemoryHome, path: str, text: str) -> None:
        """Write the file of a memory that was deleted; UsageError if there is one again."""
        home.prepare(os.path.dirname(path))
        with home.locked():
            if os.path.lexists(home.path(path)):
                raise UsageError(f"{id_of(path)} exists again", "delete or rename the other one first")
            home.write(text, path)


def check_unchanged(home: MemoryHome, path: str, before: str) -> None:
    """Conflict if a file no longer has the text `before`; the caller holds the home's lock."""
    try:
        now = home.read(path)
    except FileNotFoundError as error:
        raise Conflict(f"{id_of(path)} was deleted meanwhile", "nothing was changed") from error
    if now != before:
        raise Conflict(f"{id_of(path)} was changed meanwhile", "nothing was changed: look at it again")
