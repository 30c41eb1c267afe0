"""Whether the answers of a page come from an index that is up to date, and bringing it up to date beside them.

A search as somebody types never indexes: after one changed file that takes seconds and loads Lance. The page looks
after an answer, which takes a tenth of a millisecond while folders are watched, and asks for an update where one is
needed; a child process does it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Literal

from sage_code.discover.listing import list_files
from sage_code.discover.rules import discover_rules
from sage_code.errors import Busy, IndexCorrupt, SageError
from sage_code.files.looking import Looking
from sage_code.index.diff import changes_by_stamp
from sage_code.index.freshness import Freshness
from sage_code.index.manifest import load_manifest
from sage_code.index.process import index_in_child
from sage_code.settings.loading import load_settings

# Up to this many changed files are brought in without asking, as before the answers of the other faces.
_FEW_CHANGES = 20
# Projects whose folders are watched.
_MOST_WATCHED = 16


@dataclass(frozen=True, slots=True)
class IndexAge:
    """Whether an index is up to date."""

    root: str
    state: Literal["fresh", "old", "unknown"]  # unknown: something has changed since it was last compared
    note: str = ""


class IndexAges:
    """Looks at the projects of a user."""

    def __init__(self) -> None:
        self._looking: dict[str, Looking] = {}
        self._lock = threading.Lock()
        self._updating = threading.Lock()  # one update at a time is enough for two cores

    def age(self, root: str) -> IndexAge:
        """Whether the index of a project is up to date, as far as a look can tell."""
        with self._lock:
            looking = self._looking.pop(root, None) or Looking(root)
            self._looking[root] = looking
            while len(self._looking) > _MOST_WATCHED:
                del self._looking[next(iter(self._looking))]
            notes = looking.notes()
        if notes is None or notes.said is None:
            return IndexAge(root, "unknown", "Some files may have changed since the index was made.")
        return IndexAge(root, "old" if notes.said else "fresh", notes.said)

    def update(self, root: str) -> IndexAge:
        """Compare the files with the index and bring a few changes in; many are only counted."""
        with self._updating:
            before = self.age(root)
            if before.state != "unknown":
                return before
            try:
                if 0 < _suspects(root) <= _FEW_CHANGES:
                    index_in_child(root)
                said = Freshness(root, lambda: load_settings(root), None).compare()
            except Busy:
                said = "The project is being indexed right now: answers come from the last index."
            except SageError as error:
                said = f"What has changed could not be brought in: {error.message}"
        return IndexAge(root, "old" if said else "fresh", said)


def _suspects(root: str) -> int:
    """How many files look different from what was indexed; none if there is no index to compare with."""
    try:
        old = load_manifest(root)
    except IndexCorrupt:
        return 0
    if old is None:
        return 0
    changes = changes_by_stamp(list_files(root, discover_rules(load_settings(root))), old)
    return len(changes.changed) + len(changes.removed)
