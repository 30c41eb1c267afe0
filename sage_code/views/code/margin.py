"""The margin of a file: the memories about its lines, where the code is now, and whether they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sage_code.memory.code.check import RefState
from sage_code.memory.code.referring_memories import ReferringMemory
from sage_code.memory.code.staleness import why
from sage_code.text.masking import mask
from sage_code.views.code.source import masked_text

NoteState: TypeAlias = Literal["holds", "moved", "changed", "gone"]
_STATES: dict[str, NoteState] = {"unchanged": "holds", "moved": "moved", "changed": "changed", "gone": "gone"}


@dataclass(frozen=True, slots=True)
class MarginNote:
    """A memory beside the lines that it is about."""

    id: str
    kind: str  # checkpoint | knowledge
    title: str
    when: str  # as its file says
    state: NoteState
    first: int  # the lines as they are now; 0: the whole file, or nothing of this file any more
    last: int
    symbol: str
    was: str  # what the memory says that it is about: `FILE:LINE-LINE`
    elsewhere: str  # the file that the code is in now, if it is another one
    elsewhere_line: int
    diff: str  # what has changed, with secrets masked


def margin(root: str, path: str) -> tuple[MarginNote, ...]:
    """The memories about a file, those that are not beside lines first, then by line."""
    found = [_note(one.memory, state, path) for one in why(root, path) for state in one.states]
    return tuple(sorted(found, key=lambda note: (note.first, note.last, note.id)))


def _note(memory: ReferringMemory, state: RefState, path: str) -> MarginNote:
    """One reference of a memory, as it is shown in the margin of the file at `path`."""
    now = state.now
    is_here = now is not None and now.file == path
    first, last = now.lines or (0, 0) if now is not None and is_here else (0, 0)
    return MarginNote(
        memory.id,
        memory.kind,
        mask(memory.title)[0],
        memory.ts,
        _STATES[state.state],
        first,
        last,
        state.ref.symbol,
        place(state.ref.file, state.ref.lines),
        now.file if now is not None and not is_here else "",
        now.lines[0] if now is not None and now.lines else 1,
        masked_text(state.diff)[0],
    )


def place(file: str, lines: tuple[int, int] | None) -> str:
    """`FILE`, `FILE:LINE` or `FILE:LINE-LINE`."""
    if lines is None:
        return file
    return f"{file}:{lines[0]}" if lines[0] == lines[1] else f"{file}:{lines[0]}-{lines[1]}"
