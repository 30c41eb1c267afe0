"""The façade of memory for the faces: checkpoints, knowledge, recall and the state of code references of a project.

A save adds the code of the session, masks secrets, applies the template, and archives what is beyond the limits. No
text is written unmasked unless the caller allows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from sage_code.errors import UsageError
from sage_code.memory.checkpoint_store import CheckpointStore, Repeated, SimilarCheckpoint, now
from sage_code.memory.files import templates
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_text import ITEMS, bounded
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.homes import home_to_write
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.files.maintenance import Limits, MaintenanceResult
from sage_code.memory.knowledge_recall import Recaller
from sage_code.memory.knowledge_store import KnowledgeStore, SavedKnowledge
from sage_code.memory.notices import Notices
from sage_code.memory.save_policy import Judgement, refusal_for_confidence, refusal_for_depth, trigger_named
from sage_code.settings.table import Settings
from sage_code.values import Scope

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState

_MAX_TEXT_CHARS = 200_000
_MAX_ITEMS = 500
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The result of saving a checkpoint."""

    checkpoint: Checkpoint | None  # None if it was not saved
    judgement: Judgement
    masked: tuple[str, ...] = ()  # the kinds of secrets that were masked
    similar: SimilarCheckpoint | None = None
    maintenance: MaintenanceResult = field(default_factory=MaintenanceResult)


class Memory:
    """The memory of a project and its user; without a project, of the user alone."""

    def __init__(self, root: str | None, settings: Settings) -> None:
        self.root, self.settings = root, settings
        self.notices = Notices()  # for the faces to show
        self.checkpoints = CheckpointStore(root, settings, self.notices)
        self.knowledge = KnowledgeStore(root, settings, self.notices)
        self.recaller = Recaller(self.knowledge)

    def save_checkpoint(
        self,
        given: Mapping[str, Any],
        *,
        autosave: bool = False,
        auto_code_context: bool = True,
        allow_secret: bool = False,
        scope: Scope | None = None,
    ) -> SavedCheckpoint:
        """Save a checkpoint that a person or an agent describes.

        With `autosave` it is saved only if it is confident enough for its trigger and its thesis is new.
        """
        checkpoint = checkpoint_of({**given, "code_refs": self._refs(given.get("code_refs"))})
        trigger = trigger_named(checkpoint.trigger)
        checkpoint = replace(checkpoint, trigger=trigger, project=checkpoint.project or self._project_name(scope))
        refusal = refusal_for_depth(trigger, checkpoint.message_count, checkpoint.token_estimate, self.settings)
        if autosave:
            refusal = refusal_for_confidence(trigger, checkpoint.confidence) or refusal
        if refusal is not None:
            return SavedCheckpoint(None, refusal)
        if auto_code_context and self.root is not None:
            checkpoint = with_code_context(self.root, checkpoint, self.notices)
        masked: list[str] = []
        if not allow_secret:
            checkpoint = _without_secrets(checkpoint, masked)
        similar, vector = self.checkpoints.nearest_thesis(checkpoint.thesis, scope)
        body = None
        if checkpoint.template:
            body = templates.render(templates.load(checkpoint.template), checkpoint)
        unless_similar = self.settings.dedup_threshold if autosave else None
        try:
            saved = self.checkpoints.save(
                checkpoint, body=body, scope=scope, vector=vector, unless_similar=unless_similar
            )
        except Repeated as repeated:
            similar = repeated.similar
            why = f"its thesis is that of {similar.id} ({similar.similarity:.0%})"
            return SavedCheckpoint(None, Judgement("duplicate", why), tuple(masked), similar)
        done = self.tidy_checkpoints(scope) if self.settings.maintenance_on_save else MaintenanceResult()
        return SavedCheckpoint(saved, Judgement("save", "kept"), tuple(masked), similar, done)

    def _refs(self, given: Sequence[Any] | None) -> tuple[CodeRef, ...]:
        if not given:
            return ()
        from sage_code.memory.code.named_refs import resolve_refs  # lazy: the parser

        return resolve_refs(self.root, given)

    def _project_name(self, scope: Scope | None) -> str:
        """The project's name in a checkpoint: the path of its root in the user's home, which has many projects."""
        if self.root is None:
            return ""
        return self.root if home_to_write(self.root, scope).scope == "user" else os.path.basename(self.root)

    def save_knowledge(
        self, item: KnowledgeItem, *, refs: Sequence[Any] = (), allow_secret: bool = False, scope: Scope | None = None
    ) -> tuple[SavedKnowledge, tuple[str, ...]]:
        """Save an item about the code that `refs` name; returns the result and the kinds of masked secrets."""
        masked: list[str] = []
        if refs:
            item = replace(item, code_refs=self._refs(refs))
        if len(item.content) > _MAX_TEXT_CHARS:
            raise UsageError(f"the text has more than {_MAX_TEXT_CHARS:,} characters", "shorten it")
        if not allow_secret:
            item = _without_secrets(item, masked)
        saved = self.knowledge.save(item, scope=scope)
        if self.settings.maintenance_on_save and self.settings.knowledge_max_age_days:
            saved = replace(saved, maintenance=self.knowledge.prune(scope=scope))
        return saved, tuple(masked)

    def add_todo(
        self,
        text: str,
        *,
        id_: str = "",
        due: str = "",
        keywords: tuple[str, ...] = (),
        refs: Sequence[Any] = (),
        allow_secret: bool = False,
        scope: Scope | None = None,
    ) -> tuple[SavedKnowledge, tuple[str, ...]]:
        """Save a todo; without an id it gets one from its first words."""
        wanted = id_ or self.knowledge.unused_id("-".join(re.findall(r"[a-z0-9]+", text.lower())[:6]) or "todo", text)
        item = KnowledgeItem(wanted, text, "todo", keywords, due=due)
        return self.save_knowledge(item, refs=refs, allow_secret=allow_secret, scope=scope)

    def tidy_checkpoints(self, scope: Scope | None = None, limits: Limits | None = None) -> MaintenanceResult:
        """Archive the checkpoints of one home that are beyond `limits`, or beyond those of the settings."""
        if limits is None:
            limits = Limits(self.settings.checkpoint_max_age_days, self.settings.checkpoint_max_count)
        return self.checkpoints.prune(limits, scope)

    def ref_states(self, memory: Checkpoint | KnowledgeItem) -> tuple[RefState, ...]:
        """The state of each reference of a memory: whether its code has moved, changed or gone."""
        if not memory.code_refs or self.root is None:
            return ()
        from sage_code.memory.code.check import Checker  # lazy: the parser
        from sage_code.memory.code.referring_memories import title_of

        if isinstance(memory, Checkpoint):
            kind, text = "checkpoint", memory.thesis
        else:
            kind, text = "knowledge", memory.content
        return Checker(self.root).judge(kind, memory.id, title_of(text), memory.code_refs)

    def rebuild(self) -> dict[str, int]:
        """Embed all memories again; returns their number by kind."""
        return {
            "checkpoints": sum(memory_index.rebuild() for memory_index in self.checkpoints.memory_indexes),
            "knowledge": sum(memory_index.rebuild() for memory_index in self.knowledge.memory_indexes),
        }

    @cached_property
    def model(self) -> str:
        """The name of the embedding model."""
        from sage_code.memory.index.prose_embedder import prose_embedder  # lazy: NumPy

        return prose_embedder(self.settings).name


