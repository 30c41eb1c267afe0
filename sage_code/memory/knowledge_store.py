"""Knowledge on the disk: one Markdown file an item, a list of them all, and what of it belongs to a question.

Items lie in `knowledge/global/`, those of a skill in `knowledge/skills/<skill>/`. The project's own come first, then
the user's; of two with one id the nearer is meant. What looks like a repeat or a contradiction of something known is
said, and merged only when somebody asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import xxhash

from sage_code.errors import Busy, MemoryDamaged, UsageError
from sage_code.files.locks import locked
from sage_code.memory.files.archive import FOLDER as ARCHIVE
from sage_code.memory.files.archive import archived, find_archived, restore
from sage_code.memory.files.homes import MemoryHome, home_to_write, homes, safe_id
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
from sage_code.memory.index.memory_index import MemoryIndex, MemoryKind
from sage_code.memory.notices import Notices
from sage_code.settings.table import Settings
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.index.passages import Record

GLOBAL, SKILLS = f"{FOLDER}/global", f"{FOLDER}/skills"
_PATIENCE_S = 30.0
_PREVIEW_CHARS = 300


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item as a list shows it: everything but its text."""

    item: KnowledgeItem  # its content is empty, or the beginning of it
    scope: Scope
    path: str  # below the home


@dataclass(frozen=True, slots=True)
class SavedKnowledge:
    """What saving has done."""

    item: KnowledgeItem
    scope: Scope
    replaced: bool
    alike: tuple[SimilarItem, ...]
    maintenance: MaintenanceResult = field(default_factory=MaintenanceResult)


