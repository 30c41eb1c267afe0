"""One memory as a page shows it: its facts, its text in sections, and its code then and now. Secrets are masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.memory.changing import Kind, earlier, stored
from sage_code.memory.code.referring_memories import title_of
from sage_code.memory.files.checkpoint_text import SECTIONS
from sage_code.memory.files.kept import KeptVersion
from sage_code.text.masking import mask, mask_all
from sage_code.values import Scope
from sage_code.views.remembered.memories import refs_here
from sage_code.views.remembered.memory_states import HEALTH, Health, health_of, states_of

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.files.checkpoint import Checkpoint
    from sage_code.memory.files.code_ref import CodeRef
    from sage_code.memory.files.knowledge import KnowledgeItem
    from sage_code.memory.memory import Memory


@dataclass(frozen=True, slots=True)
class RefView:
    """A reference of a memory, with what has become of its code."""

    file: str
    first: int  # 0: the whole file
    last: int
    symbol: str
    health: Health
    relevance: str
    now_file: str  # where its code is now; empty if it is gone
    now_first: int
    now_last: int
    diff: tuple[str, ...]  # of changed code, in lines that begin with +, - or a blank
    snippet: str  # what the code said when the memory was written


@dataclass(frozen=True, slots=True)
class MemoryView:
    """One memory."""

    kind: Kind
    id: str
    title: str
    question: str  # of a checkpoint
    when: str
    type: str
    status: str
    due: str
    is_due: bool
    scope: Scope
    where: str  # its file
    version: str
    facts: tuple[tuple[str, str], ...]
    keywords: tuple[str, ...]
    sections: tuple[tuple[str, str], ...]  # heading (may be empty) and Markdown
    parent: str
    refs: tuple[RefView, ...]
    health: Health | None
    is_elsewhere: bool  # it is about code of another project
    earlier: tuple[KeptVersion, ...]

    @property
    def is_stale(self) -> bool:
        """Whether some of its code has changed or is gone."""
        return self.health in ("changed", "gone")


def memory_view(memory: Memory, kind: Kind, id_: str) -> MemoryView:
    """The memory with exactly this id; UsageError if there is none, MemoryDamaged if it cannot be read."""
    file = stored(memory, kind, id_)
    scope = file.home.scope
    found: Checkpoint | KnowledgeItem
    if kind == "checkpoint":
        found = checkpoint = memory.checkpoints.load(id_)
        facts, sections = _of_checkpoint(checkpoint)
        title, question = checkpoint.thesis or checkpoint.core_question, checkpoint.core_question
        texts = title, question if checkpoint.thesis else "", checkpoint.ts
        status = "checkpoint", "", "", False
    else:
        found = item = memory.knowledge.load(id_)
        facts, sections = _of_item(item)
        texts = title_of(item.content), "", item.added
        status = item.type, item.status, item.due, item.is_due
    refs = refs_here(memory, found, scope)
    states = states_of(memory.root).of(refs) if memory.root is not None and refs else ()
    title, question, when = mask_all(texts, [])
    return MemoryView(
        kind,
        id_,
        " ".join(title.split()),
        question,
        when,
        *status,
        scope,
        file.where,
        file.version,
        mask_all(facts, []),
        mask_all(getattr(found, "keywords", ()), []),
        mask_all(sections, []),
        getattr(found, "parent", ""),
        ref_views(states),
        health_of(states),
        len(found.code_refs) > len(refs),
        tuple(earlier(memory, kind, id_)),
    )


def ref_views(states: Sequence[RefState]) -> tuple[RefView, ...]:
    """References with their states for a page; their code is masked."""
    return tuple(_ref_view(state) for state in states)


def _ref_view(state: RefState) -> RefView:
    """One reference, without the line numbers of its diff: they count from the quotation, not from the file."""
    ref, now = state.ref, state.now
    diff = mask(state.diff)[0].split("\n") if state.diff else []
    return RefView(
        ref.file,
        *_span(ref),
        ref.symbol,
        HEALTH[state.state],
        ref.relevance,
        now.file if now else "",
        *(_span(now) if now else (0, 0)),
        tuple(line for line in diff if not line.startswith("@@")),
        mask(ref.snippet or "")[0],
    )


def _span(ref: CodeRef) -> tuple[int, int]:
    return ref.lines or (0, 0)


def _of_checkpoint(found: Checkpoint) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """The facts and the sections of a checkpoint."""
    facts = [
        ("Sure", f"{found.confidence:.0%}" if found.confidence else ""),
        ("Saved because", found.trigger),
        ("Goal", found.action_goal),
        ("Kind of work", found.action_type),
        ("Skill", found.skill),
        ("Project", found.project),
        ("Template", found.template),
        ("Files changed", ", ".join(sorted(found.files_changed))),
        ("Files read", ", ".join(sorted(found.files_explored))),
    ]
    sections = [
        (heading, value if isinstance(value, str) else write(value))
        for heading, field, write, _ in SECTIONS
        if (value := getattr(found, field))
    ]
    sections += [(name.replace("_", " ").capitalize(), text) for name, text in found.fields.items()]
    sections += list(found.notes)
    return tuple((name, value) for name, value in facts if value), tuple(sections)


def _of_item(item: KnowledgeItem) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """The facts and the sections of an item."""
    facts = [
        ("Status", item.status),
        ("Due", item.due),
        ("Done", item.done),
        ("Source", item.source),
        ("Skill", item.skill),
    ]
    return tuple((name, value) for name, value in facts if value), (("", item.content),)
