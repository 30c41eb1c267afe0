"""A transcript from where the last reading stopped: its touches of files, whichever agent wrote it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sage_code.transcripts.claude import ClaudeRecords
from sage_code.transcripts.codex import CodexRecords
from sage_code.transcripts.lines import Cursor, LineReader, Reading, is_whole
from sage_code.transcripts.touches import Call, Hunk, Touch

_CODEX_NAME = "rollout-"


@dataclass(frozen=True, slots=True)
class Resume:
    """Where to go on: the cursor, and the calls whose results were still to come."""

    cursor: Cursor = field(default_factory=Cursor)
    pending: Mapping[str, Call] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cursor = {"offset": self.cursor.offset, "skipping": self.cursor.skipping, "mark": self.cursor.mark}
        return {"cursor": cursor, "pending": {number: list(call) for number, call in self.pending.items()}}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Resume:
        """What `to_dict` gave; anything else is a beginning."""
        try:
            cursor = Cursor(**record["cursor"])
            pending = {number: _call(*call) for number, call in record["pending"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()
        is_sound = type(cursor.offset) is int and cursor.offset >= 0 and isinstance(cursor.mark, str)
        return cls(cursor, pending) if is_sound else cls()


class TranscriptReader:
    """Reads the touches of one file; `resume` is good after any of them and at the end."""

    def __init__(self, path: str, resume: Resume | None = None) -> None:
        resume = resume or Resume()
        self.path = path
        self._lines = LineReader(path, resume.cursor)
        self._records = records_of(path)(resume.pending)

    @property
    def reading(self) -> Reading:
        """What was met on the way."""
        return self._lines.reading

    def __iter__(self) -> Iterator[Touch]:
        reading, restarted = self._lines.reading, False
        for line in self._lines:
            if reading.restarted and not restarted:
                self._records.pending.clear()
                restarted = True
            try:
                touches = self._records.touches(line) if is_whole(line) else None
            except ValueError:  # a damaged line, JSON nested too deep, bytes that are no text
                touches = None
            if touches is None:
                reading.corrupt += 1
                continue
            yield from touches

    def resume(self) -> Resume:
        """Where the next reading starts."""
        return Resume(self._lines.cursor(), dict(self._records.pending))


def records_of(path: str) -> type[ClaudeRecords | CodexRecords]:
    """Who reads the records of a file."""
    return CodexRecords if is_codex(path) else ClaudeRecords


def is_codex(path: str) -> bool:
    """Whether Codex wrote a file: it calls them `rollout-…`, Claude Code by the session."""
    return os.path.basename(path).startswith(_CODEX_NAME)


def _call(tool: str, file: str, lines: list[int] | None, folder: str, uses: list[Any]) -> Call:
    return Call(tool, file, _pair(lines), folder, tuple(_touch(*use) for use in uses))


def _touch(file: str, action: str, timestamp: str, lines: list[int] | None, hunks: list[Any]) -> Touch:
    return Touch(file, action, timestamp, _pair(lines), tuple(Hunk(*one) for one in hunks))


def _pair(lines: list[int] | None) -> tuple[int, int] | None:
    return (lines[0], lines[1]) if lines else None