def checkpoint_of(given: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint from named values, which may be missing; lists may hold texts or mappings.

    References to code must be `CodeRef` already.
    """
    question, thesis = _text(given, "core_question"), _text(given, "thesis")
    if not thesis.strip():
        raise UsageError("a checkpoint needs a thesis", "say in a sentence or two what you concluded")
    values: dict[str, Any] = {name: tuple(map(make, _several(given, name))) for name, make in ITEMS.items()}
    for name in ("key_evidence", "open_questions"):
        values[name] = tuple(str(item) for item in _several(given, name))
    for name in ("reasoning_trace", "action_goal", "action_type", "skill", "project", "parent", "template"):
        values[name] = _text(given, name)
    for name in ("files_explored", "files_changed"):
        values[name] = frozenset(str(item) for item in _several(given, name))
    refs = tuple(ref for ref in _several(given, "code_refs") if isinstance(ref, CodeRef))
    fields = given.get("fields") or {}
    if not isinstance(fields, Mapping):
        raise UsageError("`fields` must be a mapping of names to texts", "see `sage templates show NAME`")
    return Checkpoint(
        id=_text(given, "id"),
        ts=_text(given, "ts") or now(),
        core_question=question,
        thesis=thesis,
        confidence=bounded(float(given.get("confidence") or 0)),
        trigger=_text(given, "trigger") or "manual",
        message_count=max(int(given.get("message_count") or 0), 0),
        token_estimate=max(int(given.get("token_estimate") or 0), 0),
        code_refs=refs,
        fields={str(key): str(value) for key, value in fields.items()},
        **values,
    )


def with_code_context(root: str, checkpoint: Checkpoint, notices: Notices) -> Checkpoint:
    """The checkpoint with the files and code of the current session, if it has a transcript."""
    from sage_code.memory.code.capture import capture  # lazy: the parser
    from sage_code.transcripts.code_context import session_context

    context = session_context(root)
    if context is None:
        return checkpoint
    if context.corrupt:
        notices.add(f"{context.corrupt} damaged lines of the session's transcript were left out")
    return replace(
        checkpoint,
        files_explored=checkpoint.files_explored | _inside(root, context.files_read),
        files_changed=checkpoint.files_changed | _inside(root, context.files_changed),
        code_refs=checkpoint.code_refs or capture(root, context),
    )


def _without_secrets(value: _Value, masked: list[str]) -> _Value:
    from sage_code.text.masking import mask_all  # lazy: dozens of patterns that reading does not need

    return mask_all(value, masked)


def _inside(root: str, files: frozenset[str]) -> frozenset[str]:
    """The files that are inside the project, relative to its root; a transcript may name others."""
    base = os.path.join(os.path.realpath(root), "")
    resolved = (os.path.realpath(file) for file in files)
    return frozenset(file.removeprefix(base).replace(os.sep, "/") for file in resolved if file.startswith(base))


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    text = value if isinstance(value, str) else "" if value is None else str(value)
    if len(text) > _MAX_TEXT_CHARS:
        raise UsageError(f"{name} has more than {_MAX_TEXT_CHARS:,} characters", "shorten it")
    # A lone surrogate cannot be written as UTF-8.
    return text.encode("utf-8", "replace").decode()


def _several(given: Mapping[str, Any], name: str) -> list[Any]:
    value = given.get(name)
    items = list(value) if isinstance(value, list | tuple | set | frozenset) else [value] if value else []
    if len(items) > _MAX_ITEMS:
        raise UsageError(f"{name} has more than {_MAX_ITEMS} items", "shorten it")
    return items
