"""Brings the index up to date before an answer, if only a few files have changed; otherwise says how many have.

Every command and tool that answers from the index asks here first. Reads the manifest, the notes of the last comparison
(`files/stamps.py`) and the files of the project; writes notes, and otherwise only through `index_project`. No answer
fails because its index could not be brought up to date: it comes from the last one, and its note says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sage_code.discover.listing import list_files
from sage_code.discover.rules import discover_rules
from sage_code.errors import Busy, IndexCorrupt, SageError, explain
from sage_code.files.locks import locked
from sage_code.files.looking import Looking
from sage_code.files.stamps import Stamps
from sage_code.index.diff import (
    Changes,
    ContentReader,
    changes_by_content,
    changes_by_stamp,
    is_import_without_files,
    keep_stamps,
    looks_untouched,
    model_changed,
    new_stamps,
)
from sage_code.index.manifest import Manifest, load_manifest
from sage_code.paths import index_lock
from sage_code.settings.loading import Settings
from sage_code.store.remote.away import remember_away, why_away
from sage_code.store.remote.objects import StoreUnreachableError

# Up to this many changed files are indexed before the answer.
_FEW_CHANGES = 20
# Up to this many files with another size or time are read, to compare their content: that takes half a second.
_FEW_SUSPECTS = 1_000


class Freshness:
    """Keeps the index of one project up to date while it is asked."""

    def __init__(self, root: str, settings: Callable[[], Settings], looking: Looking | None) -> None:
        """`settings` reads them anew: they may have changed too. Without `looking` every question compares, because
        some of the settings are of this process alone."""
        self._root, self._load, self._looking = root, settings, looking

    def ensure(self) -> str:
        """Index the files that have changed, if they are few; otherwise a note about them."""
        notes = self._looking.notes() if self._looking else None
        return notes.said if notes is not None and notes.said is not None else self.compare()

    def compare(self) -> str:
        """The same for files of which it is known that they must be compared."""
        try:
            return self._index_few_changes(self._load())
        except IndexCorrupt as error:
            return f"{error.message}; {error.hint}"

    def _index_few_changes(self, settings: Settings) -> str:
        """Compares the files with the manifest and indexes a few changes; returns the note."""
        stamps = new_stamps(self._root)
        old = load_manifest(self._root)
        if old is None:
            return ""
        if model_changed(old, settings):
            return "the embedding model has changed since: run `sage index`"
        rules = discover_rules(settings)
        changes = changes_by_stamp(list_files(self._root, rules, stamps=stamps), old)
        suspects = len(changes.changed) + len(changes.removed)
        if not suspects or is_import_without_files(old, changes):
            return self._settled(stamps, old, settings)
        if suspects > _FEW_SUSPECTS:
            suspects -= sum(looks_untouched(changed.file, old) for changed in changes.changed)
            said = f"{suspects:,} files may have changed since the index was made: run `sage index`"
            return self._settled(stamps, old, settings, said if suspects else "", changes)
        if suspects > _FEW_CHANGES:
            by_content = changes_by_content(ContentReader(self._root, rules), changes, old, time.time_ns())
            changed = len(by_content.changed) + len(by_content.removed)
            if changed > _FEW_CHANGES:
                said = f"{changed:,} files have changed since the index was made: run `sage index`"
                return self._settled(stamps, old, settings, said, changes)
        return self._index(settings)

    def _settled(
        self, stamps: Stamps, old: Manifest, settings: Settings, said: str = "", changes: Changes | None = None
    ) -> str:
        """Note that this is what is to be said until a file changes, and say it."""
        keep_stamps(stamps, self._root, old, settings, said=said, changes=changes)
        return said

    def mend(self) -> str:
        """Make damaged compiled files again from the store, unless another process indexes; a note if that fails."""
        return self._index(self._load(), recompile=True)

    def _index(self, settings: Settings, *, recompile: bool = False) -> str:
        """Indexes what has changed, unless another process indexes: no answer waits for it. Returns the note."""
        from sage_code.index.pipeline import index_project  # lazy: mostly nothing has changed

        remote = settings.store_uri if "://" in settings.store_uri else ""
        if remote and (why := why_away(remote)):
            return f"what has changed could not be brought in: {why}"
        try:
            with locked(index_lock(self._root), timeout_s=0):
                pass
            index_project(self._root, settings, recompile=recompile)
        except Busy:
            return "the project is being indexed right now: this is from the last index"
        except (SageError, OSError) as error:  # a folder that cannot be written to can still be searched
            why = explain(error).message if isinstance(error, OSError) else error.message
            if remote and isinstance(error, StoreUnreachableError):
                remember_away(remote, why)
            return f"what has changed could not be brought in: {why}"
        return ""
