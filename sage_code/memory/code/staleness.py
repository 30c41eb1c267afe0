"""Compares memories with the code that they are about.

refs_check   all memories, with the state of each reference
stale        the memories whose code has changed or is gone
why          the memories about a location or a symbol
"""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.lookup.location import parse_location
from sage_code.memory.code.attached import note_locations
from sage_code.memory.code.check import Checker, RefState
from sage_code.memory.code.referring_memories import ReferringMemory, memories
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import homes
from sage_code.values import Location


@dataclass(frozen=True, slots=True)
class CheckedMemory:
    """A memory, and the states of its references."""

    memory: ReferringMemory
    states: tuple[RefState, ...]

    @property
    def is_stale(self) -> bool:
        """Whether some of its code has changed or is gone."""
        return any(found.is_stale for found in self.states)


def refs_check(root: str) -> list[CheckedMemory]:
    """The state of every reference of every memory. Writes new locations into the map that searches use."""
    checker = Checker(root)
    found = [CheckedMemory(one, checker.judge(one.kind, one.id, one.title, one.refs)) for one in memories(root)]
    home = homes(root)[0]
    if found and home.scope == "project":
        note_locations(home, ((one.memory, one.states) for one in found if one.memory.scope == "project"))
    return found


def stale(root: str) -> list[CheckedMemory]:
    """The memories whose code has changed or is gone, those with the largest stale share first."""
    found = [one for one in refs_check(root) if one.is_stale]
    return sorted(found, key=lambda one: -sum(state.is_stale for state in one.states) / len(one.states))


def why(root: str, what: str) -> list[CheckedMemory]:
    """The memories about FILE:LINE, a file or a symbol, each with its references to it.

    A reference counts both at its original location and at the current location of its code.
    """
    location = parse_location(root, what)
    checker = Checker(root)
    found = []
    for memory in memories(root):
        # A reference to another file may have moved into this one, if it has a hash to be found by.
        near = [ref for ref in memory.refs if location is None or ref.file == location.file or ref.content_hash]
        states = [checker.check(ref) for ref in near]
        about = tuple(state for state in states if _is_state_about(state, location or what))
        if about:
            found.append(CheckedMemory(memory, about))
    return found


def _is_state_about(state: RefState, what: Location | str) -> bool:
    """Whether a reference, as it was written or as it is now, is about a location or a symbol."""
    return _is_about(state.ref, what) or (state.now is not None and _is_about(state.now, what))


def _is_about(ref: CodeRef, what: Location | str) -> bool:
    """Whether a reference is about a location, or about a symbol of that name."""
    if isinstance(what, str):
        return bool(ref.symbol) and (ref.symbol == what or f".{ref.symbol}".endswith(f".{what}"))
    if ref.file != what.file or ref.lines is None or what.start_line is None or what.end_line is None:
        return ref.file == what.file
    return ref.lines[0] <= what.end_line and what.start_line <= ref.lines[1]
