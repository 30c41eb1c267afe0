"""Saves, finds, lists, merges, archives and deletes knowledge items of a project's home and of the user's.

Each item is a Markdown file in `knowledge/global/`, or in `knowledge/skills/<skill>/` if it belongs to a skill; a list
per home has the facts of all of them. The project's home comes first: if two items have the same id, its item wins. A
save reports possible duplicates and contradictions; items are merged only on request.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import xxhash

from sage_code.errors import Busy, MemoryDamaged, UsageError
from sage_code.memory.files.archive import FOLDER as ARCHIVE
from sage_code.memory.files.archive import archived
from sage_code.memory.files.homes import MemoryHome, home_to_write, homes, id_of, safe_id
from sage_code.memory.files.knowledge import (
    THRESHOLDS,
    KnowledgeItem,
    SimilarItem,
    checked,
    facts_of,
    from_markdown,
    item_of,
    to_markdown,
    today,
)
from sage_code.memory.files.knowledge_list import FOLDER, KnowledgeList
from sage_code.memory.files.maintenance import Limits, MaintenanceResult, prune
from sage_code.memory.index.memory_index import MemoryKind
from sage_code.memory.notices import Notices
from sage_code.memory.stored_memories import StoredMemories, check_unchanged
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.index.passages import Record

GLOBAL, SKILLS = f"{FOLDER}/global", f"{FOLDER}/skills"
_PREVIEW_CHARS = 300


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item in a list, which needs no text."""

    item: KnowledgeItem  # with empty content, unless its file had to be read
    scope: Scope
    path: str  # relative to the home


@dataclass(frozen=True, slots=True)
class SavedKnowledge:
    """The result of a save."""

    item: KnowledgeItem
    scope: Scope
    replaced: bool
    alike: tuple[SimilarItem, ...]
    maintenance: MaintenanceResult = field(default_factory=MaintenanceResult)


