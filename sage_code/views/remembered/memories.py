"""The memories of a project as a page shows them: in a list by day or by relevance, and each one whole.

A list reads only the files of its page, however many memories there are: when a checkpoint was made is in its name, and
the facts of knowledge are in its list. Secrets are masked in everything that leaves this module.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files.homes import MemoryHome, homes
from sage_code.memory.files.maintenance import id_time
from sage_code.text.masking import mask, mask_all
from sage_code.values import Scope
from sage_code.views.remembered.memory_states import Health, MemoryStates, health_of, states_of

if TYPE_CHECKING:
    from sage_code.memory.files.checkpoint import Checkpoint
    from sage_code.memory.files.code_ref import CodeRef
    from sage_code.memory.files.knowledge import KnowledgeItem
    from sage_code.memory.memory import Memory

TABS = ("all", "checkpoints", "knowledge", "todos")
ROWS_A_PAGE = 30
# A search shows no more: what comes after that has little to do with the question.
_MAX_FOUND = 60
_MIN_SCORE = 0.15
_MAX_KEYWORDS = 16
_MAX_TITLE_CHARS = 200
_MAX_TEXT_CHARS = 280
# What of a list may be spent on comparing memories with the code; the page asks for the rest by itself.
_STATE_SECONDS = 0.08


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """What of all memories is wanted."""

    tab: str = "all"
    text: str = ""
    state: str = ""  # holds, moved, changed or gone; empty: any
    keyword: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory in a list."""

    kind: str  # checkpoint | knowledge
    id: str
    when: str  # ISO 8601, a time or a day; empty if it is not known
    what: str  # what happened then: concluded, noted, to do, done
    scope: Scope
    title: str = ""
    text: str = ""
    type: str = ""
    keywords: tuple[str, ...] = ()
    status: str = ""
    due: str = ""
    is_due: bool = False
    confidence: float | None = None
    score: float | None = None  # of a search
    health: Health | None = None  # of its code; None: about no code
    is_checked: bool = True  # otherwise its health is not known yet
    refs: int = 0
    problem: str = ""  # why it cannot be read

    @property
    def day(self) -> str:
        """The day of `when`."""
        return self.when[:10]


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a list."""

    rows: tuple[MemoryRow, ...]
    total: int
    page: int
    pages: int
    counts: dict[str, int]  # by tab, of all memories
    keywords: tuple[tuple[str, int], ...]  # those of the most items, and of how many
    notices: tuple[str, ...] = ()

    @property
    def days(self) -> list[tuple[str, list[MemoryRow]]]:
        """The rows by day, in their order."""
        found: dict[str, list[MemoryRow]] = {}
        for row in self.rows:
            found.setdefault(row.day, []).append(row)
        return list(found.items())


def memory_page(memory: Memory, query: MemoryQuery) -> MemoryPage:
    """The memories that a query wants, the newest first or, for a question, the best."""
    rows = {(row.kind, row.id): row for row in _all_rows(memory)}
    counts = {tab: sum(_is_in(tab, row) for row in rows.values()) for tab in TABS}
    keywords = Counter(word for row in rows.values() if _is_in(query.tab, row) for word in row.keywords)
    found = [row for row in rows.values() if _is_in(query.tab, row) and query.keyword in ("", *row.keywords)]
    if query.state and memory.root is not None:
        health = {(one.memory.kind, one.memory.id): health_of(one.states) for one in states_of(memory.root).all()}
        found = [row for row in found if health.get((row.kind, row.id)) == query.state]
    if query.text.strip():
        scores = _scores(memory, query.text)
        found = [replace(row, score=scores[row.kind, row.id]) for row in found if (row.kind, row.id) in scores]
        found.sort(key=lambda row: -(row.score or 0))
    elif query.tab == "todos":
        found.sort(key=lambda row: (row.status == "done", not row.is_due, row.due or "9999", row.id))
    else:
        found.sort(key=lambda row: (row.when, row.id), reverse=True)
    pages = max(1, -(-len(found) // ROWS_A_PAGE))
    page = min(max(query.page, 1), pages)
    shown = found[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]
    most = tuple(keywords.most_common(_MAX_KEYWORDS))
    rows_shown = tuple(_filled(memory, shown))
    return MemoryPage(rows_shown, len(found), page, pages, counts, most, tuple(memory.notices.take()))


def memory_health(memory: Memory, kind: str, id_: str) -> Health | None:
    """The health of one memory, however long that takes; None if it is about no code or cannot be read."""
    store = memory.checkpoints if kind == "checkpoint" else memory.knowledge
    scope = store.find(id_)[0].scope
    _, refs = _read(memory, MemoryRow(kind, id_, "", "", scope))
    return health_of(states_of(memory.root).of(refs)) if memory.root is not None else None


def _is_in(tab: str, row: MemoryRow) -> bool:
    """Whether a tab shows a memory."""
    wanted: dict[str, Callable[[], bool]] = {
        "checkpoints": lambda: row.kind == "checkpoint",
        "knowledge": lambda: row.kind == "knowledge" and row.type != "todo",
        "todos": lambda: row.type == "todo",
    }
    return wanted[tab]() if tab in wanted else True


def _all_rows(memory: Memory) -> Iterator[MemoryRow]:
    """Every memory, without anything that only its file has."""
    seen: set[str] = set()
    for home in homes(memory.root):
        for id_, path in memory.checkpoints.memory_index(home).paths().items():
            if id_ not in seen:
                seen.add(id_)
                yield MemoryRow("checkpoint", id_, id_time(id_) or _written(home, path), "concluded", home.scope)
    for known in memory.knowledge.items():
        item = known.item
        is_todo, is_done = item.type == "todo", item.status == "done"
        what = "noted" if not is_todo else "done" if is_done else "to do"
        when = item.done if is_done and item.done else item.added
        facts: dict[str, Any] = {"type": item.type, "keywords": item.keywords, "status": item.status, "due": item.due}
        yield MemoryRow("knowledge", item.id, when, what, known.scope, is_due=item.is_due, **facts)


def _filled(memory: Memory, rows: Sequence[MemoryRow]) -> Iterator[MemoryRow]:
    """The rows with what their files say, and with the health of their code as far as there is time."""
    read = [_read(memory, row) for row in rows]
    states = _states(memory)
    found = states.within((refs for _, refs in read), _STATE_SECONDS) if states is not None else [()] * len(read)
    for (row, refs), checked in zip(read, found, strict=True):
        health = health_of(checked) if checked else None
        shown: dict[str, Any] = {"keywords": mask_all(row.keywords, []), "problem": mask(row.problem)[0]}
        yield replace(row, health=health, is_checked=checked is not None, refs=len(refs), **shown)


def _states(memory: Memory) -> MemoryStates | None:
    return states_of(memory.root) if memory.root is not None else None


def _read(memory: Memory, row: MemoryRow) -> tuple[MemoryRow, tuple[CodeRef, ...]]:
    """A row with its title and its text, and the references of the memory to this project's code."""
    try:
        if row.kind == "checkpoint":
            found = memory.checkpoints.load(row.id)
            title, text = found.thesis or found.core_question, found.core_question if found.thesis else ""
            row = replace(row, when=found.ts or row.when, confidence=found.confidence)
            refs = refs_here(memory, found, row.scope)
        else:
            item = memory.knowledge.load(row.id)
            title, _, text = item.content.strip().partition("\n")
            refs = refs_here(memory, item, row.scope)
    except (OSError, MemoryDamaged) as error:
        return replace(row, problem=str(error)), ()
    title, text = mask(title)[0], mask(text)[0]  # before they are cut: a part of a secret is not recognised
    return replace(row, title=_short(title.lstrip("# "), _MAX_TITLE_CHARS), text=_short(text, _MAX_TEXT_CHARS)), refs


