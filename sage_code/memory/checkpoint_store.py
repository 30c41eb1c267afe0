"""Saves, finds, lists, searches, archives and deletes checkpoints of a project's home and of the user's.

The project's home comes first. Two saves never share a file, also not from two processes at the same moment.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files.archive import FOLDER as ARCHIVE
from sage_code.memory.files.archive import archived
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_id import new_id
from sage_code.memory.files.checkpoint_text import from_markdown, from_yaml, to_markdown
from sage_code.memory.files.homes import MemoryHome, home_to_write, homes, id_of, safe_id
from sage_code.memory.files.maintenance import Limits, MaintenanceResult, id_time, prune
from sage_code.memory.index.memory_index import MemoryIndex, MemoryKind
from sage_code.memory.notices import Notices
from sage_code.memory.stored_memories import StoredMemories, check_unchanged
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.index.passages import Floats, Passages, Record
    from sage_code.memory.recall.memory_search import FoundMemory

FOLDER = "checkpoints"
_SUFFIXES = (".md", ".yaml")
# A new thesis is compared with so many of the newest: an old conclusion may be repeated.
RECENT = 20
# Two saves of the same words within this time are one save that was sent twice.
_SAME_MOMENT = timedelta(seconds=2)
_SAME_FIELDS = ("thesis", "core_question", "trigger")


@dataclass(frozen=True, slots=True)
class SimilarCheckpoint:
    """An older checkpoint that says nearly the same."""

    id: str
    similarity: float


class Repeated(Exception):  # noqa: N818 - an outcome, not an error
    """Nothing was saved, because the checkpoint `similar` already says the same."""

    def __init__(self, similar: SimilarCheckpoint) -> None:
        super().__init__(similar.id)
        self.similar = similar


def now() -> str:
    """The current time in the format of checkpoints."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class CheckpointStore(StoredMemories):
    """The checkpoints of a project and of its user."""

    def __init__(self, root: str | None, settings: Settings, notices: Notices | None = None) -> None:
        super().__init__(KIND, root, settings, notices)

    def save(
        self,
        checkpoint: Checkpoint,
        *,
        body: str | None = None,
        scope: Scope | None = None,
        vector: Floats | None = None,
        unless_similar: float | None = None,
    ) -> Checkpoint:
        """Write a new checkpoint; returns it with its id.

        Raises Repeated if the same words were saved within the last seconds, or, with `unless_similar`, if the
        similarity of a recent thesis reaches that value.
        """
        home = home_to_write(self.root, scope)
        checkpoint = replace(checkpoint, ts=checkpoint.ts or now())
        wanted = safe_id(checkpoint.id) if checkpoint.id else new_id(checkpoint)
        home.prepare(FOLDER)
        memory_index = self.memory_index(home)
        with home.locked():
            # Under the lock, so that the second of two equal saves sees the first.
            if (repeated := self._repeated(memory_index, checkpoint, vector, unless_similar)) is not None:
                raise Repeated(repeated)
            id_, number = wanted, 1
            while any(os.path.lexists(home.path(FOLDER, id_ + suffix)) for suffix in _SUFFIXES):
                number += 1
                id_ = f"{wanted}-{number}"
            saved = replace(checkpoint, id=id_)
            home.write(to_markdown(saved, body), FOLDER, f"{id_}.md")
            memory_index.saved(f"{FOLDER}/{id_}.md", record_of_checkpoint(saved), saved.thesis, vector)
        if anybody_listens():
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            publishing.memory_saved("checkpoint", id_, home.scope, self.root)
            publishing.checkpoint_created(id_, saved.trigger, str(saved.fields.get("session", "")), self.root)
        return saved

    def _repeated(
        self, memory_index: MemoryIndex, checkpoint: Checkpoint, vector: Floats | None, unless_similar: float | None
    ) -> SimilarCheckpoint | None:
        """A checkpoint with the same words from the last seconds, or a recent one with a similar thesis; else None."""
        passages = memory_index.indexed_passages()
        # A save with an id of its own is meant to be a separate checkpoint.
        for id_ in () if checkpoint.id else heapq.nlargest(RECENT, passages.row_of):
            shown = passages.records[passages.row_of[id_]].shown
            if all(shown.get(name) == getattr(checkpoint, name) for name in _SAME_FIELDS) and _is_same_moment(
                str(shown.get("ts")), checkpoint.ts
            ):
                return SimilarCheckpoint(id_, 1.0)
        if unless_similar is None or vector is None:
            return None
        near = _nearest(passages, vector)
        return near if near is not None and near.similarity >= unless_similar else None

    def load(self, id_: str) -> Checkpoint:
        """The checkpoint with this id, or the only one whose id contains it, to be shown."""
        home, path = self.find(id_)
        return self._shown(home, path)

    def _shown(self, home: MemoryHome, path: str) -> Checkpoint:
        """The checkpoint in a file, with what plugins change about it."""
        if not anybody_listens():
            return _read(home, path)
        from sage_code.memory.files.plugged_loading import load  # lazy: most users have no plugins

        def parse(text: str) -> Checkpoint:
            is_old = path.endswith(".yaml") and not _is_markdown(text)
            return (from_yaml if is_old else from_markdown)(text, home.path(path), id_of(path))

        timeout_ms = self.settings.load_timeout_ms
        return load(FOLDER, path, home.read, parse, folder=f"{FOLDER}/", timeout_ms=timeout_ms)

    def find(self, id_: str) -> tuple[MemoryHome, str]:
        """The home of a checkpoint, and its path relative to the home."""
        wanted = safe_id(id_)
        candidates: list[tuple[MemoryHome, str]] = []
        for home in homes(self.root):
            for suffix in _SUFFIXES:
                path = f"{FOLDER}/{wanted}{suffix}"
                if os.path.isfile(home.path(path)) and not os.path.islink(home.path(path)):
                    return home, path
            candidates += [(home, f"{FOLDER}/{name}") for name in _names(home) if wanted in id_of(name)]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            some = ", ".join(id_of(path) for _, path in candidates[:5])
            raise UsageError(f"{len(candidates)} checkpoints are called like {wanted}", f"name one of them: {some}")
        raise UsageError(f"there is no checkpoint {wanted}", "`sage checkpoint list` shows them")

    def newest(self, *, skill: str = "") -> Iterator[tuple[Checkpoint, Scope]]:
        """Checkpoints, newest first, all or those of a skill; a file is read only when the iterator reaches it."""
        files = [(name, home) for home in homes(self.root) for name in _names(home)]
        for name, home in sorted(files, key=lambda file: file[0].rpartition(".")[0], reverse=True):
            try:
                found = self._shown(home, f"{FOLDER}/{name}")
            except FileNotFoundError:
                continue
            except MemoryDamaged as error:
                self.notices.add(error.message)
                continue
            if skill in ("", found.skill):
                yield found, home.scope

    def remove(self, id_: str, *, before: str | None = None) -> str:
        """Delete a checkpoint's file; returns its id. The index follows by itself.

        Conflict if `before` is given and is not its text any more.
        """
        home, path = self.find(id_)
        with home.locked():
            if before is not None:
                check_unchanged(home, path, before)
            home.remove(path)
        return id_of(path)

    def search(self, question: str, limit: int = 5) -> list[FoundMemory]:
        """The checkpoints that are about a question, best first."""
        from sage_code.memory.recall.memory_search import search_memories  # lazy: NumPy

        if anybody_listens():
            found = self._plugged_search(question, limit)
        else:
            found = search_memories(self.memory_indexes, question, limit, self.settings)
        for memory_index in self.memory_indexes:
            for why in memory_index.damaged.values():
                self.notices.add(why)
        return found

    def _plugged_search(self, question: str, limit: int) -> list[FoundMemory]:
        """The same with what plugins change about it."""
        from sage_code.memory.recall import memory_search  # lazy: NumPy
        from sage_code.memory.recall.plugged import Results, asked

        plugged = asked(FOLDER, question, {}, limit, lambda text, _: memory_search.check_question(text))
        found = memory_search.search_memories(self.memory_indexes, plugged.question, plugged.limit, self.settings)
        results = Results[memory_search.FoundMemory](
            FOLDER,
            lambda one: one.id,
            lambda one: {"score": round(one.score, 4), **one.shown, "scope": one.scope},
            lambda one, score, notes: replace(one, score=score, plugins=notes),
            lambda id_: memory_search.found_by_id(self.memory_indexes, id_),
        )
        return results.answered(plugged, found, limit)

    def nearest_thesis(self, thesis: str, scope: Scope | None = None) -> tuple[SimilarCheckpoint | None, Floats]:
        """The most similar thesis among the newest of the home that is written to, and the vector of `thesis`."""
        memory_index = self.memory_index(home_to_write(self.root, scope))
        vector = memory_index.embed([thesis])[0]
        return _nearest(memory_index.passages(), vector) if thesis.strip() else None, vector

    def prune(self, limits: Limits, scope: Scope | None = None) -> MaintenanceResult:
        """Move the checkpoints of one home that are beyond the limits into its archive."""
        home = home_to_write(self.root, scope)
        memory_index = self.memory_index(home)
        paths = memory_index.paths()
        if not paths or not (limits.max_age_days or 0 < limits.max_count < len(paths)):
            return MaintenanceResult(total_remaining=len(paths))
        passages = memory_index.passages()
        triggers = {id_: passages.records[row].shown.get("trigger") for id_, row in passages.row_of.items()}
        spared = [id_ for id_ in paths if triggers.get(id_, "manual") == "manual"]
        done = prune(home, paths, {id_: id_time(id_) or _written(home, paths[id_]) for id_ in paths}, limits, spared)
        if done.archived:
            memory_index.passages()  # removes them from the index
        return done

    def archived(self, *, skill: str = "") -> Iterator[tuple[Checkpoint, Scope]]:
        """The archived checkpoints, newest first; a file that cannot be read is skipped."""
        for home, path in archived(homes(self.root), FOLDER):
            with suppress(OSError, MemoryDamaged):
                found = _read(home, f"{ARCHIVE}/{path}")
                if skill in ("", found.skill):
                    yield found, home.scope


