"""Brings the index up to date before a search, if only a few files have changed; otherwise says how many have.

Reads the manifest and the files of the project; writes only through `index_project`. A search never fails because its
index could not be brought up to date: it answers from the last one, and its note says why.
"""

from __future__ import annotations

import time

from sage_code.discover import discover_rules, list_files
from sage_code.errors import Busy, IndexCorrupt, SageError, explain
from sage_code.files.locks import locked
from sage_code.index.diff import (
    ContentReader,
    changes_by_content,
    changes_by_stamp,
    is_import_without_files,
    looks_untouched,
    model_changed,
)
from sage_code.index.manifest import load_manifest
from sage_code.paths import index_lock
from sage_code.settings.loading import Settings

# Seconds until the files are compared again: a loop of queries pays for one comparison.
_FRESH_FOR_S = 2.0
# Up to this many changed files are indexed before the search.
_FEW_CHANGES = 20
# Up to this many files with another size or time are read, to compare their content: that takes half a second.
_FEW_SUSPECTS = 1_000


class Freshness:
    """Keeps the index of one project up to date while it is searched."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root, self._settings = root, settings
        self._compared_at = float("-inf")

    def ensure(self) -> str:
        """Index the files that have changed, if they are few; otherwise a note about them."""
        if time.monotonic() - self._compared_at < _FRESH_FOR_S:
            return ""
        self._compared_at = time.monotonic()
        try:
            return self._index_few_changes()
        except IndexCorrupt as error:
            return f"{error.message}; {error.hint}"
        finally:
            self._compared_at = time.monotonic()

    def _index_few_changes(self) -> str:
        """Compares the files with the manifest and indexes a few changes; returns the note."""
        old = load_manifest(self._root)
        if old is None:
            return ""
        if model_changed(old, self._settings):
            return "the embedding model has changed since: run `sage index`"
        rules = discover_rules(self._settings)
        changes = changes_by_stamp(list_files(self._root, rules), old)
        suspects = len(changes.changed) + len(changes.removed)
        if not suspects or is_import_without_files(old, changes):
            return ""
        if suspects > _FEW_SUSPECTS:
            suspects -= sum(looks_untouched(changed.file, old) for changed in changes.changed)
            return f"{suspects:,} files may have changed since the index was made: run `sage index`" if suspects else ""
        if suspects > _FEW_CHANGES:
            changes = changes_by_content(ContentReader(self._root, rules), changes, old, time.time_ns())
            changed = len(changes.changed) + len(changes.removed)
            if changed > _FEW_CHANGES:
                return f"{changed:,} files have changed since the index was made: run `sage index`"
        return self._index()

    def mend(self) -> str:
        """Make damaged compiled files again from the store, unless another process indexes; a note if that fails."""
        return self._index(recompile=True)

    def _index(self, *, recompile: bool = False) -> str:
        """Indexes what has changed, unless another process indexes: a search does not wait for it. Returns the note."""
        from sage_code.index.pipeline import index_project  # lazy: mostly nothing has changed

        try:
            with locked(index_lock(self._root), timeout_s=0):
                pass
            index_project(self._root, self._settings, recompile=recompile)
        except Busy:
            return "the project is being indexed right now: this is from the last index"
        except (SageError, OSError) as error:  # a folder that cannot be written to can still be searched
            why = explain(error).message if isinstance(error, OSError) else error.message
            return f"what has changed could not be brought in: {why}"
        return ""
