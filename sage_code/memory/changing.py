"""Changes memories so that every change can be undone: edits, deletes, confirms, finishes, and takes it back.

What a file said before is kept (`files/kept.py`) and comes back byte for byte. Nothing is overwritten that somebody
else has changed meanwhile: a change names the version that its author has seen, and is a Conflict otherwise.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from sage_code.errors import Conflict, UsageError
from sage_code.memory.code.referring_memories import read_memory, title_of
from sage_code.memory.confirming import renewed, with_refs
from sage_code.memory.files import core_files, frontmatter
from sage_code.memory.files.head_edits import with_values
from sage_code.memory.files.homes import MemoryHome, home_to_write, homes, id_of
from sage_code.memory.files.kept import KeptVersion, forget, keep, kept_versions, read_kept, version_of
from sage_code.memory.files.knowledge import from_markdown, today
from sage_code.memory.memory import Memory
from sage_code.memory.stored_memories import StoredMemories
from sage_code.paths import anybody_listens

Kind = Literal["checkpoint", "knowledge"]
KINDS: tuple[Kind, ...] = ("checkpoint", "knowledge")
CORE = "core"
_RECENT = 50


@dataclass(frozen=True, slots=True)
class StoredText:
    """The file of a memory as it is now."""

    kind: Kind
    id: str
    home: MemoryHome
    path: str  # relative to the home
    text: str

    @property
    def version(self) -> str:
        """What a change of it has to name."""
        return version_of(self.text)

    @property
    def where(self) -> str:
        """Its path on the disk."""
        return self.home.path(self.path)

    @property
    def title(self) -> str:
        """Its thesis or first words, in one line and without secrets."""
        from sage_code.text.masking import mask  # lazy: dozens of patterns

        return title_of(mask(frontmatter.split(self.text)[1])[0])


@dataclass(frozen=True, slots=True)
class Change:
    """What was changed, and the key that takes it back; an empty key if nothing had to be changed."""

    kind: str
    id: str
    why: str
    key: str


def kind_named(name: str) -> Kind:
    """The kind of an address; UsageError if there is none of this name."""
    for kind in KINDS:
        if kind == name:
            return kind
    raise UsageError(f"there is no kind of memory called {name[:40]!r}", f"one of {', '.join(KINDS)}")


def stored(memory: Memory, kind: Kind, id_: str) -> StoredText:
    """The file of the memory with exactly this id; UsageError if there is none."""
    home, path = _store(memory, kind).find(id_)
    if id_of(path) != id_:
        raise UsageError(f"there is no {kind} {id_[:120]}", f"did you mean {id_of(path)}?")
    return StoredText(kind, id_, home, path, home.read(path))


def rewrite(memory: Memory, before: StoredText, text: str, why: str) -> Change:
    """Write another text into the file of a memory; Conflict if the file is no longer as it was read."""
    if text == before.text:
        return Change(before.kind, before.id, why, "")
    key = _keep(before, why, version_of(text))
    try:
        _store(memory, before.kind).replace_text(before.home, before.path, before.text, text)
    except BaseException:
        forget(before.home, key)
        raise
    _publish(memory, before.kind, before.id, before.home)
    return Change(before.kind, before.id, why, key)


def delete(memory: Memory, kind: Kind, id_: str, version: str = "") -> Change:
    """Delete a memory; Conflict if it is no longer the version that the person has seen."""
    before = stored(memory, kind, id_)
    if version and version != before.version:
        raise Conflict(f"{id_} was changed meanwhile", "look at it again before you delete it")
    key = _keep(before, "deleted", "")
    try:
        _store(memory, kind).remove(id_, before=before.text)
    except BaseException:
        forget(before.home, key)
        raise
    return Change(kind, id_, "deleted", key)


def still_true(memory: Memory, kind: Kind, id_: str) -> Change:
    """Have a memory refer to the code as it is now; references whose code is gone are dropped."""
    before = stored(memory, kind, id_)
    found = read_memory(before.home, before.path)
    if found is None:
        raise UsageError(f"{id_} refers to no code, so it is not stale", "nothing was changed")
    refs = renewed(memory, found.refs).refs
    return rewrite(memory, before, with_refs(before.text, refs, before.where), "confirmed")


def finish(memory: Memory, id_: str, *, is_done: bool) -> Change:
    """Mark a todo as done, or as not done any more."""
    before = stored(memory, "knowledge", id_)
    item = from_markdown(before.text, before.where, id_)
    if item.type != "todo":
        raise UsageError(f"{id_} is no todo but {item.type}", "nothing was changed")
    values = {"status": "done", "done": today()} if is_done else {"status": "pending", "done": ""}
    return rewrite(memory, before, with_values(before.text, values, before.where), "done" if is_done else "reopened")


def undo(memory: Memory, key: str, *, is_forced: bool = False) -> Change:
    """Give a memory the text of an earlier version again, byte for byte.

    Conflict if it was changed again since, unless `is_forced`: then that text is kept as an earlier version too.
    """
    home, version, text = read_kept(homes(memory.root), key)
    if version.kind == CORE:
        return _undo_core(memory, home, version, text, is_forced)
    kind = kind_named(version.kind)
    if not os.path.lexists(home.path(version.path)):
        _store(memory, kind).put_back(home, version.path, text)
        forget(home, key)
        _publish(memory, kind, version.id, home)
        return Change(kind, version.id, "restored", "")
    before = StoredText(kind, version.id, home, version.path, home.read(version.path))
    if before.version != version.after and before.text != text and not is_forced:
        raise Conflict(f"{version.id} was changed again since", "its page has its earlier versions")
    return rewrite(memory, before, text, "restored")


def earlier(memory: Memory, kind: str, id_: str) -> list[KeptVersion]:
    """The earlier versions of a memory that are still kept, newest first."""
    return [version for _, version in kept_versions(homes(memory.root), kind, id_)][:_RECENT]


def recently_deleted(memory: Memory) -> list[KeptVersion]:
    """The memories that were deleted and can be restored, the last one first."""
    found: dict[str, KeptVersion] = {}
    for home, version in kept_versions(homes(memory.root)):
        is_there = os.path.lexists(home.path(version.path))
        if version.why == "deleted" and not is_there and len(found) < _RECENT:
            found.setdefault(home.path(version.path), version)
    return list(found.values())


def mark_core(memory: Memory, path: str, summary: str) -> Change:
    """Mark a file as core or change its summary, also to none."""
    root = _root(memory)
    listed = {one.path: one.summary for one in core_files.core_files(root)}
    before = core_files.core_text(root)
    if not summary.strip() and listed.get(path):
        core_files.unmark(root, path)  # an empty summary would keep the old one
    marked = core_files.mark(root, path, summary)
    return _core_changed(memory, before, marked.path, "marked")


def unmark_core(memory: Memory, path: str) -> Change:
    """Take a file from the list of core files."""
    root = _root(memory)
    before = core_files.core_text(root)
    if core_files.unmark(root, path) is None:
        raise UsageError(f"{path[:200]} is not a core file", "nothing was changed")
    return _core_changed(memory, before, path, "unmarked")


def _core_changed(memory: Memory, before: str, path: str, why: str) -> Change:
    """Keep what the list of core files said before."""
    after = core_files.core_text(_root(memory))
    if after == before:
        return Change(CORE, CORE, why, "")
    home = home_to_write(memory.root, "project")
    key = keep(home, CORE, CORE, core_files.CORE_FILE, before, why=why, title=path, after=version_of(after))
    return Change(CORE, CORE, why, key)


def _undo_core(memory: Memory, home: MemoryHome, version: KeptVersion, text: str, is_forced: bool) -> Change:
    """Give the list of core files its earlier text again."""
    root = _root(memory)
    now = core_files.core_text(root)
    if version_of(now) != version.after and now != text and not is_forced:
        raise Conflict("the list of core files was changed again since", "change it by hand")
    key = keep(home, CORE, CORE, version.path, now, why="restored", title=version.title, after=version_of(text))
    core_files.replace_text(root, now, text)
    return Change(CORE, CORE, "restored", key)


def _root(memory: Memory) -> str:
    if memory.root is None:
        raise UsageError("there is no project", "run it inside a project")
    return memory.root


def _store(memory: Memory, kind: Kind) -> StoredMemories:
    return memory.checkpoints if kind == "checkpoint" else memory.knowledge


def _keep(before: StoredText, why: str, after: str) -> str:
    return keep(before.home, before.kind, before.id, before.path, before.text, why=why, title=before.title, after=after)


def _publish(memory: Memory, kind: str, id_: str, home: MemoryHome) -> None:
    if anybody_listens():
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        publishing.memory_saved(kind, id_, home.scope, memory.root)
