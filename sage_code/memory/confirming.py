"""A memory that is stale and still true: its references take over the code as it is now.

Only the `code_refs` of the file's head change; what the memory says stays byte for byte. A reference whose code is gone
is taken out: there is nothing left that could change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import yaml

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.files.locks import locked
from sage_code.memory.code.check import check
from sage_code.memory.code.referring_memories import read
from sage_code.memory.files import frontmatter
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.memory import Memory
from sage_code.values import Scope

_PATIENCE_S = 30.0
_KEY = "code_refs"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A memory that holds, and what was done to its references."""

    id: str
    kind: str  # checkpoint | knowledge
    scope: Scope
    refs: tuple[CodeRef, ...]  # as they are now
    renewed: int  # whose code had changed or moved
    dropped: int  # whose code is gone


def confirm(memory: Memory, id_: str) -> Confirmed:
    """Say that a memory is still true; UsageError when there is none, or it refers to no code."""
    if memory.root is None:
        raise UsageError("there is no project whose code could be looked at", "run it inside the project")
    home, path = _find(memory, id_)
    found = read(home, path)
    if found is None:
        raise UsageError(f"{id_} refers to no code, so it is not stale", "`sage stale` lists what is")
    states = check(memory.root, found[0].refs)
    refs = tuple(replace(state.now, relevance=state.ref.relevance) for state in states if state.now is not None)
    with locked(home.lock, timeout_s=_PATIENCE_S):
        text = home.read(*path.split("/"))
        home.write(with_refs(text, refs, home.path(path)), *path.split("/"))
    if found[0].kind == "knowledge":
        memory.knowledge.edited(found[0].id)
    renewed = sum(state.now is not None and state.state != "unchanged" for state in states)
    return Confirmed(found[0].id, found[0].kind, home.scope, refs, renewed, len(states) - len(refs))


def with_refs(text: str, refs: tuple[CodeRef, ...], where: str) -> str:
    """A memory's file with other references and nothing else changed."""
    head, body = frontmatter.split(text)
    before = frontmatter.load(head, where)
    kept = _without_key(head)
    added = frontmatter.dump({_KEY: [ref.to_dict() for ref in refs]}) if refs else ""
    after = frontmatter.load(kept + added, where)
    if {**before, _KEY: None} != {**after, _KEY: None}:
        raise MemoryDamaged(f"{where} is laid out in a way that Sage cannot edit", "change its code_refs by hand")
    return f"---\n{kept}{added}---\n{body}"


def _without_key(head: str) -> str:
    """The head's text without the references: from their key to the next."""
    node: Any = yaml.compose(head, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    for number, (key, _) in enumerate(pairs):
        if key.value == _KEY:
            end = pairs[number + 1][0].start_mark.index if number + 1 < len(pairs) else len(head)
            head = head[: key.start_mark.index] + head[end:]
            break
    return head if not head or head.endswith("\n") else head + "\n"


def _find(memory: Memory, id_: str) -> tuple[MemoryHome, str]:
    """Where a memory's file is, whatever its kind; knowledge is meant by its whole id only."""
    try:
        return memory.knowledge.find(id_)
    except UsageError:
        home, path = memory.checkpoints.find(id_)
    if not path.endswith(".md"):
        raise UsageError(f"{home.path(path)} is of an old format that holds no references", "save it as Markdown")
    return home, path
