"""The state of a task's session, and the package with which another session goes on: a prompt within a token limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sage_code.errors import UsageError
from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import Component, Keep, Priority
from sage_code.memory.tiers.entry_summaries import cut_to
from sage_code.memory.tiers.tables.entries import MemoryEntry
from sage_code.memory.tiers.values import now
from sage_code.text.fencing import inert, inert_line
from sage_code.text.tokens import count_tokens, fit

# As many characters of a decision are in a prompt; of a step too, where a prompt would be too long.
_ITEM_CHARS = 200
_CUT = "..."
# The objective takes at most a third of a prompt that is too long. Each part may always take a share of what is left,
# so that a long list leaves something for the others.
_OBJECTIVE_SHARE = 1 / 3
_PENDING_SHARE, _DECISION_SHARE, _COMPLETED_SHARE, _SUMMARY_SHARE = 0.45, 0.3, 0.1, 0.15
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
                inert(self.summary),
                "",
                "### Current Objective",
                inert(state.current_objective),
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
    objective = cut_to(inert(state.current_objective), int(left * _OBJECTIVE_SHARE))
    left -= count_tokens(objective)
    has_note = left > 2 * _NOTE_TOKENS
    begun = replace(bare, session_state=replace(empty, current_objective=objective))
    completed, pending = (list(map(_shortened, steps)) for steps in (state.completed_steps, state.pending_steps))
    lines = whole.summary.split("\n")
    built = (
        ContextBuilder(max_tokens - (_NOTE_TOKENS if has_note else 0))
        .add(_part("prompt", Priority.CRITICAL, [begun.to_prompt()]))
        .add(_part("pending", Priority.HIGH, map(_pending_line, pending), _PENDING_SHARE))
        .add(_part("decisions", Priority.HIGH, map(_decision_line, whole.decisions), _DECISION_SHARE, keep="end"))
        .add(_part("completed", Priority.MEDIUM, map(_completed_line, completed), _COMPLETED_SHARE, keep="end"))
        .add(_part("summary", Priority.LOW, map(inert, lines), _SUMMARY_SHARE))
        .build()
    )
    kept = {part.name: part.items_kept for part in built.parts}
    completed = completed[len(completed) - kept["completed"] :]
    decisions = whole.decisions[len(whole.decisions) - kept["decisions"] :]
    left_out = (
        len(state.completed_steps) - len(completed),
        len(pending) - kept["pending"],
        len(whole.decisions) - len(decisions),
    )
    note = _note(*left_out) if has_note else ""
    shown = replace(
        state, current_objective=objective, completed_steps=completed, pending_steps=pending[: kept["pending"]]
    )
    summary = "\n".join([*lines[: kept["summary"]], *([note] if note else [])])
    return replace(whole, session_state=shown, summary=summary, decisions=decisions)


def _part(
    name: str, priority: Priority, lines: Iterable[str], share: float = 0.0, *, keep: Keep = "start"
) -> Component:
    """Lines of the prompt, which has headings instead of elements; they are inert already."""
    return Component(name, priority, list(lines), min_share=share, keep=keep, is_foreign=False)


def _note(completed: int, pending: int, decisions: int) -> str:
    """What is left out, in words; at most `_NOTE_TOKENS`."""
    named = ((completed, "completed steps"), (pending, "pending steps"), (decisions, "decisions"))
    said = ", ".join(f"{count} {what}" for count, what in named if count)
    return f"Not shown: {said}." if said else ""


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _ITEM_CHARS else text[:_ITEM_CHARS].rstrip() + _CUT


def _completed_line(step: str) -> str:
    return f"- ✓ {inert_line(' '.join(step.split()))}"


def _pending_line(step: str) -> str:
    return f"- {inert_line(' '.join(step.split()))}"


def _decision_line(decision: MemoryEntry) -> str:
    return f"- {inert_line(_shortened(decision.content))}"
