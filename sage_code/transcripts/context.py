"""The files of a session: what was read, edited, written and found, in the order in which it happened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileInteraction:
    """One look at a file, or one change of it. Failed calls are none."""

    file: str  # absolute
    action: str  # read | edit | write | grep | glob
    timestamp: str  # ISO 8601, as the transcript has it
    lines: tuple[int, int] | None = None  # the part that was read or changed; None: the whole, or not known


@dataclass(frozen=True, slots=True)
class SessionCodeContext:
    """What a session had to do with code."""

    interactions: tuple[FileInteraction, ...] = ()
    files_read: frozenset[str] = frozenset()
    files_edited: frozenset[str] = frozenset()
    files_written: frozenset[str] = frozenset()

    @property
    def files_changed(self) -> frozenset[str]:
        """Edited or written."""
        return self.files_edited | self.files_written

    @property
    def all_files(self) -> frozenset[str]:
        """Read or changed."""
        return self.files_read | self.files_changed


def session_context(project_root: str, transcript: str | None = None) -> SessionCodeContext | None:
    """What the session of `transcript` did, or the newest one in the project; None when there is none."""
    raise NotImplementedError