def refs_here(memory: Memory, found: Checkpoint | KnowledgeItem, scope: Scope) -> tuple[CodeRef, ...]:
    """The references of a memory that are about this project: the user's own memories are about many."""
    if memory.root is None:
        return ()
    project = getattr(found, "project", "")
    is_here = scope == "project" or project in (memory.root, os.path.realpath(memory.root))
    return found.code_refs if is_here else ()


def _scores(memory: Memory, question: str) -> dict[tuple[str, str], float]:
    """The memories that are about a question, with their scores; none if it has no words."""
    from sage_code.memory.recall.memory_search import search_memories  # lazy: NumPy

    found: dict[tuple[str, str], float] = {}
    try:
        checkpoints = memory.checkpoints.search(question, _MAX_FOUND)
        items = search_memories(memory.knowledge.memory_indexes, question, _MAX_FOUND, memory.settings)
    except UsageError:
        return {}
    for kind, several in (("checkpoint", checkpoints), ("knowledge", items)):
        found |= {(kind, one.id): one.score for one in several if one.score >= _MIN_SCORE}
    return found


def _written(home: MemoryHome, path: str) -> str:
    """When a file was last written."""
    try:
        return datetime.fromtimestamp(os.lstat(home.path(path)).st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OSError, OverflowError, ValueError):
        return ""


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rpartition(" ")[0] + " …"
