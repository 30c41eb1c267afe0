"""The code context of a session: the files that were read, edited, written and found, in order of time.

Line numbers are those at the end of the session: an edit shifts the ranges below it that were read before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import Lock

from sage_code.transcripts.find import find_active_transcript, parts_of
from sage_code.transcripts.reader import Resume, TranscriptReader
from sage_code.transcripts.touches import Hunk, Touch

# Only the last interactions are kept, which bounds the memory.
MAX_INTERACTIONS = 20_000
# The transcripts that this process has read, with their touches and the number of damaged lines. The least recently
# used one is dropped first.
_MAX_READ = 16
_read: dict[str, tuple[Resume | None, deque[Touch], int]] = {}
_guard = Lock()
# The number of ranges of one file that edits shift.
_MAX_SHIFTED = 500


@dataclass(frozen=True, slots=True)
class FileInteraction:
    """One successful read, search or change of a file."""

    file: str  # absolute
    action: str  # read | edit | write | grep | glob
    timestamp: str  # ISO 8601, as the transcript has it
    lines: tuple[int, int] | None = None  # the part that was read or changed; None: the whole file, or not known


@dataclass(frozen=True, slots=True)
class SessionCodeContext:
    """The interactions of a session with files."""

    interactions: tuple[FileInteraction, ...] = ()
    files_read: frozenset[str] = frozenset()
    files_changed: frozenset[str] = frozenset()  # edited or written
    corrupt: int = 0  # damaged lines of the transcript, which were left out


def session_context(project_root: str, transcript: str | None = None) -> SessionCodeContext | None:
    """The context of the session of `transcript`, or of the project's current one; None if there is none.

    Subagents are part of their session. Files outside the project are included; `capture` leaves them out.
    """
    path = transcript or find_active_transcript(project_root)
    if not path:
        return None
    context = build_session_code_context(extract_file_interactions(path))
    with _guard:
        corrupt = sum(_read[part][2] for part in parts_of(path) if part in _read)
    return replace(context, corrupt=corrupt)


def extract_file_interactions(transcript: str) -> list[FileInteraction]:
    """The interactions of a session and its subagents, in order of time."""
    touches: list[Touch] = []
    with _guard:
        for part in parts_of(transcript):
            touches = sorted([*touches, *_touches(part)], key=lambda touch: touch.timestamp)[-MAX_INTERACTIONS:]
    return interactions_of(touches)


def _touches(part: str) -> deque[Touch]:
    """The touches in a file. Only what is new since the last call is read, since a server asks at every save."""
    resume, touches, corrupt = _read.pop(part, (None, deque(maxlen=MAX_INTERACTIONS), 0))
    reader = TranscriptReader(part, resume)
    new = deque(reader, maxlen=MAX_INTERACTIONS)
    if reader.stats.restarted:
        touches.clear()
        corrupt = 0
    touches.extend(new)
    _read[part] = (reader.resume(), touches, corrupt + reader.stats.corrupt)
    while len(_read) > _MAX_READ:
        del _read[next(iter(_read))]
    return touches


def interactions_of(touches: Iterable[Touch]) -> list[FileInteraction]:
    """One interaction for each range of each touch; edits shift the ranges of earlier touches."""
    found: list[FileInteraction] = []
    ranges: dict[str, deque[int]] = {}
    for touch in touches:
        here = ranges.setdefault(touch.file, deque(maxlen=_MAX_SHIFTED))
        for number in here if touch.hunks else ():
            lines = found[number].lines
            found[number] = replace(found[number], lines=lines and _shifted(lines, touch.hunks))
        for lines in _ranges(touch):
            if lines is not None:
                here.append(len(found))
            found.append(FileInteraction(touch.file, touch.action, touch.timestamp, lines))
    return found


def build_session_code_context(interactions: Iterable[FileInteraction]) -> SessionCodeContext:
    """The context of interactions. Files that a search only listed do not count as read."""
    kept = tuple(interactions)

    def files(*actions: str) -> frozenset[str]:
        return frozenset(one.file for one in kept if one.action in actions)

    return SessionCodeContext(kept, files("read"), files("edit", "write"))


def _ranges(touch: Touch) -> Iterator[tuple[int, int] | None]:
    if not touch.hunks:
        yield touch.lines
    for one in touch.hunks:
        first = max(one.new_start, 1)
        yield first, first + max(one.new_lines, 1) - 1


def _shifted(lines: tuple[int, int], hunks: Iterable[Hunk]) -> tuple[int, int]:
    """A range after an edit."""
    first, last = lines
    start, end = first, last
    for one in hunks:
        after, grown = one.old_start + one.old_lines, one.new_lines - one.old_lines
        if after <= first:
            start += grown
        elif one.old_start < first:  # the change overlaps the beginning of the range
            start += one.old_start - first
        if one.old_start <= last:
            end += grown
    return max(start, 1), max(start, end, 1)
