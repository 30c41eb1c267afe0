"""How a project's index and memories are, and what runs on this machine beside them: plain figures for a page.

Nothing here loads NumPy, Lance or a model; what needs them is in `apart.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.compiled.inventory import FORMAT as COMPILED_FORMAT
from sage_code.compiled.published import current
from sage_code.index import manifest, status
from sage_code.paths import sage_home
from sage_code.values import SkippedFile, SkipReason

if TYPE_CHECKING:
    from sage_code.agents.hooks import HookStatus
    from sage_code.continuity.watcher.status import Status as WatcherStatus
    from sage_code.memory.memory import Memory
    from sage_code.settings.table import Settings

_MEANINGS = {
    SkipReason.IGNORED: "left out by .gitignore, .sageignore or a built-in rule",
    SkipReason.EMPTY: "nothing in it",
    SkipReason.BINARY: "no text",
    SkipReason.TOO_LARGE: "larger than the setting max_file_bytes",
    SkipReason.GENERATED: "written by a program",
    SkipReason.MINIFIED: "squeezed: nobody reads it",
    SkipReason.LOCKFILE: "versions that a package manager has noted",
    SkipReason.SECRET: "keys, passwords or tokens: kept out of the index",
    SkipReason.SYMLINK: "a link: what it leads to is not followed",
    SkipReason.NOT_A_FILE: "a device, a pipe or a socket",
    SkipReason.UNREADABLE: "the system does not let Sage read it",
    SkipReason.BAD_NAME: "its name is not valid Unicode",
}


@dataclass(frozen=True, slots=True)
class SkippedGroup:
    """Files that were left out for the same reason."""

    reason: str
    meaning: str
    files: tuple[SkippedFile, ...]  # at most so many as were asked for
    count: int


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """What an index consists of, and how large it is."""

    model: str
    dim: int
    generation: str
    segments: int
    chunks: int
    compiled_bytes: int
    store: str  # a folder or an address
    store_bytes: int  # of the store of all projects; 0 for one that is elsewhere
    formats: tuple[tuple[str, int], ...]
    imported: bool


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """How many memories there are, and how many of those that refer to code no longer hold."""

    checkpoints: int
    knowledge: int
    todos_open: int
    todos_done: int
    core_files: int
    referring: int  # memories that refer to code
    states: tuple[tuple[str, int], ...]  # the references by their state
    stale: int  # memories with code that has changed or is gone

    @property
    def stale_share(self) -> float:
        """Which part of the memories about code needs another look."""
        return self.stale / self.referring if self.referring else 0.0


@dataclass(frozen=True, slots=True)
class Beside:
    """What else runs for the user: the watcher, the hooks of agents, plugins."""

    watcher: WatcherStatus
    hooks: HookStatus
    plugins: tuple[dict[str, Any], ...]


def skipped(root: str, settings: Settings, containing: str = "", most: int = 200) -> list[SkippedGroup]:
    """What an index run leaves out, by reason, the largest group first; `containing` is a part of the path."""
    wanted = containing.casefold()
    found: dict[SkipReason, list[SkippedFile]] = {}
    for one in status.preview(root, settings).skipped:
        if wanted in one.path.casefold():
            found.setdefault(one.reason, []).append(one)
    groups = [
        SkippedGroup(reason.value.replace("_", " "), _MEANINGS[reason], tuple(files[:most]), len(files))
        for reason, files in found.items()
    ]
    return sorted(groups, key=lambda group: (-group.count, group.reason))


def store_figures(root: str) -> StoreFigures | None:
    """What the index of a project consists of; None without an index."""
    known = manifest.manifest_or_none(root)
    if known is None:
        return None
    generation = current(root)
    store = known.store_uri or os.path.join(sage_home(), "codebase", "lancedb")
    return StoreFigures(
        model=known.model,
        dim=known.dim,
        generation=known.generation,
        segments=len(generation.segments) if generation else 0,
        chunks=generation.chunks if generation else 0,
        compiled_bytes=sum(mark.size for mark in generation.files.values()) if generation else 0,
        store=store,
        store_bytes=status.folder_bytes(store) if "://" not in store else 0,
        formats=(("manifest", manifest.FORMAT), ("compiled files", COMPILED_FORMAT), ("chunks", CHUNKER_VERSION)),
        imported=known.imported,
    )


def memory_figures(root: str, memory: Memory) -> MemoryFigures:
    """How the memories that a project shows are."""
    from sage_code.memory.code.staleness import refs_check  # lazy: the parser
    from sage_code.memory.files.core_files import core_files

    items = list(memory.knowledge.items())
    todos = [one for one in items if one.item.type == "todo"]
    done = sum(one.item.status == "done" for one in todos)
    checked = refs_check(root)
    return MemoryFigures(
        checkpoints=sum(1 for _ in memory.checkpoints.newest()),
        knowledge=len(items) - len(todos),
        todos_open=len(todos) - done,
        todos_done=done,
        core_files=len(core_files(root)),
        referring=len(checked),
        states=_counted(state.state for one in checked for state in one.states),
        stale=sum(one.is_stale for one in checked),
    )


def beside(root: str) -> Beside:
    """What else runs for the user, and for a project."""
    from sage_code.agents import hooks
    from sage_code.continuity.watcher.status import status as watcher_status
    from sage_code.events.overview import rows

    return Beside(watcher_status(), hooks.status(root), tuple(row for row in rows() if row["enabled"]))


def _counted(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(names).most_common())
