"""Brings the index up to date before an answer, if only a few files have changed; otherwise says how many have.

Every command and tool that answers from the index asks here first. Reads the manifest, the notes of the last comparison
(`files/stamps.py`) and the files of the project; writes notes, and otherwise only through `index_project`. No answer
fails because its index could not be brought up to date: it comes from the last one, and its note says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sage_code.discover import discover_rules, list_files
from sage_code.errors import Busy, IndexCorrupt, SageError, explain
from sage_code.files.guard import bury, said_if_same
from sage_code.files.locks import locked
from sage_code.files.stamps import UNUSABLE, Notes, Stamps
from sage_code.files.watch import Watch
from sage_code.index.diff import (
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

# Up to this many changed files are indexed before the answer.
_FEW_CHANGES = 20
# Up to this many files with another size or time are read, to compare their content: that takes half a second.
_FEW_SUSPECTS = 1_000
# Looking at fewer files takes less than half a millisecond.
_WORTH_WATCHING = 200


class Freshness:
    """Keeps the index of one project up to date while it is asked."""

    def __init__(self, root: str, settings: Callable[[], Settings]) -> None:
        self._root, self._load = root, settings
        self._was_asked = False
        self._watch: Watch | None = None

    def ensure(self) -> str:
        """Index the files that have changed, if they are few; otherwise a note about them."""
        settings = self._load()
        if not settings.has_flags and (said := self._said_if_same()) is not None:
            return said
        try:
            return self._index_few_changes(settings)
        except IndexCorrupt as error:
            return f"{error.message}; {error.hint}"

    def _said_if_same(self) -> str | None:
        """What was said after the last comparison, if nothing has changed since.

        A process that asks again watches the folders: then a question takes the same time for any number of files.
        """
        if not self._was_asked:
            self._was_asked = True
            return said_if_same(self._root)
        bury()
        try:
            notes = Notes(self._root)
            if not notes.are_of_now():
                return None
            if self._watch is not None and self._watch.knows(notes):
                return notes.said
            if notes.can_be_watched and notes.count >= _WORTH_WATCHING and (watch := _watch(notes)) is not None:
                self._watch = watch
                return notes.said
            return notes.said if notes.are_same() else None
        except UNUSABLE:
            return None

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
            return self._settled(stamps, old, settings, said if suspects else "")
        if suspects > _FEW_CHANGES:
            changes = changes_by_content(ContentReader(self._root, rules), changes, old, time.time_ns())
            changed = len(changes.changed) + len(changes.removed)
            if changed > _FEW_CHANGES:
                said = f"{changed:,} files have changed since the index was made: run `sage index`"
                return self._settled(stamps, old, settings, said)
        return self._index(settings)

    def _settled(self, stamps: Stamps, old: Manifest, settings: Settings, said: str = "") -> str:
        """Note that this is what is to be said until a file changes, and say it."""
        keep_stamps(stamps, self._root, old.generation, settings, said)
        return said

    def mend(self) -> str:
        """Make damaged compiled files again from the store, unless another process indexes; a note if that fails."""
        return self._index(self._load(), recompile=True)

    def _index(self, settings: Settings, *, recompile: bool = False) -> str:
        """Indexes what has changed, unless another process indexes: no answer waits for it. Returns the note."""
        from sage_code.index.pipeline import index_project  # lazy: mostly nothing has changed

        try:
            with locked(index_lock(self._root), timeout_s=0):
                pass
            index_project(self._root, settings, recompile=recompile)
        except Busy:
            return "the project is being indexed right now: this is from the last index"
        except (SageError, OSError) as error:  # a folder that cannot be written to can still be searched
            why = explain(error).message if isinstance(error, OSError) else error.message
            return f"what has changed could not be brought in: {why}"
        return ""


def _watch(notes: Notes) -> Watch | None:
    """A watch for as long as these notes hold; None where folders cannot be watched."""
    try:
        return Watch(notes)
    except OSError:
        return None
