"""Confirms a stale memory that is still true: renews its references to the current code.

Only `code_refs` in the frontmatter changes; the rest of the file stays the same, byte for byte. A reference whose code
is gone is removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.code.check import check
from sage_code.memory.code.referring_memories import read_memory
from sage_code.memory.files import frontmatter
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.memory import Memory
from sage_code.values import Scope

_KEY = "code_refs"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A confirmed memory, and what was done to its references."""

    id: str
    kind: str  # checkpoint | knowledge
    scope: Scope
    renewed: int  # references whose code had changed or moved
    dropped: int  # references whose code is gone
    refs: tuple[CodeRef, ...]  # as they are now


def confirm(memory: Memory, id_: str) -> Confirmed:
    """Confirm that a memory is still true; UsageError if there is none, or if it refers to no code."""
    if memory.root is None:
        raise UsageError("there is no project whose code could be checked", "run it inside the project")
    home, path = _find(memory, id_)
    found = read_memory(home, path)
    if found is None:
        raise UsageError(f"{id_} refers to no code, so it is not stale", "`sage stale` lists what is")
    states = check(memory.root, found.refs)
    refs = tuple(state.now for state in states if state.now is not None)
    with home.locked():
        text = home.read(path)
        home.write(with_refs(text, refs, home.path(path)), path)
    if found.kind == "knowledge":
        memory.knowledge.edited(found.id)
    renewed = sum(state.now is not None and state.state != "unchanged" for state in states)
    return Confirmed(found.id, found.kind, home.scope, renewed, len(states) - len(refs), refs)


def with_refs(text: str, refs: tuple[CodeRef, ...], where: str) -> str:
    """The text of a memory's file with other references; MemoryDamaged if anything else would change."""
    head, body = frontmatter.split(text)
    before = frontmatter.load(head, where)
    kept = _without_key(head)
    added = frontmatter.dump({_KEY: [ref.to_dict() for ref in refs]}) if refs else ""
    after = frontmatter.load(kept + added, where)
    if {**before, _KEY: None} != {**after, _KEY: None}:
        raise MemoryDamaged(f"{where} is laid out in a way that Sage cannot edit", "change its code_refs by hand")
    return f"---\n{kept}{added}---\n{body}"


def _without_key(head: str) -> str:
    """The frontmatter without `code_refs`: cut from that key to the next one."""
    node: Any = yaml.compose(head, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    for number, (key, _) in enumerate(pairs):
        if key.value == _KEY:
            end = pairs[number + 1][0].start_mark.index if number + 1 < len(pairs) else len(head)
            head = head[: key.start_mark.index] + head[end:]
            break
    return head if not head or head.endswith("\n") else head + "\n"


def _find(memory: Memory, id_: str) -> tuple[MemoryHome, str]:
    """The home and path of a memory of either kind; a part of an id finds only a checkpoint."""
    try:
        return memory.knowledge.find(id_)
    except UsageError:
        home, path = memory.checkpoints.find(id_)
    if not path.endswith(".md"):
        raise UsageError(f"{home.path(path)} has an old format without references", "save it as Markdown")
    return home, path
