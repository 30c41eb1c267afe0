"""Finds compactions in the new lines of one transcript. Nothing is kept of the other lines, nor are they decoded."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace

from sage_code.continuity.following import compaction_id
from sage_code.transcripts.conversation import COMPACTION, SUMMARY, Said, said
from sage_code.transcripts.lines import Cursor, LineReader, cursor_at, open_regular

_NEEDLES = (b"compact_boundary", b"isCompactSummary", b'"compacted"')
# Claude Code writes the summary right after the boundary. The marker does not wait for it any longer than this.
_SUMMARY_WAIT_S = 0.5
_BACK_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction in a transcript."""

    id: str
    summary: str = ""


class Tail:
    """Reads the end of a transcript that grows, from a cursor on.

    Compactions from before `not_before` (seconds since 1970) are no news: a session that continues another one begins
    with a copy of its lines.
    """

    def __init__(self, path: str, cursor: Cursor, not_before: float = 0.0) -> None:
        self.path, self.start, self.cursor = path, cursor, cursor
        self.has_old_ones = False
        self._not_before = not_before
        self._newest: Compaction | None = None
        self._found_at = 0.0
        self._is_summary_due = False

    def read(self) -> None:
        """Read what is new; UsageError if the file is gone."""
        reader = LineReader(self.path, self.cursor)
        for line in reader:
            if any(needle in line for needle in _NEEDLES):
                try:
                    events = said(line)
                except ValueError:  # damaged
                    continue
                for event in events:
                    if 0 < event.time < self._not_before:
                        self.has_old_ones = True
                    else:
                        self._take(event)
        self.cursor = reader.cursor()

    def newest(self) -> Compaction | None:
        """The newest compaction, once, when its summary is here or has been waited for."""
        found = self._newest
        if found is None or (self._is_summary_due and time.monotonic() - self._found_at < _SUMMARY_WAIT_S):
            return None
        self._newest = None
        return found

    @property
    def waits(self) -> bool:
        """Whether a compaction was found that `newest` has not given yet."""
        return self._newest is not None

    def _take(self, event: Said) -> None:
        if event.kind == COMPACTION:
            self._newest, self._is_summary_due = Compaction(compaction_id(event)), True
            self._found_at = time.monotonic()
        elif event.kind == SUMMARY and self._is_summary_due:
            self._is_summary_due = False
            if self._newest is not None:
                self._newest = replace(self._newest, summary=event.text)
        elif event.kind == SUMMARY and (id_ := compaction_id(event)):
            self._newest = Compaction(id_, event.text)


def cursor_before(path: str, size: int) -> Cursor:
    """A cursor at the last line that begins in the first `size` bytes of a file, since it may be half written."""
    with open_regular(path) as file:
        offset = max(0, min(size, os.fstat(file.fileno()).st_size) - _BACK_BYTES)
        file.seek(offset)
        end = file.read(min(size, _BACK_BYTES)).rfind(b"\n")
    return cursor_at(path, offset + end + 1 if end >= 0 else size)
