"""Does what was concluded still stand? Memories held against the code that they are about.

refs_check   every memory with the state of each of its references
stale        those that need another look
why          everything that was ever concluded about a location or a symbol
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.files.inside import relative_path
from sage_code.memory.code.attached import follow
from sage_code.memory.code.check import Checker, RefState
from sage_code.memory.code.referring_memories import ReferringMemory, memories
from sage_code.memory.files.code_ref import CodeRef, relative_file
from sage_code.memory.files.homes import homes


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
    file, line = _home(root, what)
    checker = Checker(root)
    found = []
    for memory in memories(root):
        near = [ref for ref in memory.refs if not file or _may_be_about(ref, file)]
        states = [checker.check(ref) for ref in near]
        about = tuple(state for state in states if any(_is_about(ref, file, line, what) for ref in _both(state)))
        if about:
            found.append(CheckedMemory(memory, about))
    return found


def _home(root: str, what: str) -> tuple[str, int]:
    """The file and line that are meant; no file for a symbol."""
    file, _, line = what.rpartition(":")
    if file and line.isascii() and line.isdecimal() and len(line) < 9:
        return _file(root, file), int(line)
    if "/" in what or "." in what:
        try:
            return relative_path(root, what), 0
        except UsageError:  # a qualified name has a dot, too
            return "", 0
    return "", 0


def _file(root: str, file: str) -> str:
    try:
        return relative_path(root, file)
    except UsageError:
        return relative_file(file)  # deleted since: what was concluded about it is still known


def _may_be_about(ref: CodeRef, file: str) -> bool:
    # Code that has moved into this file may have come from anywhere, but it is a definition with a name or a hash.
    return ref.file == file or bool(ref.content_hash)


def _both(state: RefState) -> Iterator[CodeRef]:
    yield state.ref
    if state.now is not None and state.now is not state.ref:
        yield state.now


def _is_about(ref: CodeRef, file: str, line: int, what: str) -> bool:
    if file:
        return ref.file == file and (not line or ref.lines is None or ref.lines[0] <= line <= ref.lines[1])
    return bool(ref.symbol) and (ref.symbol == what or f".{ref.symbol}".endswith(f".{what}"))
