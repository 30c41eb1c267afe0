"""Reads the touches of files in a transcript of either agent, starting where the last reader stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sage_code.transcripts.claude import ClaudeRecords
from sage_code.transcripts.codex import CodexRecords
from sage_code.transcripts.lines import Cursor, LineReader, ReadStats, is_whole
from sage_code.transcripts.touches import Call, Hunk, Touch

_CODEX_NAME = "rollout-"


@dataclass(frozen=True, slots=True)
class Resume:
    """The state of a reader: its cursor, and the calls without a result."""

    cursor: Cursor = field(default_factory=Cursor)
    pending: Mapping[str, Call] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        cursor = {"offset": self.cursor.offset, "skipping": self.cursor.skipping, "mark": self.cursor.mark}
        return {"cursor": cursor, "pending": {call_id: list(call) for call_id, call in self.pending.items()}}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Resume:
        """The inverse of `to_dict`; an invalid record starts at the beginning."""
        try:
            cursor = Cursor(**record["cursor"])
            pending = {call_id: _call(*call) for call_id, call in record["pending"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()
        is_sound = type(cursor.offset) is int and cursor.offset >= 0 and isinstance(cursor.mark, str)
        return cls(cursor, pending) if is_sound else cls()


class TranscriptReader:
    """Iterates over the touches in one file; `resume` is valid after each of them."""

    def __init__(self, path: str, resume: Resume | None = None) -> None:
        resume = resume or Resume()
        self.path = path
        self._lines = LineReader(path, resume.cursor)
        self._records = records_of(path)(resume.pending)

    @property
    def stats(self) -> ReadStats:
        """Counts of what was read."""
        return self._lines.stats

    def __iter__(self) -> Iterator[Touch]:
        stats, restarted = self.stats, False
        for line in self._lines:
            if stats.restarted and not restarted:
                self._records.pending.clear()
                restarted = True
            try:
                touches = self._records.touches(line) if is_whole(line) else None
            except ValueError:  # damaged, nested too deeply, or not UTF-8
                touches = None
            if touches is None:
                stats.corrupt += 1
                continue
            yield from touches

    def resume(self) -> Resume:
        """The state for the next reader."""
        return Resume(self._lines.cursor(), dict(self._records.pending))


def records_of(path: str) -> type[ClaudeRecords | CodexRecords]:
    """The reader for the records of a file."""
    return CodexRecords if is_codex(path) else ClaudeRecords


def is_codex(path: str) -> bool:
    """Whether Codex wrote a file; its files are called `rollout-…`."""
    return os.path.basename(path).startswith(_CODEX_NAME)


def _call(tool: str, file: str, lines: list[int] | None, folder: str, uses: list[Any]) -> Call:
    return Call(tool, file, _pair(lines), folder, tuple(_touch(*use) for use in uses))


def _touch(file: str, action: str, timestamp: str, lines: list[int] | None, hunks: list[Any]) -> Touch:
    return Touch(file, action, timestamp, _pair(lines), tuple(Hunk(*one) for one in hunks))


def _pair(lines: list[int] | None) -> tuple[int, int] | None:
    return (lines[0], lines[1]) if lines else None
