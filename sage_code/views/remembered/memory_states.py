"""What has become of the code that memories are about, kept while the files stay the same.

Thousands of memories are checked in a few seconds; a page must not wait for that twice. What a check has found in the
reference's own file holds until that file changes. What it had to look for in other files holds for some seconds, so
that a person can go through a long queue: code that comes back elsewhere is noticed that much later.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Literal

from sage_code.memory.code.referring_memories import ReferringMemory, files_of, read_memory
from sage_code.memory.files.homes import homes, stamp_of

if TYPE_CHECKING:
    from sage_code.memory.code.check import Checker, RefState
    from sage_code.memory.code.staleness import CheckedMemory
    from sage_code.memory.files.code_ref import CodeRef

Health = Literal["holds", "moved", "changed", "gone"]
# What a memory is called by the worst of its references.
HEALTH: dict[str, Health] = {"unchanged": "holds", "moved": "moved", "changed": "changed", "gone": "gone"}
_WORST: tuple[Health, ...] = ("gone", "changed", "moved", "holds")
# Fewer memories are checked at once, while somebody waits for the page.
_QUICK_MEMORIES = 200
_MAX_PROJECTS = 16
_ELSEWHERE_SECONDS = 10.0
_MAX_FOUND = 200_000  # references whose state is kept


def health_of(states: Iterable[RefState]) -> Health | None:
    """The worst state of the code of a memory; None if it is about no code."""
    found = {HEALTH[state.state] for state in states}
    return next((one for one in _WORST if one in found), None)


class MemoryStates:
    """The states of the memories of one project; safe to share between threads."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._memories: dict[tuple[str, str], tuple[str, ReferringMemory | None]] = {}
        self._found: dict[CodeRef, tuple[str, float, RefState]] = {}  # the file's stamp, and until when it holds
        self._is_complete = False
        self._guard = Lock()

    def is_quick(self) -> bool:
        """Whether all memories can be checked while a person waits."""
        return self._is_complete or sum(1 for home in homes(self._root) for _ in files_of(home)) <= _QUICK_MEMORIES

    def of(self, refs: Sequence[CodeRef], look: Look | None = None) -> tuple[RefState, ...]:
        """The state of each reference."""
        look = look or Look(self._root)
        found: list[RefState] = []
        for ref in refs:
            stamp = look.stamp(ref.file)
            known = self._found.get(ref)
            if known is None or known[0] != stamp or known[1] < look.at:
                state = look.checker.check(ref)
                until = math.inf if stamp and _is_of_its_file(state) else time.monotonic() + _ELSEWHERE_SECONDS
                self._found[ref] = known = stamp, until, state
            found.append(known[2])
        return tuple(found)

    def within(self, several: Iterable[Sequence[CodeRef]], seconds: float) -> list[tuple[RefState, ...] | None]:
        """The states of several memories; None for those that would take longer than `seconds` altogether."""
        look = Look(self._root)
        deadline = time.monotonic() + seconds
        return [self.of(refs, look) if not refs or time.monotonic() < deadline else None for refs in several]

    def all(self) -> list[CheckedMemory]:
        """Every memory that refers to code of the project, with the states of its references."""
        from sage_code.memory.code.staleness import CheckedMemory  # lazy: the parser

        with self._guard:
            look = Look(self._root)
            found = [CheckedMemory(one, self.of(one.refs, look)) for one in self._referring()]
            if len(self._found) > _MAX_FOUND:
                self._found.clear()
            self._is_complete = True
        return found

    def stale(self) -> list[CheckedMemory]:
        """The memories whose code has changed or is gone, those with the largest stale share first."""
        found = [one for one in self.all() if one.is_stale]
        return sorted(found, key=lambda one: -sum(state.is_stale for state in one.states) / len(one.states))

    def _referring(self) -> list[ReferringMemory]:
        """The memories about this project's code; a file is read again only when it has changed."""
        roots = (self._root, os.path.realpath(self._root))
        read: dict[tuple[str, str], tuple[str, ReferringMemory | None]] = {}
        found = []
        for home in homes(self._root):
            for path, stamp in sorted(files_of(home), reverse=True):
                known = self._memories.get((home.base, path))
                memory = known[1] if known is not None and known[0] == stamp else read_memory(home, path)
                read[home.base, path] = stamp, memory
                if memory is not None and (home.is_about_project or memory.project in roots):
                    found.append(memory)
        self._memories = read
        return found


class Look:
    """One look at the code: each file is looked at once."""

    def __init__(self, root: str) -> None:
        self._root, self.at = root, time.monotonic()
        self._stamps: dict[str, str] = {}

    @cached_property
    def checker(self) -> Checker:
        """A checker of the code as it is now."""
        from sage_code.memory.code.check import Checker  # lazy: the parser

        return Checker(self._root)

    def stamp(self, file: str) -> str:
        """What changes with a file; empty if it is not there."""
        if file not in self._stamps:
            try:
                self._stamps[file] = stamp_of(os.lstat(os.path.join(self._root, file)))
            except (OSError, ValueError):
                self._stamps[file] = ""
        return self._stamps[file]


def _is_of_its_file(state: RefState) -> bool:
    """Whether a check has looked at no other file than that of the reference: see the order in `memory.code.check`."""
    ref, now = state.ref, state.now
    if now is None or now.file != ref.file:
        return False
    return state.state != "changed" or bool(ref.symbol and now.symbol == ref.symbol)


_known: dict[str, MemoryStates] = {}
_known_guard = Lock()


def states_of(root: str) -> MemoryStates:
    """The states of a project, which this process keeps."""
    with _known_guard:
        found = _known.pop(root, None) or MemoryStates(root)
        _known[root] = found
        if len(_known) > _MAX_PROJECTS:
            del _known[next(iter(_known))]
    return found