class KnowledgeStore:
    """The knowledge that a project sees: its own, and the user's."""

    def __init__(self, root: str | None, settings: Settings, notices: Notices | None = None) -> None:
        self.root, self.settings = root, settings
        self._memory_indexes: dict[MemoryHome, MemoryIndex] = {}
        self._lists: dict[MemoryHome, KnowledgeList] = {}
        self.notices = Notices() if notices is None else notices

    @property
    def memory_indexes(self) -> list[MemoryIndex]:
        """Every home that is looked at, nearest first."""
        return [self.memory_index(home) for home in homes(self.root)]

    def memory_index(self, home: MemoryHome) -> MemoryIndex:
        """What is searched in a home."""
        if home not in self._memory_indexes:
            self._memory_indexes[home] = MemoryIndex(home, KIND, self.settings)
        return self._memory_indexes[home]

    def knowledge_list(self, home: MemoryHome) -> KnowledgeList:
        """The list of a home."""
        if home not in self._lists:
            self._lists[home] = KnowledgeList(home, self.settings.knowledge_cache_ttl_seconds)
        return self._lists[home]

    def entries(self, home: MemoryHome) -> dict[str, dict[str, Any]]:
        """What the list of a home says of its items; a damaged list is rebuilt from their files."""
        try:
            return self.knowledge_list(home).entries()
        except MemoryDamaged as error:
            try:
                home.prepare(FOLDER)
                with locked(home.lock, timeout_s=_PATIENCE_S):
                    self._rebuild_list(home, error)
            except (OSError, Busy, UsageError):
                self._rebuild_list(home, error)  # a home that cannot be written to is read all the same
            return self.knowledge_list(home).entries()

    def _listing(self, home: MemoryHome, change: Callable[[KnowledgeList], None]) -> None:
        """Change the list of a home, whose lock the caller holds; a damaged one is rebuilt first."""
        try:
            change(self.knowledge_list(home))
        except MemoryDamaged as error:
            self._rebuild_list(home, error)
            change(self.knowledge_list(home))

    def _rebuild_list(self, home: MemoryHome, error: MemoryDamaged) -> None:
        entries, sound = {}, self.knowledge_list(home).sound_entries()
        for id_, path in self.memory_index(home).paths().items():
            try:
                text = home.read(*path.split("/"))
                item = from_markdown(text, home.path(path), id_)
            except FileNotFoundError:
                continue
            except MemoryDamaged as damaged:
                self.notices.add(damaged.message)
                continue
            own = {**facts_of(item), "file": path.removeprefix(f"{FOLDER}/"), "hash": _hash(text)}
            # A line about the file as it is now may say more: somebody may have edited the list.
            entries[id_] = sound[id_] if sound.get(id_, {}).get("hash") == own["hash"] else own
        self.knowledge_list(home).rebuild(entries)
        self.notices.add(f"{error.message}: the list was rebuilt from the {len(entries)} items' own files")

    def save(self, item: KnowledgeItem, *, scope: Scope | None = None) -> SavedKnowledge:
        """Keep an item, in place of the one with the same id if there is one."""
        item = checked(replace(item, id=safe_id(item.id), added=item.added or today()))
        if item.type == "todo" and not item.status:
            item = replace(item, status="pending")
        home = home_to_write(self.root, scope)
        memory_index = self.memory_index(home)
        vector = memory_index.embed([item.content])[0]
        from sage_code.memory.recall.similar_items import similar_items  # lazy: NumPy

        similar = similar_items([memory_index], item, vector, self.settings.dedup_threshold)
        path = _path(item)
        home.prepare(os.path.dirname(path))
        with locked(home.lock, timeout_s=_PATIENCE_S):
            before = self._path_in(home, item.id)
            text = to_markdown(item)
            home.write(text, *path.split("/"))
            if before is not None and before != path:
                home.remove(before)
            entry = {**facts_of(item), "file": path.removeprefix(f"{FOLDER}/"), "hash": _hash(text)}
            self._listing(home, lambda known: known.put(entry))
            record, meaning = _passage(item.id, text)
            memory_index.saved(path, record, meaning, vector)
        return SavedKnowledge(item, home.scope, before is not None, tuple(similar))

    def load(self, id_: str) -> KnowledgeItem:
        """The item with this id."""
        home, path = self.find(id_)
        entry = self.entries(home).get(safe_id(id_), {})
        return _effective(home.read(*path.split("/")), home.path(path), safe_id(id_), entry)

    def find(self, id_: str) -> tuple[MemoryHome, str]:
        """Where an item's file is: the home, and the path below it."""
        wanted = safe_id(id_)
        for home in homes(self.root):
            path = self._path_in(home, wanted)
            if path is not None:
                return home, path
        import difflib  # lazy: only needed after a slip

        close = difflib.get_close_matches(wanted, [known.item.id for known in self.items()], n=1)
        raise UsageError(
            f"nothing known is called {wanted}", f"did you mean {close[0]}?" if close else "`sage knowledge list`"
        )

    def unused_id(self, wanted: str, content: str) -> str:
        """An id that no item has, or whose item says exactly this."""
        first = id_ = safe_id(wanted)
        number = 1
        while any(self._path_in(home, id_) for home in homes(self.root)):
            with suppress(MemoryDamaged):
                if self.load(id_).content == content:
                    break
            number += 1
            id_ = f"{first}-{number}"
        return id_

    def items(self, *, skill: str | None = None, kind: str | None = None) -> Iterator[ListedItem]:
        """Everything that is known, by id; with `skill` what is known to everybody and to that skill."""
        seen: set[str] = set()
        for home in homes(self.root):
            entries, written_at = self.entries(home), self.knowledge_list(home).written_at()
            for id_, path in self.memory_index(home).paths().items():
                if id_ in seen:
                    continue
                seen.add(id_)
                try:
                    entry = entries.get(id_)
                    is_listed = entry is not None and os.lstat(home.path(path)).st_mtime_ns <= written_at
                    item = _listed(home, path, id_, entry or {}, is_listed)
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

    def remove(self, id_: str) -> str:
        """Delete an item; its id."""
        home, path = self.find(id_)
        with locked(home.lock, timeout_s=_PATIENCE_S):
            home.remove(path)
            self._listing(home, lambda known: known.remove(safe_id(id_)))
        return safe_id(id_)

    def edited(self, id_: str) -> KnowledgeItem:
        """Take over what somebody has changed in an item's file; MemoryDamaged when it cannot be read any more."""
        home, path = self.find(id_)
        text = home.read(*path.split("/"))
        item = from_markdown(text, home.path(path), safe_id(id_))
        with locked(home.lock, timeout_s=_PATIENCE_S):
            entry = {**facts_of(item), "file": path.removeprefix(f"{FOLDER}/"), "hash": _hash(text)}
            self._listing(home, lambda known: known.put(entry))
        return item

    def finish(self, id_: str) -> KnowledgeItem:
        """Mark a todo as done."""
        item = self.load(id_)
        if item.type != "todo":
            raise UsageError(f"{item.id} is no todo but {item.type}", "`sage todo list` shows the todos")
        home, _ = self.find(id_)
        return self.save(replace(item, status="done", done=today()), scope=home.scope).item

    def merge(self, keep: str, other: str) -> KnowledgeItem:
        """Put what two items say into the first, and remove the second."""
        first, second = self.load(keep), self.load(other)
        if first.id == second.id:
            raise UsageError("an item cannot be merged with itself", "name two")
        content = first.content if second.content in first.content else f"{first.content}\n\n{second.content}"
        keywords = tuple(dict.fromkeys((*first.keywords, *second.keywords)))
        refs = tuple(dict.fromkeys((*first.code_refs, *second.code_refs)))
        home, _ = self.find(keep)
        saved = self.save(replace(first, content=content, keywords=keywords, code_refs=refs), scope=home.scope)
        self.remove(other)
        return saved.item

    def prune(self, max_age_days: int | None = None, *, scope: Scope | None = None) -> MaintenanceResult:
        """Move items beyond an age into the archive of the home that is written to; 0 keeps everything."""
        limits = Limits(self.settings.knowledge_max_age_days if max_age_days is None else max_age_days)
        home = home_to_write(self.root, scope)
        known = {one.item.id: one for one in self.items() if one.scope == home.scope} if limits.max_age_days else {}
        dates = {id_: one.item.added for id_, one in known.items()}
        done = prune(home, {id_: one.path for id_, one in known.items()}, dates, limits)
        if done.archived:
            with locked(home.lock, timeout_s=_PATIENCE_S):
                self._listing(home, lambda known: known.remove(*done.archived))
        return done

    def archived(self, *, skill: str | None = None, kind: str | None = None) -> Iterator[ListedItem]:
        """The archived items; one that cannot be read is skipped."""
        for home in homes(self.root):
            for path in archived(home, FOLDER):
                with suppress(OSError, MemoryDamaged):
                    text = home.read(ARCHIVE, *path.split("/"))
                    item = from_markdown(text, home.path(ARCHIVE, path), os.path.splitext(os.path.basename(path))[0])
                    if _is_wanted(item, skill, kind):
                        yield ListedItem(item, home.scope, path)

    def restore(self, id_: str) -> tuple[str, Scope]:
        """Take an item back from the archive, for good; its id and where it is."""
        home, path = find_archived(homes(self.root), FOLDER, id_)
        restored = restore(home, path)
        self.edited(restored)
        return restored, home.scope

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


