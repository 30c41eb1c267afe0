"""SessionContinuity: a task goes on in another session, after a restart, a crash or a full context.

The state of a session is a column of its row, and every change of it is one transaction with the entries that belong
to it: a crash loses nothing that a method has returned from. Several processes may update one session; each change is
made to the state that is stored. A checkpoint is an entry that keeps a state for good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import fields
from typing import TYPE_CHECKING
from uuid import uuid4

from sage_code.errors import UsageError
from sage_code.memory.tiers.entry_store import (
    MemoryEntry,
    MemoryPriority,
    MemoryStore,
    MemoryType,
    checkpoint_entry,
    checkpoint_state,
    prepared,
)
from sage_code.memory.tiers.entry_summaries import condensed
from sage_code.memory.tiers.handoff import HandoffPackage, SessionState, SessionStatus, package
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import entries, sessions
from sage_code.memory.tiers.token_budget import TokenBudget, TokenWarningLevel
from sage_code.memory.tiers.values import now
from sage_code.paths import anybody_listens
from sage_code.text.masking import mask

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Transaction

__all__ = ["HandoffPackage", "SessionContinuity", "SessionState", "SessionStatus"]

# Decisions and context that a caller names are neither pruned nor summarised unasked; conversations are.
_KEPT = MemoryPriority.HIGH
_HANDOFF_TOKENS = 4_000
# The part of a handoff that says what was talked about.
_DIGEST_SHARE = 0.25
_TITLE_CHARS = 100
# So many of the last sessions, with conversations among them, are looked through for those that have a state.
_LOOK_AT = 1_000
_TALK = (MemoryType.CONVERSATION, MemoryType.SUMMARY, MemoryType.ARTIFACT)
_FULL = (TokenWarningLevel.CRITICAL, TokenWarningLevel.OVERFLOW)


class SessionContinuity:
    """Follows one session at a time: its steps, decisions and checkpoints."""

    def __init__(self, store: MemoryStore, budget: TokenBudget | None = None) -> None:
        self.store = store
        self.budget = TokenBudget(store) if budget is None else budget
        self.budget.on_checkpoint(self._checkpoint_of)
        self._current: SessionState | None = None

    @property
    def current(self) -> SessionState | None:
        """The state of the session that is followed; None before the first and after the end of one."""
        return self._current

    def start_session(
        self,
        objective: str,
        steps: Iterable[str] = (),
        task_id: str | None = None,
        resume_from: str | None = None,
    ) -> SessionState:
        """Begin a session and follow it.

        `resume_from` is the id of a checkpoint, or of a session that was cut off: what it has completed, decided and
        left to do is taken over, and steps that it does not know are added. The session that it is of is handed off.
        """
        state = SessionState(str(uuid4()), task_id, current_objective=_clean(objective))
        new = [_clean(step) for step in steps]
        with self.store.writing() as rows:
            if resume_from is not None:
                before = self._saved(rows, resume_from)
                state.current_objective = state.current_objective or before.current_objective
                state.task_id = task_id if task_id is not None else before.task_id
                for name in (
                    "completed_steps", "pending_steps", "key_decisions", "important_context", "last_action",
                    "last_result",
                ):  # fmt: skip
                    setattr(state, name, getattr(before, name))
                state.resumed_from = resume_from
                self._hand_off(rows, before.session_id)
            known = {*state.completed_steps, *state.pending_steps}
            state.pending_steps += [step for step in dict.fromkeys(new) if step not in known]
            self._write(rows, state)
        self._current = state
        return state

    def update_progress(
        self,
        completed_step: str | None = None,
        last_action: str | None = None,
        last_result: str | None = None,
        decision: str | None = None,
        context: str | None = None,
        pending_step: str | None = None,
    ) -> SessionState:
        """Note what was done, decided and learnt, in one transaction; then keep the budget.

        A decision and a context become entries of HIGH priority. A completed step leaves the pending ones; one that was
        not planned is noted too.
        """

        def change(rows: Transaction, state: SessionState) -> None:
            if completed_step is not None:
                step = _clean(completed_step)
                state.pending_steps = [one for one in state.pending_steps if one != step]
                state.completed_steps += [step] if step not in state.completed_steps else []
            if pending_step is not None and (step := _clean(pending_step)) not in state.pending_steps:
                state.pending_steps.append(step)
            if last_action is not None:
                state.last_action = _clean(last_action)
            if last_result is not None:
                state.last_result = _clean(last_result)
            for content, type_, ids in (
                (decision, MemoryType.DECISION, state.key_decisions),
                (context, MemoryType.CONTEXT, state.important_context),
            ):
                if content is not None:
                    entry = MemoryEntry(
                        str(uuid4()), type_, content, _KEPT, session_id=state.session_id, task_id=state.task_id
                    )
                    self.store.insert(rows, prepared(entry))
                    ids.append(entry.id)

        state = self._change(change)
        warning = self.budget.check(state.session_id)
        if warning is not None and warning.level in _FULL:
            self.budget.enforce(state.session_id)
        return state

    def create_checkpoint(self) -> str:
        """Keep the state of the session for good; returns the id of the checkpoint."""
        with self.store.writing() as rows:
            state = self._stored(rows)
            done, steps = len(state.completed_steps), len(state.completed_steps) + len(state.pending_steps)
            said = f"Checkpoint: {_title(state.current_objective)} ({done} of {steps} steps are done)"
            entry = checkpoint_entry(state.to_json(), state.session_id, state.task_id, said)
            self.store.insert(rows, prepared(entry))
        self.budget.has_checkpoint(state.session_id)
        if anybody_listens():
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            publishing.memory_saved("checkpoint", entry.id, "agent", None)
            publishing.checkpoint_created(entry.id, "session", state.session_id, None)
        return entry.id

    def restore(self, checkpoint_id: str) -> SessionState:
        """Put the session of a checkpoint back to the state that it keeps, and follow it. The id of a session follows
        that session as it is."""
        with self.store.writing() as rows:
            state = self._saved(rows, checkpoint_id)
            state.status = SessionStatus.ACTIVE
            self._write(rows, state)
        self._current = state
        return state

    def prepare_handoff(self, max_tokens: int = _HANDOFF_TOKENS) -> HandoffPackage:
        """What another task needs to go on; prompt and context have at most `max_tokens` together."""
        with self.store.engine.reading() as rows:
            state = self._stored(rows)
            found = entries.entries_with_ids(
                rows, self.store.agent.id, [*state.key_decisions, *state.important_context]
            )
            wanted = entries.EntryFilter(session_id=state.session_id, include_summarized=False)
            talk = entries.entries_of(rows, self.store.agent.id, wanted, oldest_first=True)
            said = [entry for entry in talk if entry.type in _TALK]
        done, steps = len(state.completed_steps), len(state.completed_steps) + len(state.pending_steps)
        lines = [f"{done} of {steps} steps are done." if steps else "No steps were planned."]
        lines += [f"Last action: {_one_line(state.last_action)}"] if state.last_action else []
        lines += [f"Last result: {_one_line(state.last_result)}"] if state.last_result else []
        digest = condensed(said, self.budget.summariser, int(max_tokens * _DIGEST_SHARE)) if said else ""
        decisions = [found[id_] for id_ in state.key_decisions if id_ in found]
        context = [found[id_] for id_ in state.important_context if id_ in found]
        return package(state, "\n".join([*lines, *([digest] if digest else [])]), decisions, context, max_tokens)

    def end_session(self, status: SessionStatus = SessionStatus.COMPLETED) -> SessionState:
        """Note what became of the session, and follow it no longer."""
        try:
            known = SessionStatus(status)
        except ValueError as error:
            names = ", ".join(one.value for one in SessionStatus)
            raise UsageError(f"there is no status {str(status)[:80]!r}", f"one of {names}") from error

        def change(_: Transaction, state: SessionState) -> None:
            state.status = known

        state = self._change(change)
        self._current = None
        return state

    def sessions(self, status: SessionStatus | None = None, limit: int = 20) -> list[SessionState]:
        """The sessions that have a state, the last used first: how one that was cut off is found again."""
        with self.store.engine.reading() as rows:
            found = sessions.sessions_of(rows, self.store.agent.id, limit=_LOOK_AT)
        states = [SessionState.from_json(session.state) for session in found if session.state is not None]
        return [state for state in states if status is None or state.status == status][:limit]

    def _change(self, change: Callable[[Transaction, SessionState], None]) -> SessionState:
        """Change the stored state of the session that is followed; `current` is then the same."""
        current = self._followed()
        with self.store.writing() as rows:
            state = self._stored(rows)
            change(rows, state)
            self._write(rows, state)
        for each in fields(state):
            setattr(current, each.name, getattr(state, each.name))
        return current

    def _write(self, rows: Transaction, state: SessionState) -> None:
        """Store a state, with its progress and tokens worked out."""
        agent, when = self.store.agent.id, now()
        done, left = len(state.completed_steps), len(state.pending_steps)
        is_complete = state.status is SessionStatus.COMPLETED and not left
        state.progress_percentage = 100.0 if is_complete else 100.0 * done / (done + left) if done + left else 0.0
        state.total_tokens_used = entries.count_tokens_of(rows, agent, state.session_id)
        number = sessions.make_session(
            rows, agent, state.session_id, when, title=_title(state.current_objective), source="api"
        )
        sessions.set_state(rows, number, state.to_json(), when)

    def _stored(self, rows: Transaction) -> SessionState:
        """The state of the session that is followed, as it is stored."""
        current = self._followed()
        found = sessions.session_of(rows, self.store.agent.id, current.session_id)
        return deepcopy(current) if found is None or found.state is None else SessionState.from_json(found.state)

    def _saved(self, rows: Transaction, id_: str) -> SessionState:
        """The state that a checkpoint keeps, or that a session has."""
        entry = entries.entry_with_id(rows, self.store.agent.id, storable(id_))
        if entry is None:
            session = sessions.session_of(rows, self.store.agent.id, storable(id_))
            if session is not None and session.state is not None:
                return SessionState.from_json(session.state)
        return SessionState.from_json(checkpoint_state(entry, id_))

    def _hand_off(self, rows: Transaction, session_id: str) -> None:
        """Note that another session goes on with one that has not ended."""
        found = sessions.session_of(rows, self.store.agent.id, session_id)
        if found is None or found.state is None:
            return
        state = SessionState.from_json(found.state)
        if state.status in (SessionStatus.ACTIVE, SessionStatus.PAUSED):
            state.status = SessionStatus.HANDED_OFF
            sessions.set_state(rows, found.number, state.to_json(), now())

    def _checkpoint_of(self, session_id: str | None) -> str | None:
        """What the budget calls before it summarises or prunes."""
        current = self._current
        if current is None or session_id not in (None, current.session_id):
            return None
        return self.create_checkpoint()

    def _followed(self) -> SessionState:
        if self._current is None:
            raise UsageError("no session is followed", "call start_session or restore first")
        return self._current


def _clean(text: str) -> str:
    """A text of a state as it is stored: masked, and without signs that cannot be."""
    return storable(mask(text)[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _title(text: str) -> str:
    return _one_line(text)[:_TITLE_CHARS]