class KnowledgeStore(StoredMemories):
    """The knowledge of a project and of its user."""

    def __init__(self, root: str | None, settings: Settings, notices: Notices | None = None) -> None:
        super().__init__(KIND, root, settings, notices)
        self._lists: dict[MemoryHome, KnowledgeList] = {}

    def knowledge_list(self, home: MemoryHome) -> KnowledgeList:
        """The list of a home."""
        if home not in self._lists:
            self._lists[home] = KnowledgeList(home, self.settings.knowledge_cache_ttl_seconds)
        return self._lists[home]

    def entries(self, home: MemoryHome) -> dict[str, dict[str, Any]]:
        """The facts of a home's items, from its list; a damaged list is rebuilt from the items' files."""
        try:
            return self.knowledge_list(home).entries()
        except MemoryDamaged as error:
            try:
                home.prepare(FOLDER)
                with home.locked():
                    self._rebuild_list(home, error)
            except (OSError, Busy, UsageError):
                self._rebuild_list(home, error)  # in memory only: the home cannot be written to
            return self.knowledge_list(home).entries()

    def _change_list(self, home: MemoryHome, change: Callable[[KnowledgeList], None]) -> None:
        """Change the list of a home, whose lock the caller holds; a damaged list is rebuilt first."""
        try:
            change(self.knowledge_list(home))
        except MemoryDamaged as error:
            self._rebuild_list(home, error)
            change(self.knowledge_list(home))

    def _rebuild_list(self, home: MemoryHome, error: MemoryDamaged) -> None:
        """Make a damaged list again from the items' files and from its readable lines."""
        entries, sound = {}, self.knowledge_list(home).sound_entries()
        for id_, path in self.memory_index(home).paths().items():
            try:
                text = home.read(path)
                item = from_markdown(text, home.path(path), id_)
            except FileNotFoundError:
                continue
            except MemoryDamaged as damaged:
                self.notices.add(damaged.message)
                continue
            own = _entry(item, path, text)
            # A line about the current file is kept, since it may have been edited in the list.
            entries[id_] = sound[id_] if sound.get(id_, {}).get("hash") == own["hash"] else own
        self.knowledge_list(home).rebuild(entries)
        self.notices.add(f"{error.message}: the list was rebuilt from the {len(entries)} items' own files")

    def save(self, item: KnowledgeItem, *, scope: Scope | None = None) -> SavedKnowledge:
        """Save an item; it replaces the one with the same id."""
        from sage_code.memory.recall.similar_items import similar_items  # lazy: NumPy

        item = checked(replace(item, id=safe_id(item.id), added=item.added or today()))
        if item.type == "todo" and not item.status:
            item = replace(item, status="pending")
        home = home_to_write(self.root, scope)
        memory_index = self.memory_index(home)
        vector = memory_index.embed([item.content])[0]
        similar = similar_items(memory_index.passages(), item, vector, self.settings.dedup_threshold)
        path = _path(item)
        home.prepare(os.path.dirname(path))
        with home.locked():
            before = self._path_in(home, item.id)
            text = to_markdown(item)
            home.write(text, path)
            if before is not None and before != path:
                home.remove(before)
            self._change_list(home, lambda known: known.put(_entry(item, path, text)))
            memory_index.saved(path, _record(item, text), item.content, vector)
        if anybody_listens():
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            publishing.memory_saved("todo" if item.type == "todo" else "knowledge", item.id, home.scope, self.root)
        return SavedKnowledge(item, home.scope, before is not None, tuple(similar))

    def load(self, id_: str) -> KnowledgeItem:
        """The item with this id, to be shown: with what plugins change about it."""
        if not anybody_listens():
            return self._load(id_)[0]
        from sage_code.memory.files.plugged_loading import load  # lazy: most users have no plugins

        home, path = self.find(id_)
        entry = self.entries(home).get(safe_id(id_), {})

        def parse(text: str) -> KnowledgeItem:
            return _effective(text, home.path(path), safe_id(id_), entry)

        timeout_ms = self.settings.load_timeout_ms
        return load(FOLDER, path, home.read, parse, folder=f"{FOLDER}/", timeout_ms=timeout_ms)

    def _load(self, id_: str) -> tuple[KnowledgeItem, MemoryHome]:
        """The item as it is in its file, to be changed, and its home."""
        home, path = self.find(id_)
        entry = self.entries(home).get(safe_id(id_), {})
        return _effective(home.read(path), home.path(path), safe_id(id_), entry), home

    def item_in(self, home: MemoryHome, path: str, text: str) -> KnowledgeItem:
        """The item in the text of a file, with the facts of the list if that is about this text."""
        return _effective(text, home.path(path), id_of(path), self.entries(home).get(id_of(path), {}))

    def find(self, id_: str) -> tuple[MemoryHome, str]:
        """The home of an item, and its path relative to the home."""
        wanted = safe_id(id_)
        for home in homes(self.root):
            path = self._path_in(home, wanted)
            if path is not None:
                return home, path
        import difflib  # lazy: only for a wrong id

        close = difflib.get_close_matches(wanted, [known.item.id for known in self.items()], n=1)
        raise UsageError(
            f"nothing known is called {wanted}", f"did you mean {close[0]}?" if close else "`sage knowledge list`"
        )

    def unused_id(self, wanted: str, content: str) -> str:
        """`wanted`, with a number if an item with other content has that id."""
        first = id_ = safe_id(wanted)
        number = 1
        while any(self._path_in(home, id_) for home in homes(self.root)):
            with suppress(MemoryDamaged):
                if self._load(id_)[0].content == content:
                    break
            number += 1
            id_ = f"{first}-{number}"
        return id_

    def items(self, *, skill: str | None = None, kind: str | None = None) -> Iterator[ListedItem]:
        """All items by id; with `skill`, those of that skill and those of no skill."""
        seen: set[str] = set()
        for home in homes(self.root):
            entries, written_at = self.entries(home), self.knowledge_list(home).written_at()
            for id_, path in self.memory_index(home).paths().items():
                if id_ in seen:
                    continue
                seen.add(id_)
                try:
                    entry = entries.get(id_)
                    if entry is not None and os.lstat(home.path(path)).st_mtime_ns <= written_at:
                        item = item_of(entry, "", path, id_)  # the list is newer than the file
                    else:
                        item = _effective(home.read(path), home.path(path), id_, entry or {})
                except FileNotFoundError:
                    continue
                except MemoryDamaged as error:
                    self.notices.add(error.message)
                    continue
                if _is_wanted(item, skill, kind):
                    yield ListedItem(item, home.scope, path)

    def todos(self, *, pending_only: bool = False) -> list[ListedItem]:
        """The todos: those that are due first, then by their day, those that are done last."""
        found = [one for one in self.items(kind="todo") if not pending_only or one.item.status != "done"]
        return sorted(found, key=lambda one: (*_urgency(one.item), one.item.id))

    def remove(self, id_: str, *, before: str | None = None) -> str:
        """Delete an item; returns its id. Conflict if `before` is given and is not the text of its file any more."""
        home, path = self.find(id_)
        with home.locked():
            if before is not None:
                check_unchanged(home, path, before)
            home.remove(path)
            self._change_list(home, lambda known: known.remove(id_of(path)))
        return id_of(path)

    def edited(self, id_: str) -> KnowledgeItem:
        """Update the list after an item's file was edited; MemoryDamaged if the file cannot be read any more."""
        home, path = self.find(id_)
        text = home.read(path)
        item = from_markdown(text, home.path(path), id_of(path))
        with home.locked():
            self._change_list(home, lambda known: known.put(_entry(item, path, text)))
        return item

    def finish(self, id_: str) -> KnowledgeItem:
        """Mark a todo as done."""
        item, home = self._load(id_)
        if item.type != "todo":
            raise UsageError(f"{item.id} is no todo but {item.type}", "`sage todo list` shows the todos")
        return self.save(replace(item, status="done", done=today()), scope=home.scope).item

    def merge(self, keep: str, other: str) -> KnowledgeItem:
        """Put the content of two items into the first, and delete the second."""
        (first, home), (second, _) = self._load(keep), self._load(other)
        if first.id == second.id:
            raise UsageError("an item cannot be merged with itself", "name two")
        content = first.content if second.content in first.content else f"{first.content}\n\n{second.content}"
        keywords = tuple(dict.fromkeys((*first.keywords, *second.keywords)))
        refs = tuple(dict.fromkeys((*first.code_refs, *second.code_refs)))
        saved = self.save(replace(first, content=content, keywords=keywords, code_refs=refs), scope=home.scope)
        self.remove(other)
        return saved.item

    def prune(self, max_age_days: int | None = None, *, scope: Scope | None = None) -> MaintenanceResult:
        """Move the items of one home that are beyond an age into its archive; 0 keeps all."""
        limits = Limits(self.settings.knowledge_max_age_days if max_age_days is None else max_age_days)
        home = home_to_write(self.root, scope)
        known = {one.item.id: one for one in self.items() if one.scope == home.scope} if limits.max_age_days else {}
        dates = {id_: one.item.added for id_, one in known.items()}
        done = prune(home, {id_: one.path for id_, one in known.items()}, dates, limits)
        if done.archived:
            with home.locked():
                self._change_list(home, lambda known: known.remove(*done.archived))
        return done

    def archived(self, *, skill: str | None = None, kind: str | None = None) -> Iterator[ListedItem]:
        """The archived items; one that cannot be read is skipped."""
        for home, path in archived(homes(self.root), FOLDER):
            with suppress(OSError, MemoryDamaged):
                item = from_markdown(home.read(ARCHIVE, path), home.path(ARCHIVE, path), id_of(path))
                if _is_wanted(item, skill, kind):
                    yield ListedItem(item, home.scope, path)

    def restore(self, id_: str) -> tuple[str, Scope]:
        """Move an item back from the archive, for good; returns its id and scope."""
        restored = super().restore(id_)
        self.edited(restored[0])
        return restored

    def replace_text(self, home: MemoryHome, path: str, before: str, text: str) -> None:
        """As for any memory; the list follows."""
        super().replace_text(home, path, before, text)
        self.edited(id_of(path))

    def put_back(self, home: MemoryHome, path: str, text: str) -> None:
        """As for any memory; the list follows."""
        super().put_back(home, path, text)
        self.edited(id_of(path))

    def _path_in(self, home: MemoryHome, id_: str) -> str | None:
        for folder in _folders(home):
            path = f"{folder}/{id_}.md"
            if os.path.isfile(home.path(path)) and not os.path.islink(home.path(path)):
                return path
        return None