def _listed(home: MemoryHome, path: str, id_: str, entry: dict[str, Any], is_listed: bool) -> KnowledgeItem:
    """An item without its text when the list knows it, and was written after its file."""
    if is_listed:
        return item_of(entry, "", path, id_)
    return _effective(home.read(*path.split("/")), home.path(path), id_, entry)


def _effective(text: str, where: str, id_: str, entry: dict[str, Any]) -> KnowledgeItem:
    """The file's text with the list's facts, or with its own when it has changed since the list was written."""
    item = from_markdown(text, where, id_)
    if entry.get("hash") != _hash(text):
        return item
    return replace(item_of(entry, item.content, where, id_), code_refs=item.code_refs)


def _path(item: KnowledgeItem) -> str:
    return f"{SKILLS}/{safe_id(item.skill)}/{item.id}.md" if item.skill else f"{GLOBAL}/{item.id}.md"


def _folders(home: MemoryHome) -> list[str]:
    """Where items lie; a skill's folder that is a link is none."""
    try:
        entries = sorted(os.scandir(home.path(SKILLS)), key=lambda entry: entry.name)
    except OSError:
        entries = []
    return [GLOBAL, *(f"{SKILLS}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False))]


def _passage(id_: str, text: str) -> tuple[Record, str]:
    from sage_code.memory.index.passages import record_of  # lazy: NumPy

    item = from_markdown(text, id_, id_)
    said = "\n".join((id_.replace("-", " "), *item.keywords, item.content))
    shown = {**facts_of(item), "preview": item.content[:_PREVIEW_CHARS], "hash": _hash(text)}
    return record_of(id_, said, names=(item.skill,) if item.skill else (), shown=shown), item.content


def _hash(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())


def threshold_of(kind: str, settings: Settings) -> float:
    """What a score must reach for an item of this type."""
    return settings.recall_threshold if kind == "knowledge" else THRESHOLDS.get(kind, settings.recall_threshold)


KIND = MemoryKind(FOLDER, _folders, (".md",), _passage)
