"""Looks whether the files of a project are as they were when they were last compared with its index.

Reads the notes of that comparison (`files/stamps.py`) and the change times of the files, and writes nothing. This is on
the path of `sage grep`, so only small modules are imported.
"""

from __future__ import annotations

from sage_code.files.stamps import UNUSABLE, Notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.files.watch import Watch

# Looking at fewer takes less than half a millisecond.
_WORTH_WATCHING = 200


class Looking:
    """Looks whether the files of a project are as they were noted.

    A process that asks again watches the folders, where that is possible: then a question takes the same time for any
    number of files.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._was_asked = False
        self._watch: Watch | None = None

    def notes(self) -> Notes | None:
        """The notes of the last comparison, if they hold; None if the files must be compared."""
        try:
            notes = Notes(self._root)
            return notes if notes.are_of_now() and self._are_same(notes) else None
        except UNUSABLE:
            return None  # one is gone, or there are no notes, or damaged ones

    def _are_same(self, notes: Notes) -> bool:
        """Whether every file is as it was: by the watch, or by looking at all of them."""
        if self._watch is not None and self._watch.knows(notes):
            return True
        if self._was_asked and notes.can_be_watched and notes.count >= _WORTH_WATCHING:
            from sage_code.files.watch import Watch  # lazy: not for a process that asks once

            try:
                self._watch = Watch(notes)
                return True
            except OSError:
                self._watch = None  # folders cannot be watched here, or something has changed
        self._was_asked = True
        return notes.are_same()