def _nearest(passages: Passages, vector: Floats) -> SimilarCheckpoint | None:
    """The most similar thesis among the newest checkpoints."""
    import numpy as np  # lazy: loading and listing need no vectors

    recent = heapq.nlargest(RECENT, passages.row_of)
    rows = [passages.row_of[id_] for id_ in recent]
    if not rows:
        return None
    similarities = passages.vectors[rows] @ vector
    top = int(np.argmax(similarities))
    return SimilarCheckpoint(recent[top], float(min(similarities[top], 1.0)))


def _is_same_moment(earlier: str, later: str) -> bool:
    try:
        passed = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):  # not a time, or a time without a zone
        return earlier == later
    return abs(passed) <= _SAME_MOMENT


def _written(home: MemoryHome, path: str) -> str:
    try:
        return datetime.fromtimestamp(os.lstat(home.path(path)).st_mtime, UTC).isoformat()
    except (OSError, OverflowError, ValueError):
        return ""


def record_of_checkpoint(checkpoint: Checkpoint) -> Record:
    """The index record of a checkpoint."""
    from sage_code.memory.index.passages import record_of  # lazy: NumPy

    texts = [checkpoint.core_question, checkpoint.thesis, *checkpoint.key_evidence, checkpoint.reasoning_trace]
    texts += [*checkpoint.open_questions, *(f"{source.id} {source.take}" for source in checkpoint.sources)]
    texts += [f"{tension.nature} {tension.resolution}" for tension in checkpoint.tensions]
    texts += [one.content for one in checkpoint.unique_contributions] + [text for _, text in checkpoint.notes]
    texts += [*checkpoint.fields.values(), *checkpoint.files_changed, checkpoint.action_goal]
    names = tuple(name for name in (checkpoint.skill, os.path.basename(checkpoint.project)) if name)
    shown = {name: getattr(checkpoint, name) for name in ("core_question", "thesis", "confidence", "trigger", "ts")}
    return record_of(checkpoint.id, "\n".join(texts), follows=checkpoint.parent, names=names, shown=shown)


def _read(home: MemoryHome, path: str) -> Checkpoint:
    parse = from_yaml if path.endswith(".yaml") else from_markdown
    return parse(home.read(path), home.path(path), id_of(path))


def _passage(id_: str, text: str) -> tuple[Record, str]:
    checkpoint = from_markdown(text, id_, id_) if _is_markdown(text) else from_yaml(text, id_, id_)
    return record_of_checkpoint(checkpoint), checkpoint.thesis


def _is_markdown(text: str) -> bool:
    """Whether a file begins like Markdown: then it is not in the old format, even if it is called `.yaml`."""
    return text.lstrip("\ufeff").startswith(("---", "#"))


def _names(home: MemoryHome) -> list[str]:
    """The names of a home's files; if a checkpoint is there in both formats, only its Markdown file."""
    try:
        found = {name for name in os.listdir(home.path(FOLDER)) if name.endswith(_SUFFIXES)}
    except OSError:
        return []
    return [name for name in found if name.endswith(".md") or id_of(name) + ".md" not in found]


KIND = MemoryKind(FOLDER, lambda _: (FOLDER,), _SUFFIXES, _passage)
