"""MemoryStore: what an agent's tasks remember, as entries with a type and a priority.

Entries are rows of the database that the other tiers use, and belong to one agent of one user; nobody else sees them.
A content is masked and made storable on its way in, and its tokens are counted. A summary stands for other entries:
these stay, are marked, and no longer count; `undo_summary` turns that back. Every method is one transaction, so that
threads and processes may share a store; who updates an entry that somebody else has changed is told (`Conflict`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from sage_code.errors import Conflict, UsageError
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.entry_summaries import condensed
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import entries as table
from sage_code.memory.tiers.tables.entries import EntryFilter, MemoryEntry, MemoryPriority, MemoryType
from sage_code.memory.tiers.values import now
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings
from sage_code.text.masking import mask, mask_all
from sage_code.text.tokens import count_tokens

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Summariser
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction

__all__ = ["PRUNABLE", "MemoryEntry", "MemoryPriority", "MemoryStore", "MemoryType"]

# The highest priority that is pruned or summarised unasked: HIGH "should be kept", and what is above must be.
PRUNABLE = MemoryPriority.NORMAL
# Longer texts carry data; a caller with such a text cuts it into several.
MAX_CHARS = 1_000_000
_MAX_NAME_CHARS = 1_000
_MOST_TOKENS = 2**31 - 1  # what the column holds in PostgreSQL
_LIMIT = 100
# Two updates never have the same time, even if the clock is set back between them.
_TICK = timedelta(microseconds=1)
# A summary has a fifth of the tokens that it stands for: what ten sentences say is mostly in two of them.
_SUMMARY_SHARE = 0.2
# With less than this it would be fragments; but it never has more than half of the tokens.
_LEAST_SUMMARY_TOKENS = 100
# The key of a checkpoint's metadata that holds the state of the session.
_STATE = "state"


class MemoryStore:
    """The entries of one agent of one user.

    `uri` names the database (empty: the user's own file), `agent` and `user` whose entries they are; None and empty
    ones are taken from the settings. An `engine` that is given is shared, and is not closed by `close`.
    """

    def __init__(
        self,
        uri: str | None = None,
        *,
        agent: str = "",
        user: str = "",
        settings: Settings | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.settings = load_settings(None) if settings is None else settings
        self._is_owner = engine is None
        self.engine: Engine = (
            open_engine(self.settings.memory_uri if uri is None else uri) if engine is None else engine
        )
        self.agent = opened_agent(self.engine, self.settings, agent, user)

    def close(self) -> None:
        """Close the database, if this store has opened it."""
        if self._is_owner:
            self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        entry: MemoryEntry | str,
        type: MemoryType = MemoryType.CONTEXT,  # noqa: A002 - the name of the field
        priority: MemoryPriority = MemoryPriority.NORMAL,
        session_id: str | None = None,
        task_id: str | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryEntry:
        """Store an entry, or a content with these fields. An entry that is given becomes what is stored."""
        if isinstance(entry, str):
            entry = MemoryEntry(
                str(uuid4()), type, entry, priority, session_id=session_id, task_id=task_id, tags=list(tags),
                metadata=dict(metadata or {}),
            )  # fmt: skip
        stored = prepared(entry)
        with self.writing() as rows:
            self.insert(rows, stored)
        return _become(entry, stored)

    def get(self, id: str) -> MemoryEntry | None:  # noqa: A002 - the name of the field
        """The entry with this id."""
        with self.engine.reading() as rows:
            return table.entry_with_id(rows, self.agent.id, storable(id))

    def get_all(self, ids: Sequence[str]) -> list[MemoryEntry]:
        """The entries with these ids that are there, in the order of the ids."""
        with self.engine.reading() as rows:
            found = table.entries_with_ids(rows, self.agent.id, [storable(id_) for id_ in ids])
        return [found[id_] for id_ in ids if id_ in found]

    def update(self, entry: MemoryEntry) -> MemoryEntry:
        """Replace an entry that was read or added; it becomes what is stored.

        The tokens of a new content are counted unless they are changed too. Raises `Conflict` if somebody else has
        updated the entry since.
        """
        known = entry.updated_at.astimezone(UTC)
        stored = replace(prepared(entry), updated_at=max(now(), known + _TICK))
        with self.writing() as rows:
            before = table.entry_with_id(rows, self.agent.id, stored.id)
            if before is None:
                raise _missing(entry.id)
            if stored.content != before.content and stored.tokens == before.tokens:
                stored.tokens = count_tokens(stored.content)
            if not table.replace_entry(rows, self.agent.id, stored, known):
                raise Conflict(
                    f"the entry {entry.id} has been updated at {before.updated_at:%Y-%m-%d %H:%M:%S}",
                    "get it again and repeat the change",
                )
        return _become(entry, stored)

    def delete(self, id: str) -> bool:  # noqa: A002 - the name of the field
        """Delete an entry; False if there is none. The entries that a deleted summary stood for count again."""
        with self.writing() as rows:
            entry = table.entry_with_id(rows, self.agent.id, storable(id))
            if entry is None:
                return False
            table.delete_entries(rows, self.agent.id, [entry.id])
            if not entry.is_summarized:
                table.mark_summarized(rows, self.agent.id, entry.summary_of, False, now())
        return True

    def query(
        self,
        type: MemoryType | None = None,  # noqa: A002 - the name of the field
        session_id: str | None = None,
        task_id: str | None = None,
        tags: Iterable[str] | None = None,
        min_priority: MemoryPriority | None = None,
        text: str | None = None,
        since: datetime | None = None,
        include_summarized: bool = True,
        limit: int | None = _LIMIT,
        *,
        max_priority: MemoryPriority | None = None,
        oldest_first: bool = False,
    ) -> list[MemoryEntry]:
        """The entries for which all of this is true, newest first: they have all of the tags, and each word of the
        text, in any case. A limit of None is none."""
        wanted = EntryFilter(
            None if type is None else _type(type),
            session_id,
            task_id,
            tuple(tags or ()),
            min_priority,
            max_priority,
            storable(text or ""),
            since,
            include_summarized,
        )
        with self.engine.reading() as rows:
            return list(islice(table.entries_of(rows, self.agent.id, wanted, oldest_first=oldest_first), limit))

    def total_tokens(self, session_id: str | None = None) -> int:
        """The tokens of all entries, or those of a session. An entry that a summary stands for does not count."""
        with self.engine.reading() as rows:
            return table.count_tokens_of(rows, self.agent.id, session_id)

    def summarise(
        self,
        entries: Iterable[MemoryEntry | str],
        summariser: Summariser | None = None,
        *,
        max_tokens: int | None = None,
    ) -> MemoryEntry:
        """Store a summary that stands for entries (or ids of entries), which stay and no longer count.

        It has the highest of their priorities, all of their tags, and their session and task if these are the same.
        """
        ids = list(dict.fromkeys(entry if isinstance(entry, str) else entry.id for entry in entries))
        originals = self.get_all(ids)
        missing = {*ids} - {entry.id for entry in originals if not entry.is_summarized}
        if not ids or missing:
            what = f"{len(missing)} of the entries are not there, or are summarised" if ids else "no entry is given"
            raise UsageError(what, "summarise entries that query(include_summarized=False) gives")
        originals.sort(key=lambda entry: (entry.created_at, entry.id))
        tokens = sum(one.tokens for one in originals)
        most = max(int(tokens * _SUMMARY_SHARE), min(_LEAST_SUMMARY_TOKENS, tokens // 2))
        content = condensed(originals, summariser, most if max_tokens is None else max_tokens)
        sessions, tasks = ({getattr(one, name) for one in originals} for name in ("session_id", "task_id"))
        summary = prepared(
            MemoryEntry(
                str(uuid4()), MemoryType.SUMMARY, content, max(one.priority for one in originals),
                session_id=sessions.pop() if len(sessions) == 1 else None,
                task_id=tasks.pop() if len(tasks) == 1 else None,
                tags=sorted({tag for one in originals for tag in one.tags}),
                summary_of=[one.id for one in originals],
            )
        )  # fmt: skip
        # A summariser may take long, so it has run outside of the transaction.
        with self.writing() as rows:
            if table.mark_summarized(rows, self.agent.id, summary.summary_of, True, now()) != len(originals):
                raise Conflict("somebody else has summarised or deleted some of the entries", "query them again")
            self.insert(rows, summary)
        return summary

    def undo_summary(self, id: str) -> list[MemoryEntry]:  # noqa: A002 - the name of the field
        """Delete a summary; the entries that it stood for, which are returned, count again."""
        with self.writing() as rows:
            summary = table.entry_with_id(rows, self.agent.id, storable(id))
            if summary is None or not summary.summary_of:
                raise UsageError(f"there is no summary {id[:80]!r}", "query(type=MemoryType.SUMMARY) lists them")
            if summary.is_summarized:
                raise UsageError(f"the summary {id} is part of another one", "undo that one first")
            table.delete_entries(rows, self.agent.id, [summary.id])
            table.mark_summarized(rows, self.agent.id, summary.summary_of, False, now())
            found = table.entries_with_ids(rows, self.agent.id, summary.summary_of)
        return [found[id_] for id_ in summary.summary_of if id_ in found]

    def prune(self, max_tokens: int, session_id: str | None = None) -> list[MemoryEntry]:
        """Delete entries until the others have at most `max_tokens`, or none is left that may be deleted.

        The lowest priority goes first, then the oldest entry; what is above `PRUNABLE` is never deleted. A summary goes
        with what it stands for. Returns what was deleted, without what summaries stood for.
        """
        gone: list[MemoryEntry] = []
        with self.writing() as rows:
            total = table.count_tokens_of(rows, self.agent.id, session_id)
            if total <= max_tokens:
                return []
            wanted = EntryFilter(session_id=session_id, max_priority=PRUNABLE, include_summarized=False)
            found = table.entries_of(rows, self.agent.id, wanted, oldest_first=True)
            doomed: list[str] = []
            for entry in sorted(found, key=lambda entry: entry.priority):
                if total <= max_tokens:
                    break
                below = self._stands_for(rows, entry)
                if all(one.priority <= PRUNABLE for one in below):
                    gone.append(entry)
                    doomed += [entry.id, *(one.id for one in below)]
                    total -= entry.tokens
            table.delete_entries(rows, self.agent.id, doomed, max_priority=PRUNABLE)
        return gone

    def save_checkpoint(
        self, state: Mapping[str, Any], session_id: str | None = None, task_id: str | None = None, content: str = ""
    ) -> str:
        """Keep the state of a session for good; returns the id of the checkpoint."""
        return self.add(checkpoint_entry(state, session_id, task_id, content)).id

    def load_checkpoint(self, id: str) -> dict[str, Any]:  # noqa: A002 - the name of the field
        """The state that a checkpoint keeps."""
        with self.engine.reading() as rows:
            return checkpoint_state(table.entry_with_id(rows, self.agent.id, storable(id)), id)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction during which nobody else changes what belongs to the agent."""
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            yield rows

    def insert(self, rows: Transaction, entry: MemoryEntry) -> None:
        """Store an entry that is `prepared`, as a part of a transaction."""
        if not table.insert_entry(rows, self.agent.id, entry):
            raise UsageError(
                f"there is an entry {entry.id[:80]!r} already", "update it, or give the new one another id"
            )

    def _stands_for(self, rows: Transaction, summary: MemoryEntry) -> list[MemoryEntry]:
        """The entries that a summary stands for, with those that summaries among them stand for."""
        found: dict[str, MemoryEntry] = {}
        ids = summary.summary_of
        while ids:
            new = table.entries_with_ids(rows, self.agent.id, [id_ for id_ in ids if id_ not in found])
            found |= new
            ids = [id_ for entry in new.values() for id_ in entry.summary_of if id_ not in found]
        return [entry for entry in found.values() if entry.id != summary.id]


def prepared(entry: MemoryEntry) -> MemoryEntry:
    """A copy of an entry as it is stored: masked, storable, counted. UsageError if it cannot be stored."""
    if not entry.id:
        raise UsageError("an entry needs an id", "give it any text that no other entry has")
    if len(entry.content) > MAX_CHARS:
        raise UsageError(f"an entry has at most {MAX_CHARS:,} characters", "cut it into several")
    content = storable(mask(entry.content)[0])
    tokens = entry.tokens or count_tokens(content)
    if not 0 <= tokens <= _MOST_TOKENS:
        raise UsageError(f"an entry cannot have {tokens} tokens", "leave them out to have them counted")
    try:
        priority = MemoryPriority(entry.priority)
    except ValueError as error:
        known = ", ".join(f"{one.name} ({one.value})" for one in MemoryPriority)
        raise UsageError(f"there is no priority {entry.priority}", f"one of {known}") from error
    return MemoryEntry(
        id=_name(entry.id),
        type=_type(entry.type),
        content=content,
        priority=priority,
        tokens=tokens,
        created_at=entry.created_at.astimezone(UTC),
        updated_at=entry.updated_at.astimezone(UTC),
        session_id=None if entry.session_id is None else _name(entry.session_id),
        task_id=None if entry.task_id is None else _name(entry.task_id),
        tags=[storable(mask(str(tag))[0]) for tag in entry.tags],
        metadata=_nested(entry.metadata),
        is_summarized=bool(entry.is_summarized),
        summary_of=[storable(str(id_)) for id_ in entry.summary_of],
    )


def checkpoint_entry(
    state: Mapping[str, Any], session_id: str | None, task_id: str | None, content: str = ""
) -> MemoryEntry:
    """An entry that keeps the state of a session in its metadata; its content says what it is."""
    text = content or f"Checkpoint of the session {session_id or 'of no name'}"
    permanent = MemoryPriority.PERMANENT
    return MemoryEntry(
        str(uuid4()), MemoryType.CHECKPOINT, text, permanent, session_id=session_id, task_id=task_id,
        metadata={_STATE: dict(state)},
    )  # fmt: skip


def checkpoint_state(entry: MemoryEntry | None, id_: str) -> dict[str, Any]:
    """The state that a checkpoint keeps; UsageError if the entry is none."""
    state = entry.metadata.get(_STATE) if entry is not None and entry.type is MemoryType.CHECKPOINT else None
    if not isinstance(state, dict):
        raise UsageError(
            f"there is no checkpoint {id_[:80]!r}", "query(type=MemoryType.CHECKPOINT) lists the checkpoints"
        )
    return state


def _become(entry: MemoryEntry, stored: MemoryEntry) -> MemoryEntry:
    """Let the caller's entry say what is stored, so that the next update of it is none of an old state."""
    for each in fields(stored):
        setattr(entry, each.name, getattr(stored, each.name))
    return entry


def _type(given: MemoryType | str) -> MemoryType:
    try:
        return MemoryType(given)
    except ValueError as error:
        known = ", ".join(one.value for one in MemoryType)
        raise UsageError(f"there is no type of entries {str(given)[:80]!r}", f"one of {known}") from error


def _name(text: str) -> str:
    if len(text) > _MAX_NAME_CHARS:
        raise UsageError(f"an id has at most {_MAX_NAME_CHARS} characters", "give a shorter one")
    return storable(text)


def _missing(id_: str) -> UsageError:
    return UsageError(f"there is no entry {id_[:80]!r}", "it may be deleted, or another agent's; add it")


def _nested(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata as JSON knows it, masked and storable."""
    try:
        plain = json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"metadata must be JSON: {error}", "write times and objects as texts") from error
    masked: dict[str, Any] = _storable(mask_all(plain, []))
    return masked


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(name): _storable(one) for name, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list) else value
