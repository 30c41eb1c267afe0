"""The files of a session: what was read, edited, written and found, in the order in which it happened.

Lines are those of the file as the session left it: an edit moves what was read below it before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import Lock

from sage_code.transcripts.find import find_active_transcript, parts_of
from sage_code.transcripts.reader import Resume, TranscriptReader
from sage_code.transcripts.touches import Hunk, Touch

# The last so many interactions are kept: memory is bounded, and old ones matter least.
MAX_INTERACTIONS = 20_000
# Files that this process has read, how far, and what was in them; the least recently asked for goes first.
_MAX_READ = 16
_read: dict[str, tuple[Resume | None, deque[Touch]]] = {}
_corrupt: dict[str, int] = {}  # damaged lines of these files
_guard = Lock()
# Ranges of one file that later edits still move.
_MAX_MOVED = 500


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
    corrupt: int = 0  # damaged lines of the transcript, which were left out

    @property
    def files_changed(self) -> frozenset[str]:
        """Edited or written."""
        return self.files_edited | self.files_written

    @property
    def all_files(self) -> frozenset[str]:
        """Read or changed."""
        return self.files_read | self.files_changed


def session_context(project_root: str, transcript: str | None = None) -> SessionCodeContext | None:
    """What the session of `transcript` did, or the newest one in the project; None when there is none.

    Its subagents count as the session. Files outside the project are in it too: `capture` leaves them out.
    """
    path = transcript or find_active_transcript(project_root)
    if not path:
        return None
    context = build_session_code_context(extract_file_interactions(path))
    with _guard:
        corrupt = sum(_corrupt.get(part, 0) for part in parts_of(path))
    return replace(context, corrupt=corrupt)


def extract_file_interactions(transcript: str) -> list[FileInteraction]:
    """The interactions of a session and its subagents, by time."""
    touches: list[Touch] = []
    with _guard:
        for part in parts_of(transcript):
            touches = sorted([*touches, *_touches(part)], key=lambda touch: touch.timestamp)[-MAX_INTERACTIONS:]
    return interactions_of(touches)


def _touches(part: str) -> deque[Touch]:
    """What a file holds; a process that asks again, as a server does at every save, reads only what is new."""
    resume, touches = _read.pop(part, (None, deque(maxlen=MAX_INTERACTIONS)))
    reader = TranscriptReader(part, resume)
    new = deque(reader, maxlen=MAX_INTERACTIONS)
    if reader.reading.restarted:
        touches.clear()
        _corrupt.pop(part, None)
    touches.extend(new)
    _corrupt[part] = _corrupt.get(part, 0) + reader.reading.corrupt
    _read[part] = (reader.resume(), touches)
    while len(_read) > _MAX_READ:
        oldest = next(iter(_read))
        del _read[oldest]
        _corrupt.pop(oldest, None)
    return touches


def interactions_of(touches: Iterable[Touch]) -> list[FileInteraction]:
    """One interaction for each range of each touch; edits move the ranges of what came before them."""
    found: list[FileInteraction] = []
    ranges: dict[str, deque[int]] = {}
    for touch in touches:
        here = ranges.setdefault(touch.file, deque(maxlen=_MAX_MOVED))
        for number in here if touch.hunks else ():
            lines = found[number].lines
            found[number] = replace(found[number], lines=lines and _moved(lines, touch.hunks))
        for lines in _ranges(touch):
            if lines is not None:
                here.append(len(found))
            found.append(FileInteraction(touch.file, touch.action, touch.timestamp, lines))
    return found


def build_session_code_context(interactions: Iterable[FileInteraction]) -> SessionCodeContext:
    """The files of a session by what was done to them. Names that a search only listed were not read."""
    kept = tuple(interactions)

    def files(action: str) -> frozenset[str]:
        return frozenset(one.file for one in kept if one.action == action)

    return SessionCodeContext(kept, files("read"), files("edit"), files("write"))


def _ranges(touch: Touch) -> Iterator[tuple[int, int] | None]:
    if not touch.hunks:
        yield touch.lines
    for one in touch.hunks:
        first = max(one.new_start, 1)
        yield first, first + max(one.new_lines, 1) - 1


def _moved(lines: tuple[int, int], hunks: Iterable[Hunk]) -> tuple[int, int]:
    first, last = lines
    start, end = first, last
    for one in hunks:
        after, grown = one.old_start + one.old_lines, one.new_lines - one.old_lines
        if after <= first:
            start += grown
        elif one.old_start < first:  # the change begins before the range and reaches into it
            start += one.old_start - first
        if one.old_start <= last:
            end += grown
    return max(start, 1), max(start, end, 1)
