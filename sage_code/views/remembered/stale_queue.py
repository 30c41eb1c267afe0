"""The stale memories as work: one at a time, with what came before and what comes next.

The queue is made again each time, because what is settled leaves it and code changes meanwhile. How many were settled
on the way comes from the page, so that "3 of 12" stays "of 12".
"""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.changing import kind_named
from sage_code.memory.code.staleness import CheckedMemory
from sage_code.memory.memory import Memory
from sage_code.text.masking import mask
from sage_code.views.remembered.memory_detail import MemoryView, memory_view
from sage_code.views.remembered.memory_states import Health, health_of, states_of

END = "end"
# Of a long queue, so many are listed before and after the current one.
_AROUND = 8


@dataclass(frozen=True, slots=True)
class QueuedMemory:
    """A stale memory in the list of the queue."""

    key: str  # KIND/ID, as `at` names it
    id: str
    title: str
    health: Health | None
    number: int  # of all, from 1


@dataclass(frozen=True, slots=True)
class StaleQueue:
    """The queue at one memory."""

    view: MemoryView | None  # None at its end, or if nothing is stale
    key: str
    number: int  # of the current one, from 1
    total: int  # with those that were settled on the way
    done: int
    left: int  # stale memories that are still there
    before: str  # the key of the one before; empty at the beginning
    after: str  # the key of the next one; `end` after the last
    near: tuple[QueuedMemory, ...]
    was_missed: bool  # the memory that was asked for is not stale any more


def stale_queue(memory: Memory, at: str = "", done: int = 0) -> StaleQueue:
    """The queue at the memory that is called `at`, at its beginning or at its end."""
    found = states_of(memory.root).stale() if memory.root is not None else []
    keys = [_key(one) for one in found]
    done = max(done, 0)
    total = done + len(found)
    if not found or at == END:
        return StaleQueue(None, END, total, total, done, len(found), keys[-1] if keys else "", END, (), False)
    index = keys.index(at) if at in keys else 0
    near = tuple(
        QueuedMemory(keys[number], one.memory.id, mask(one.memory.title)[0], health_of(one.states), done + number + 1)
        for number, one in enumerate(found)
        if abs(number - index) <= _AROUND
    )
    before = keys[index - 1] if index else ""
    after = keys[index + 1] if index + 1 < len(keys) else END
    view = _view(memory, found[index])
    missed = bool(at) and at not in keys
    return StaleQueue(view, keys[index], done + index + 1, total, done, len(found), before, after, near, missed)


def _key(one: CheckedMemory) -> str:
    return f"{one.memory.kind}/{one.memory.id}"


def _view(memory: Memory, one: CheckedMemory) -> MemoryView | None:
    try:
        return memory_view(memory, kind_named(one.memory.kind), one.memory.id)
    except (UsageError, MemoryDamaged, OSError):  # deleted or damaged at this moment
        return None
