"""The blocks of an agent as a page shows them: how full each is, its versions, and what lies between two of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from sage_code.errors import UsageError
from sage_code.memory.tiers.block_xml import in_order
from sage_code.memory.tiers.core_memory import DEFAULT_DESCRIPTIONS
from sage_code.memory.tiers.tables import blocks
from sage_code.views.agents.opened import masked, masked_block

if TYPE_CHECKING:
    from sage_code.memory.tiers.values import Block, BlockEdit
    from sage_code.views.agents.opened import AgentMemory

LineKind: TypeAlias = Literal["same", "added", "removed", "gap"]
# Lines that are shown around a change, and of a history at once.
_CONTEXT_LINES = 3
SHOWN_VERSIONS = 100
# Pairs of lines up to which each is compared with each: 1,000 equal lines would take a second. In longer texts lines
# that are everywhere do not count.
_COMPARED_EXACTLY = 250_000


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference."""

    kind: LineKind
    text: str


@dataclass(frozen=True, slots=True)
class BlockList:
    """All blocks of an agent."""

    blocks: tuple[Block, ...]  # in the order of the prompt
    unwritten: tuple[str, ...]  # labels that every agent has, and that this one has not used yet
    deleted: tuple[BlockEdit, ...]


@dataclass(frozen=True, slots=True)
class BlockHistory:
    """A block with its versions, newest first; None as the block: it was deleted."""

    label: str
    block: Block | None
    versions: tuple[BlockEdit, ...]

    @property
    def version(self) -> int:
        """The number of the last version."""
        return self.versions[0].version if self.versions else 0

    @property
    def can_be_deleted(self) -> bool:
        """Whether an agent can do without this block."""
        return self.block is not None and self.label not in DEFAULT_DESCRIPTIONS


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What lies between a version of a block and the one before it, or the present one."""

    edit: BlockEdit
    other: BlockEdit | None
    lines: tuple[DiffLine, ...]


def block_list(memory: AgentMemory) -> BlockList:
    """The blocks, and those that could be there."""
    core = memory.core()
    found = tuple(map(masked_block, in_order(core.blocks())))
    labels = {block.label for block in found}
    return BlockList(
        found, tuple(label for label in DEFAULT_DESCRIPTIONS if label not in labels), tuple(core.deleted())
    )


def block_history(memory: AgentMemory, label: str) -> BlockHistory:
    """A block, and its last versions; UsageError that names the others if there never was one."""
    core = memory.core()
    versions = core.history(label, SHOWN_VERSIONS)
    block = next((one for one in core.blocks() if one.label == label), None)
    return BlockHistory(label, None if block is None else masked_block(block), tuple(map(_masked, versions)))


def version_change(memory: AgentMemory, label: str, version: int, *, to_now: bool = False) -> VersionChange:
    """What an edit has changed; with `to_now`, what a return to its version would change."""
    with memory.engine.reading() as rows:
        edit = blocks.edit_at(rows, memory.agent.id, label, version)
        if edit is None:
            raise UsageError(f"block {label[:100]} has no version {version}", "its history shows which ones it has")
        last = blocks.edits_of(rows, memory.agent.id, label, 1)[0]
        other = last if to_now else blocks.edit_at(rows, memory.agent.id, label, version - 1)
    edit, other = _masked(edit), None if other is None else _masked(other)
    return VersionChange(edit, other, difference("" if other is None else other.value, edit.value))


def difference(old: str, new: str) -> tuple[DiffLine, ...]:
    """What changes from one text to another, with the lines around it; nothing if they are equal."""
    before, after = _lines(old), _lines(new)
    found: list[DiffLine] = []
    is_short = len(before) * len(after) <= _COMPARED_EXACTLY
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=not is_short)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        if found or group[0][1] > 0:
            found.append(DiffLine("gap", ""))
        for tag, first, last, start, end in group:
            if tag == "equal":
                found += [DiffLine("same", line) for line in before[first:last]]
                continue
            found += [DiffLine("removed", line) for line in before[first:last]]
            found += [DiffLine("added", line) for line in after[start:end]]
        if group[-1][2] < len(before):
            found.append(DiffLine("gap", ""))
    return tuple(one for at, one in enumerate(found) if one.kind != "gap" or not at or found[at - 1].kind != "gap")


def _lines(text: str) -> Sequence[str]:
    return text.split("\n") if text else []


def _masked(edit: BlockEdit) -> BlockEdit:
    return replace(edit, value=masked(edit.value))
