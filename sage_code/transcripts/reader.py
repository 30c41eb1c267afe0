"""Reads the touches of files in a transcript of either agent, starting where the last reader stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sage_code.transcripts.claude import ClaudeRecords
from sage_code.transcripts.codex import CodexRecords
from sage_code.transcripts.lines import Cursor, LineReader
from sage_code.transcripts.touches import Call, Touch

_CODEX_NAME = "rollout-"


@dataclass(frozen=True, slots=True)
class Resume:
    """The state of a reader: its cursor, and the calls without a result."""

    cursor: Cursor = field(default_factory=Cursor)
    pending: Mapping[str, Call] = field(default_factory=dict)


class TranscriptReader:
    """Iterates over the touches in one file; `resume` is valid after each of them."""

    def __init__(self, path: str, resume: Resume | None = None) -> None:
        resume = resume or Resume()
        self._lines = LineReader(path, resume.cursor)
        self.stats = self._lines.stats
        self._records = (CodexRecords if is_codex(path) else ClaudeRecords)(resume.pending)

    def __iter__(self) -> Iterator[Touch]:
        for number, line in enumerate(self._lines):
            if self.stats.restarted and number == 0:
                self._records.pending.clear()
            try:
                yield from self._records.touches(line)
            except ValueError:  # damaged, nested too deeply, or not UTF-8
                self.stats.corrupt += 1

    def resume(self) -> Resume:
        """The state for the next reader."""
        return Resume(self._lines.cursor(), dict(self._records.pending))


def is_codex(path: str) -> bool:
    """Whether Codex wrote a file; its files are called `rollout-…`."""
    return os.path.basename(path).startswith(_CODEX_NAME)
