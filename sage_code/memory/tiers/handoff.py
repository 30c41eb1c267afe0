"""The state of a task's session, and the package with which another session goes on: a prompt within a token limit."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sage_code.errors import UsageError
from sage_code.memory.tiers.entry_summaries import cut_to
from sage_code.memory.tiers.tables.entries import MemoryEntry
from sage_code.memory.tiers.values import now
from sage_code.text.tokens import count_tokens, fit

# As many characters of a decision are in a prompt; of a step too, where a prompt would be too long.
_ITEM_CHARS = 200
_CUT = "..."
# The objective takes at most a third of a prompt that is too long. Then each part may take a share of what is left, in
# this order, so that a long list leaves something for the others; what nobody has taken is given out once more.
_OBJECTIVE_SHARE = 1 / 3
_PENDING_SHARE, _DECISION_SHARE, _SUMMARY_SHARE, _COMPLETED_SHARE = 1 / 2, 2 / 3, 1 / 2, 1 / 2
# Kept free for the line that says what is left out.
_NOTE_TOKENS = 30


class SessionStatus(StrEnum):
    """What became of a session."""

    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    HANDED_OFF = "handed_off"  # another session goes on with it
    FAILED = "failed"


@dataclass
class SessionState:
    """Everything that another session needs to go on."""

    session_id: str
    task_id: str | None = None
    status: SessionStatus = SessionStatus.ACTIVE
    created_at: datetime = field(default_factory=now)

    current_objective: str = ""
    completed_steps: list[str] = field(default_factory=list)
    pending_steps: list[str] = field(default_factory=list)

    progress_percentage: float = 0.0
    last_action: str = ""
    last_result: str = ""

    # The ids of entries: a text is stored once, and one that is deleted is gone.
    key_decisions: list[str] = field(default_factory=list)
    important_context: list[str] = field(default_factory=list)
    total_tokens_used: int = 0

    resumed_from: str | None = None  # the checkpoint or session that this one goes on from

    def to_json(self) -> dict[str, Any]:
        """The state as JSON knows it."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**known, "status": self.status.value, "created_at": self.created_at.astimezone(UTC).isoformat()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SessionState:
        """A state that was stored; fields that this version does not know are left out."""
        known = {each.name: value[each.name] for each in fields(cls) if each.name in value}
        state = cls(**known)
        state.status = SessionStatus(state.status)
        state.created_at = datetime.fromisoformat(str(value["created_at"])) if "created_at" in value else now()
        for name in ("completed_steps", "pending_steps", "key_decisions", "important_context"):
            setattr(state, name, list(getattr(state, name)))
        return state


@dataclass
class HandoffPackage:
    """What is handed over to a new task."""

    session_state: SessionState  # with the steps that fit
    summary: str
    key_context: list[MemoryEntry]  # oldest first; together with the prompt within the limit
    decisions: list[MemoryEntry]  # oldest first
    continuation_prompt: str  # what `to_prompt` gives
    token_count: int  # of the prompt

    def to_prompt(self) -> str:
        """The prompt with which a new task continues this one."""
        state = self.session_state
        return "\n".join(
            (
                "## Session Continuation",
                "",
                "### Previous Session Summary",
                self.summary,
                "",
                "### Current Objective",
                state.current_objective,
                "",
                "### Completed Steps",
                "\n".join(map(_completed_line, state.completed_steps)),
                "",
                "### Pending Steps",
                "\n".join(map(_pending_line, state.pending_steps)),
                "",
                "### Key Decisions Made",
                "\n".join(map(_decision_line, self.decisions)),
                "",
                "---",
                f"Progress: {state.progress_percentage:.0f}% complete",
                "",
            )
        )


