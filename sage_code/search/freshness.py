"""Before an answer: has anything changed since the index was made? A few files are brought in, many are only spoken of.

A search never fails because its index could not be brought up to date: it answers from the last one and says so.
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

# Seconds for which a project that was found fresh is taken to be so: a loop of questions pays for one look.
_FRESH_FOR_S = 2.0
# Up to this many changed files are brought in before answering.
_FEW_CHANGES = 20
# Up to this many files whose size or time has moved are read to see whether their content has: half a second.
_FEW_SUSPECTS = 1_000


class Freshness:
    """Keeps the index of one project fresh while it is being asked."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root, self._settings = root, settings
        self._looked_at = float("-inf")

    def ensure(self) -> str:
        """Bring in the few files that have changed; otherwise what to say about them, in a line."""
        if time.monotonic() - self._looked_at < _FRESH_FOR_S:
            return ""
        self._looked_at = time.monotonic()
        try:
            return self._look()
        except IndexCorrupt as error:
            return f"{error.message}; {error.hint}"
        finally:
            self._looked_at = time.monotonic()

    def _look(self) -> str:
        old = load_manifest(self._root)
        if old is None:
            return ""
        if model_changed(old, self._settings):
            return "the embedding model has changed since: run `sage index`"
        rules = discover_rules(self._settings)
        changes = changes_by_stamp(list_files(self._root, rules), old)
        moved = len(changes.changed) + len(changes.removed)
        if not moved or is_import_without_files(old, changes):
            return ""
        if moved > _FEW_SUSPECTS:
            moved -= sum(looks_untouched(changed.file, old) for changed in changes.changed)
            return f"{moved:,} files may have changed since the index was made: run `sage index`" if moved else ""
        if moved > _FEW_CHANGES:
            reader = ContentReader(self._root, rules)
            changes = changes_by_content(reader, list_files(self._root, rules), old, time.time_ns())
            changed = len(changes.changed) + len(changes.removed)
            if changed > _FEW_CHANGES:
                return f"{changed:,} files have changed since the index was made: run `sage index`"
        return self._bring_in()

    def mend(self) -> str:
        """Make damaged compiled files from the store, unless somebody is at it; what went wrong, in a line."""
        return self._bring_in(recompile=True)

    def _bring_in(self, *, recompile: bool = False) -> str:
        """Index what has changed, unless somebody is at it: an answer does not wait for a whole run."""
        from sage_code.index.pipeline import index_project  # lazy: mostly nothing has changed

        try:
            with locked(index_lock(self._root), timeout_s=0):
                pass
            index_project(self._root, self._settings, recompile=recompile)
        except Busy:
            return "the project is being indexed right now: this is from the last index"
        except (SageError, OSError) as error:  # a folder that cannot be written to is searched all the same
            why = explain(error).message if isinstance(error, OSError) else error.message
            return f"what has changed could not be brought in: {why}"
        return ""