def _is_wanted(item: KnowledgeItem, skill: str | None, kind: str | None) -> bool:
    return (skill is None or item.skill in ("", skill)) and kind in (None, item.type)


def _urgency(todo: KnowledgeItem) -> tuple[bool, bool, str]:
    return todo.status == "done", not todo.is_due, todo.due or "9999"


def _effective(text: str, where: str, id_: str, entry: dict[str, Any]) -> KnowledgeItem:
    """The item in a file, with the facts of the list unless the file has changed since the list was written."""
    item = from_markdown(text, where, id_)
    if entry.get("hash") != _hash(text):
        return item
    return replace(item_of(entry, item.content, where, id_), code_refs=item.code_refs)


def _path(item: KnowledgeItem) -> str:
    return f"{SKILLS}/{safe_id(item.skill)}/{item.id}.md" if item.skill else f"{GLOBAL}/{item.id}.md"


def _folders(home: MemoryHome) -> list[str]:
    """The folders with items; a skill's folder that is a link is left out."""
    try:
        entries = sorted(os.scandir(home.path(SKILLS)), key=lambda entry: entry.name)
    except OSError:
        entries = []
    return [GLOBAL, *(f"{SKILLS}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False))]


def _entry(item: KnowledgeItem, path: str, text: str) -> dict[str, Any]:
    """The line of the list for an item, whose file has this path and text."""
    return {**facts_of(item), "file": path.removeprefix(f"{FOLDER}/"), "hash": _hash(text)}


def _passage(id_: str, text: str) -> tuple[Record, str]:
    item = from_markdown(text, id_, id_)
    return _record(item, text), item.content


def _record(item: KnowledgeItem, text: str) -> Record:
    """The index record of an item, whose file has this text."""
    from sage_code.memory.index.passages import record_of  # lazy: NumPy

    words = "\n".join((item.id.replace("-", " "), *item.keywords, item.content))
    shown = {**facts_of(item), "preview": item.content[:_PREVIEW_CHARS], "hash": _hash(text)}
    return record_of(item.id, words, names=(item.skill,) if item.skill else (), shown=shown)


def _hash(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())


def threshold_of(kind: str, settings: Settings) -> float:
    """The score from which an item of this type is recalled."""
    return settings.recall_threshold if kind == "knowledge" else THRESHOLDS.get(kind, settings.recall_threshold)


KIND = MemoryKind(FOLDER, _folders, (".md",), _passage)
