"""A memory of one's own as a team gets it: its kind, name and text, and the file that is kept in step with it.

Checkpoints and knowledge are shared as their files are. A core file and a block have no file of their own: they become
a text with a head like knowledge, so that recall of others finds them.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass

from sage_code.errors import UsageError
from sage_code.memory.checkpoint_store import CheckpointStore
from sage_code.memory.files.checkpoint_text import to_markdown as checkpoint_text
from sage_code.memory.files.core_files import core_files
from sage_code.memory.files.homes import MemoryHome, id_of, safe_id
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.files.knowledge import to_markdown as knowledge_text
from sage_code.memory.knowledge_store import KnowledgeStore
from sage_code.memory.team.values import Kind
from sage_code.settings.table import Settings


@dataclass(frozen=True, slots=True)
class Shareable:
    """A memory that can be shared."""

    kind: Kind
    name: str
    text: str
    file: tuple[MemoryHome, str] | None = None  # its home, and its path there


def shareable(root: str | None, settings: Settings, kind: Kind, id_: str) -> Shareable:
    """The memory of this kind with this id, path or label; UsageError if there is none."""
    if kind == "checkpoint":
        return _checkpoint(CheckpointStore(root, settings), id_)
    if kind == "knowledge":
        home, path = KnowledgeStore(root, settings).find(id_)
        return _own(kind, home, path)
    return _core_file(root, id_) if kind == "core" else _block(settings, id_)


def _own(kind: Kind, home: MemoryHome, path: str) -> Shareable:
    """A memory in a file that is not the team's already."""
    name = id_of(path)
    if home.scope == "team":
        raise UsageError(f"{name} is the team's already", f"`sage team edit {name}` changes it")
    return Shareable(kind, name, home.read(path), (home, path))


def _checkpoint(store: CheckpointStore, id_: str) -> Shareable:
    home, path = store.find(id_)
    if path.endswith(".md"):
        return _own("checkpoint", home, path)
    return Shareable("checkpoint", id_of(path), checkpoint_text(store.load(id_of(path))))  # in the old format


def _core_file(root: str | None, path: str) -> Shareable:
    """A core file: what it is about, not what it contains."""
    listed = core_files(root) if root is not None else []
    for one in listed:
        if path in (one.path, safe_id(one.path)):
            return _as_knowledge(
                "core", one.path, f"Core file `{one.path}`: {one.summary or 'no summary'}", "reference"
            )
    some = f": {', '.join(one.path for one in listed[:5])}" if listed else ""
    raise UsageError(f"{path[:80]} is no core file{some}", f"`sage core add {path[:80]} --summary …` makes it one")


def _block(settings: Settings, label: str) -> Shareable:
    from sage_code.memory.tiers.core_memory import CoreMemory  # lazy: the database of the tiers
    from sage_code.memory.tiers.engines.opening import open_engine
    from sage_code.memory.tiers.opened import opened_agent

    with closing(open_engine(settings.memory_uri)) as engine:
        block = CoreMemory(engine, opened_agent(engine, settings), settings).block(label)
    return _as_knowledge("block", block.label, block.value, "knowledge")


def _as_knowledge(kind: Kind, name: str, content: str, type_: str) -> Shareable:
    id_ = safe_id(name)
    words = tuple(dict.fromkeys((os.path.basename(name), id_)))
    return Shareable(kind, id_, knowledge_text(KnowledgeItem(id_, content, type_, words)))