def package(
    state: SessionState,
    summary: str,
    decisions: Sequence[MemoryEntry],
    context: Sequence[MemoryEntry],
    max_tokens: int,
) -> HandoffPackage:
    """A package whose prompt and context have at most `max_tokens`; decisions and context come oldest first.

    What is least important is left out first: context, the end of the summary, old completed steps, old decisions. The
    objective, the next pending steps and the newest decisions are left out last. The summary says what is left out.
    """
    whole = HandoffPackage(state, summary, [], list(decisions), "", 0)
    made = whole if count_tokens(whole.to_prompt()) <= max_tokens else _fitted(whole, max_tokens)
    prompt = made.to_prompt()
    tokens = count_tokens(prompt)
    newest = fit(reversed(context), lambda entry: count_tokens(entry.content), max_tokens - tokens)
    return replace(made, key_context=newest[::-1], continuation_prompt=prompt, token_count=tokens)


def _fitted(whole: HandoffPackage, max_tokens: int) -> HandoffPackage:
    """The package with what fits of its steps, decisions and summary."""
    state = whole.session_state
    empty = replace(state, current_objective="", completed_steps=[], pending_steps=[])
    bare = replace(whole, session_state=empty, summary="", decisions=[])
    left = max_tokens - count_tokens(bare.to_prompt())
    if left < 0:
        raise UsageError(
            f"a handoff does not fit into {max_tokens} tokens", f"allow at least {max_tokens - left}; 4000 is usual"
        )
    objective = cut_to(state.current_objective, int(left * _OBJECTIVE_SHARE))
    left -= count_tokens(objective)
    has_note = left > 2 * _NOTE_TOKENS
    left -= _NOTE_TOKENS if has_note else 0
    pending = _Queue([_shortened(step) for step in state.pending_steps], _pending_line)
    decisions = _Queue(whole.decisions[::-1], _decision_line)
    completed = _Queue([_shortened(step) for step in state.completed_steps[::-1]], _completed_line)
    lines = _Queue(whole.summary.split("\n"), str)
    for queue, share in (
        (pending, _PENDING_SHARE), (decisions, _DECISION_SHARE), (lines, _SUMMARY_SHARE), (completed, _COMPLETED_SHARE),
    ):  # fmt: skip
        left -= queue.take(int(left * share))
    for queue in (pending, decisions, completed, lines):
        left -= queue.take(left)
    note = _note(completed.waiting, pending.waiting, decisions.waiting) if has_note else ""
    summary = "\n".join([*lines.taken, *([note] if note else [])])
    shown = replace(
        state, current_objective=objective, completed_steps=completed.taken[::-1], pending_steps=pending.taken
    )
    return replace(whole, session_state=shown, summary=summary, decisions=decisions.taken[::-1])


class _Queue:
    """Things that wait for room in a prompt, the most important first."""

    def __init__(self, items: Sequence[Any], line: Callable[[Any], str]) -> None:
        self._items, self._line = deque(items), line
        self.taken: list[Any] = []

    @property
    def waiting(self) -> int:
        return len(self._items)

    def take(self, max_tokens: int) -> int:
        """Take what comes next as long as it fits; returns the tokens that it takes."""
        used = 0
        while self._items:
            cost = count_tokens(self._line(self._items[0])) + 1  # with the end of the line
            if used + cost > max_tokens:
                break
            used += cost
            self.taken.append(self._items.popleft())
        return used


def _note(completed: int, pending: int, decisions: int) -> str:
    """What is left out, in words; at most `_NOTE_TOKENS`."""
    named = ((completed, "completed steps"), (pending, "pending steps"), (decisions, "decisions"))
    said = ", ".join(f"{count} {what}" for count, what in named if count)
    return f"Not shown: {said}." if said else ""


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _ITEM_CHARS else text[:_ITEM_CHARS].rstrip() + _CUT


def _completed_line(step: str) -> str:
    return f"- ✓ {' '.join(step.split())}"


def _pending_line(step: str) -> str:
    return f"- {' '.join(step.split())}"


def _decision_line(decision: MemoryEntry) -> str:
    return f"- {_shortened(decision.content)}"
