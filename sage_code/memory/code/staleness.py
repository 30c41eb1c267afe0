"""Does what was concluded still stand? Memories held against the code that they are about.

refs_check   every memory with the state of each of its references
stale        those that need another look
why          everything that was ever concluded about a location or a symbol
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sage_code.lookup.location import parse_location
from sage_code.memory.code.attached import follow
from sage_code.memory.code.check import Checker, RefState
from sage_code.memory.code.referring_memories import ReferringMemory, memories
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import homes
from sage_code.values import Location


@dataclass(frozen=True, slots=True)
class CheckedMemory:
    """A memory, and what has become of the code that it is about."""

    memory: ReferringMemory
    states: tuple[RefState, ...]

    @property
    def is_stale(self) -> bool:
        """Whether some of its code has changed or is gone."""
        return any(found.is_stale for found in self.states)


def refs_check(root: str) -> list[CheckedMemory]:
    """The state of every reference of every memory; where code has moved, searches find the memory there from now."""
    checker = Checker(root)
    found = [CheckedMemory(memory, tuple(map(checker.check, memory.refs))) for memory in memories(root)]
    home = homes(root)[0]
    if found and home.scope == "project":
        follow(home, ((one.memory, one.states) for one in found if one.memory.scope == "project"))
    return found


def stale(root: str) -> list[CheckedMemory]:
    """The memories that need another look, those with most of their code changed first."""
    found = [one for one in refs_check(root) if one.is_stale]
    return sorted(found, key=lambda one: -sum(state.is_stale for state in one.states) / len(one.states))


def why(root: str, what: str) -> list[CheckedMemory]:
    """The memories about FILE:LINE, a file or a symbol, each with the references that are about it.

    A reference counts where it was written to and where its code is now.
    """
    location = parse_location(root, what)
    checker = Checker(root)
    found = []
    for memory in memories(root):
        near = [ref for ref in memory.refs if location is None or _may_be_about(ref, location.file)]
        states = [checker.check(ref) for ref in near]
        about = tuple(state for state in states if any(_is_about(ref, location or what) for ref in _both(state)))
        if about:
            found.append(CheckedMemory(memory, about))
    return found


def _may_be_about(ref: CodeRef, file: str) -> bool:
    # Code that has moved into this file may have come from anywhere, but it is a definition with a name or a hash.
    return ref.file == file or bool(ref.content_hash)


def _both(state: RefState) -> Iterator[CodeRef]:
    yield state.ref
    if state.now is not None and state.now is not state.ref:
        yield state.now


def _is_about(ref: CodeRef, what: Location | str) -> bool:
    """Whether a reference is about a location, or about a symbol of that name."""
    if isinstance(what, str):
        return bool(ref.symbol) and (ref.symbol == what or f".{ref.symbol}".endswith(f".{what}"))
    if ref.file != what.file or ref.lines is None or what.start_line is None or what.end_line is None:
        return ref.file == what.file
    return ref.lines[0] <= what.end_line and what.start_line <= ref.lines[1]
