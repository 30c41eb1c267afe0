"""Confirms a stale memory that is still true: renews its references to the current code.

Only `code_refs` in the frontmatter changes; the rest of the file stays the same, byte for byte. A reference whose code
is gone is removed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.memory.code.check import check
from sage_code.memory.code.referring_memories import read_memory
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.head_edits import with_values
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.memory import Memory
from sage_code.values import Scope


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A confirmed memory, and what was done to its references."""

    id: str
    kind: str  # checkpoint | knowledge
    scope: Scope
    renewed: int  # references whose code had changed or moved
    dropped: int  # references whose code is gone
    refs: tuple[CodeRef, ...]  # as they are now


@dataclass(frozen=True, slots=True)
class Renewed:
    """The references of a memory to the code as it is now."""

    refs: tuple[CodeRef, ...]
    renewed: int
    dropped: int


def confirm(memory: Memory, id_: str) -> Confirmed:
    """Confirm that a memory is still true; UsageError if there is none, or if it refers to no code."""
    home, path = _find(memory, id_)
    found = read_memory(home, path)
    if found is None:
        raise UsageError(f"{id_} refers to no code, so it is not stale", "`sage stale` lists what is")
    new = renewed(memory, found.refs)
    with home.locked():
        text = home.read(path)
        home.write(with_refs(text, new.refs, home.path(path)), path)
    if found.kind == "knowledge":
        memory.knowledge.edited(found.id)
    return Confirmed(found.id, found.kind, home.scope, new.renewed, new.dropped, new.refs)


def renewed(memory: Memory, refs: tuple[CodeRef, ...]) -> Renewed:
    """The references to the current code; those whose code is gone are dropped."""
    if memory.root is None:
        raise UsageError("there is no project whose code could be checked", "run it inside the project")
    states = check(memory.root, refs)
    kept = tuple(state.now for state in states if state.now is not None)
    changed = sum(state.now is not None and state.state != "unchanged" for state in states)
    return Renewed(kept, changed, len(states) - len(kept))


def with_refs(text: str, refs: tuple[CodeRef, ...], where: str) -> str:
    """The text of a memory's file with other references; MemoryDamaged if anything else would change."""
    return with_values(text, {"code_refs": [ref.to_dict() for ref in refs]}, where)


def _find(memory: Memory, id_: str) -> tuple[MemoryHome, str]:
    """The home and path of a memory of either kind; a part of an id finds only a checkpoint."""
    try:
        return memory.knowledge.find(id_)
    except UsageError:
        home, path = memory.checkpoints.find(id_)
    if not path.endswith(".md"):
        raise UsageError(f"{home.path(path)} has an old format without references", "save it as Markdown")
    return home, path
