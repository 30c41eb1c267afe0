"""What has become of the code that memories are about, kept while the files stay the same.

Thousands of memories are checked in a second or two; a page must not wait for that twice. A reference whose code is
unchanged stays so until its file changes; all others are checked again each time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
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


def health_of(states: Iterable[RefState]) -> Health | None:
    """The worst state of the code of a memory; None if it is about no code."""
    found = {HEALTH[state.state] for state in states}
    return next((one for one in _WORST if one in found), None)


class MemoryStates:
    """The states of the memories of one project; safe to share between threads."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._memories: dict[tuple[str, str], tuple[str, ReferringMemory | None]] = {}
        self._unchanged: dict[CodeRef, tuple[str, RefState]] = {}
        self._is_complete = False
        self._guard = Lock()

    def is_quick(self) -> bool:
        """Whether all memories can be checked while a person waits."""
        return self._is_complete or sum(1 for home in homes(self._root) for _ in files_of(home)) <= _QUICK_MEMORIES

    def of(self, refs: Sequence[CodeRef], checker: Checker | None = None) -> tuple[RefState, ...]:
        """The state of each reference."""
        stamps: dict[str, str] = {}
        found: list[RefState] = []
        for ref in refs:
            if ref.file not in stamps:
                stamps[ref.file] = self._stamp(ref.file)
            known = self._unchanged.get(ref)
            if known is not None and known[0] == stamps[ref.file]:
                found.append(known[1])
                continue
            checker = checker or self.checker()
            state = checker.check(ref)
            if state.state == "unchanged" and stamps[ref.file]:
                self._unchanged[ref] = stamps[ref.file], state
            found.append(state)
        return tuple(found)

    def within(self, several: Iterable[Sequence[CodeRef]], seconds: float) -> list[tuple[RefState, ...] | None]:
        """The states of several memories; None for those that would take longer than `seconds` altogether."""
        checker = self.checker()
        deadline = time.monotonic() + seconds
        return [self.of(refs, checker) if not refs or time.monotonic() < deadline else None for refs in several]

    def all(self) -> list[CheckedMemory]:
        """Every memory that refers to code of the project, with the states of its references."""
        from sage_code.memory.code.staleness import CheckedMemory  # lazy: the parser

        with self._guard:
            checker = self.checker()
            found = [CheckedMemory(one, self.of(one.refs, checker)) for one in self._referring()]
            used = {state.ref for one in found for state in one.states}
            self._unchanged = {ref: known for ref, known in self._unchanged.items() if ref in used}
            self._is_complete = True
        return found

    def stale(self) -> list[CheckedMemory]:
        """The memories whose code has changed or is gone, those with the largest stale share first."""
        found = [one for one in self.all() if one.is_stale]
        return sorted(found, key=lambda one: -sum(state.is_stale for state in one.states) / len(one.states))

    def checker(self) -> Checker:
        """A checker of the code as it is now."""
        from sage_code.memory.code.check import Checker  # lazy: the parser

        return Checker(self._root)

    def _referring(self) -> list[ReferringMemory]:
        """The memories about this project's code; a file is read again only when it has changed."""
        roots = (self._root, os.path.realpath(self._root))
        read: dict[tuple[str, str], tuple[str, ReferringMemory | None]] = {}
        found = []
        for home in homes(self._root):
            for path, stamp in sorted(files_of(home), reverse=True):
                known = self._memories.get((home.scope, path))
                memory = known[1] if known is not None and known[0] == stamp else read_memory(home, path)
                read[home.scope, path] = stamp, memory
                if memory is not None and (home.scope == "project" or memory.project in roots):
                    found.append(memory)
        self._memories = read
        return found

    def _stamp(self, file: str) -> str:
        try:
            return stamp_of(os.lstat(os.path.join(self._root, file)))
        except (OSError, ValueError):
            return ""


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
