"""What the stores of checkpoints and of knowledge have in common: their homes, their indexes and their archive."""

from __future__ import annotations

from sage_code.memory.files.archive import find_archived, restore
from sage_code.memory.files.homes import MemoryHome, homes
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

    def restore(self, id_: str) -> tuple[str, Scope]:
        """Move a memory back from the archive, for good; returns its id and scope."""
        home, path = find_archived(homes(self.root), self._kind.name, id_)
        return restore(home, path), home.scope
