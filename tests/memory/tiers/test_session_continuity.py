"""SessionContinuity: progress that outlives its process, checkpoints, and handoffs within a token limit."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_ids import new_uuid

from sage_code.errors import UsageError
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.entry_store import MemoryEntry, MemoryPriority, MemoryStore, MemoryType
from sage_code.memory.tiers.handoff import package
from sage_code.memory.tiers.session_continuity import (
    HandoffPackage,
    SessionContinuity,
    SessionState,
    SessionStatus,
)
from sage_code.memory.tiers.token_budget import TokenBudget, TokenBudgetConfig, TokenWarning, TokenWarningLevel
from sage_code.settings.table import Settings
from sage_code.text.tokens import count_tokens

SETTINGS = Settings(embedding_model="hashing")
STEPS = ["Design events", "Implement EventBus", "Add tests"]


def _store(engine: Engine, agent: str = "sage") -> MemoryStore:
    return MemoryStore(agent=agent, user="ann", settings=SETTINGS, engine=engine)


@pytest.fixture
def store(engine: Engine) -> MemoryStore:
    return _store(engine)


@pytest.fixture
def continuity(store: MemoryStore) -> SessionContinuity:
    return SessionContinuity(store, TokenBudget(store))


def _texts(continuity: SessionContinuity, ids: list[str]) -> list[str]:
    return [entry.content for entry in continuity.store.get_all(ids)]


def test_a_session_starts(continuity: SessionContinuity) -> None:
    assert continuity.current is None
    session = continuity.start_session("Build it", STEPS, task_id="t")
    assert continuity.current is session
    assert (session.status, session.task_id, session.current_objective) == (SessionStatus.ACTIVE, "t", "Build it")
    assert (session.completed_steps, session.pending_steps, session.progress_percentage) == ([], STEPS, 0.0)
    assert continuity.sessions() == [session]


def test_progress_is_noted(continuity: SessionContinuity) -> None:
    session = continuity.start_session("Build it", STEPS, task_id="t")
    assert continuity.update_progress(
        completed_step="Design events", last_action="Wrote types", last_result="42 types", decision="Use Protocol",
        context="The bus is asynchronous", pending_step="Write docs",
    ) is session  # fmt: skip
    assert session.completed_steps == ["Design events"]
    assert session.pending_steps == ["Implement EventBus", "Add tests", "Write docs"]
    assert (session.last_action, session.last_result) == ("Wrote types", "42 types")
    assert session.progress_percentage == 25.0
    (decision,) = continuity.store.get_all(session.key_decisions)
    assert (decision.type, decision.content) == (MemoryType.DECISION, "Use Protocol")
    assert (decision.priority, decision.session_id, decision.task_id) == (MemoryPriority.HIGH, session.session_id, "t")
    (context,) = continuity.store.get_all(session.important_context)
    assert (context.type, context.content) == (MemoryType.CONTEXT, "The bus is asynchronous")
    assert session.total_tokens_used == decision.tokens + context.tokens
    continuity.update_progress(completed_step="Design events")  # a second time
    continuity.update_progress(completed_step="Not planned")
    assert session.completed_steps == ["Design events", "Not planned"]
    assert session.progress_percentage == 40.0


def test_a_crash_loses_nothing(engine: Engine, continuity: SessionContinuity) -> None:
    session = continuity.start_session("Build it", STEPS)
    continuity.update_progress(completed_step="Design events", decision="Use Protocol")
    del continuity  # the process has ended without a checkpoint
    after = SessionContinuity(_store(engine))
    assert after.sessions(SessionStatus.ACTIVE) == [session]
    assert after.restore(session.session_id) == session
    resumed = after.start_session("", resume_from=session.session_id)
    assert (resumed.current_objective, resumed.completed_steps) == ("Build it", ["Design events"])


def test_a_state_that_cannot_be_written_leaves_no_decision_behind(
    continuity: SessionContinuity, monkeypatch: pytest.MonkeyPatch
) -> None:
    continuity.start_session("Build it", STEPS)

    def fail(*_: object, **__: object) -> int:
        raise RuntimeError("no power")

    monkeypatch.setattr("sage_code.memory.tiers.session_continuity.sessions.set_state", fail)
    with pytest.raises(RuntimeError):
        continuity.update_progress(completed_step="Design events", decision="Use Protocol")
    monkeypatch.undo()
    assert continuity.store.query() == []
    assert continuity.current is not None
    assert continuity.current.completed_steps == []


def test_a_checkpoint_is_restored(continuity: SessionContinuity) -> None:
    session = continuity.start_session("Build it", STEPS)
    continuity.update_progress(completed_step="Design events", decision="Use Protocol")
    checkpoint = continuity.create_checkpoint()
    before = SessionState.from_json(session.to_json())
    continuity.update_progress(completed_step="Implement EventBus", decision="A mistake")
    continuity.end_session(SessionStatus.FAILED)
    assert continuity.current is None
    restored = continuity.restore(checkpoint)
    assert continuity.current is restored
    assert (restored.session_id, restored.status) == (session.session_id, SessionStatus.ACTIVE)
    assert (restored.completed_steps, restored.pending_steps) == (before.completed_steps, before.pending_steps)
    assert _texts(continuity, restored.key_decisions) == ["Use Protocol"]
    entry = continuity.store.get(checkpoint)
    assert entry is not None
    assert (entry.type, entry.priority) == (MemoryType.CHECKPOINT, MemoryPriority.PERMANENT)
    assert entry.content == "Checkpoint: Build it (1 of 3 steps are done)"


def test_a_new_session_resumes_from_a_checkpoint(continuity: SessionContinuity) -> None:
    first = continuity.start_session("Build it", STEPS, task_id="t")
    continuity.update_progress(
        completed_step="Design events", decision="Use Protocol", context="asynchronous", last_action="Wrote types"
    )
    checkpoint = continuity.create_checkpoint()
    second = continuity.start_session("Finish it", ["Design events", "Add tests", "Release"], resume_from=checkpoint)
    assert second.session_id != first.session_id
    assert (second.current_objective, second.task_id, second.last_action) == ("Finish it", "t", "Wrote types")
    assert second.completed_steps == ["Design events"]
    assert second.pending_steps == ["Implement EventBus", "Add tests", "Release"]
    assert second.progress_percentage == 25.0
    assert second.resumed_from == checkpoint
    assert _texts(continuity, second.key_decisions) == ["Use Protocol"]
    assert _texts(continuity, second.important_context) == ["asynchronous"]
    assert [(one.session_id, one.status.value) for one in continuity.sessions()] == [
        (second.session_id, "active"),
        (first.session_id, "handed_off"),
    ]
    handoff = continuity.prepare_handoff()
    assert "- Use Protocol\n" in handoff.to_prompt()
    with pytest.raises(UsageError, match="no checkpoint 'nothing'"):
        continuity.start_session("x", [], resume_from="nothing")
    assert continuity.current is second


def test_a_session_ends(continuity: SessionContinuity) -> None:
    continuity.start_session("Build it", ["one"])
    continuity.update_progress(completed_step="one")
    ended = continuity.end_session()
    assert (ended.status, ended.progress_percentage, continuity.current) == (SessionStatus.COMPLETED, 100.0, None)
    for call in (continuity.update_progress, continuity.create_checkpoint, continuity.prepare_handoff):
        with pytest.raises(UsageError, match="no session is followed"):
            call()
    continuity.start_session("More", ["two"])
    with pytest.raises(UsageError, match="no status 'lost'"):
        continuity.end_session("lost")  # type: ignore[arg-type]
    assert continuity.end_session("paused").status is SessionStatus.PAUSED  # type: ignore[arg-type]
    assert [state.current_objective for state in continuity.sessions(SessionStatus.COMPLETED)] == ["Build it"]


def test_threads_that_update_one_session_lose_nothing(continuity: SessionContinuity) -> None:
    steps = [f"step {number}" for number in range(16)]
    session = continuity.start_session("Build it", steps)

    def work(step: str) -> None:
        other = SessionContinuity(continuity.store)
        other.restore(session.session_id)
        other.update_progress(completed_step=step, decision=f"decided in {step}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, steps))
    state = continuity.restore(session.session_id)
    assert (sorted(state.completed_steps), state.pending_steps) == (sorted(steps), [])
    assert len({*_texts(continuity, state.key_decisions)}) == 16


def test_nobody_else_sees_a_session(engine: Engine, continuity: SessionContinuity) -> None:
    session = continuity.start_session("Build it", STEPS)
    checkpoint = continuity.create_checkpoint()
    other = SessionContinuity(_store(engine, "coder"))
    assert other.sessions() == []
    for id_ in (session.session_id, checkpoint):
        with pytest.raises(UsageError, match="no checkpoint"):
            other.restore(id_)


def test_secrets_are_masked(continuity: SessionContinuity) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    step = f"Log in with {secret}"
    continuity.start_session(f"Objective {secret}", [step])
    continuity.update_progress(completed_step=step, last_action=secret, last_result=secret, decision=secret)
    continuity.create_checkpoint()
    assert continuity.current is not None
    assert (len(continuity.current.completed_steps), continuity.current.pending_steps) == (1, [])
    seen = repr((continuity.current, continuity.sessions(), continuity.store.query(), continuity.prepare_handoff()))
    assert secret not in seen


def _as_in_the_spec(made: HandoffPackage) -> str:
    """The template of 5.5.5, without the dots after a decision."""
    return f"""## Session Continuation

### Previous Session Summary
{made.summary}

### Current Objective
{made.session_state.current_objective}

### Completed Steps
{chr(10).join(f"- ✓ {step}" for step in made.session_state.completed_steps)}

### Pending Steps
{chr(10).join(f"- {step}" for step in made.session_state.pending_steps)}

### Key Decisions Made
{chr(10).join(f"- {d.content[:200]}" for d in made.decisions)}

---
Progress: {made.session_state.progress_percentage:.0f}% complete
"""


def test_a_prompt_is_the_specs(continuity: SessionContinuity) -> None:
    continuity.start_session("Build it", STEPS)
    empty = continuity.prepare_handoff()
    assert empty.to_prompt() == _as_in_the_spec(empty)
    continuity.update_progress(completed_step="Design events", last_action="Wrote types", decision="Use Protocol")
    continuity.store.add("The bus drops events.", MemoryType.CONVERSATION, session_id=_id(continuity))
    made = continuity.prepare_handoff()
    assert made.to_prompt() == made.continuation_prompt == _as_in_the_spec(made)
    assert made.token_count == count_tokens(made.to_prompt())
    assert made.summary == "1 of 3 steps are done.\nLast action: Wrote types\nRequest: The bus drops events."


def _id(continuity: SessionContinuity) -> str:
    assert continuity.current is not None
    return continuity.current.session_id


def test_dots_are_only_where_something_was_cut(continuity: SessionContinuity) -> None:
    continuity.start_session("Build it", STEPS)
    for length in (200, 201):
        continuity.update_progress(decision="x" * length)
    continuity.update_progress(decision="two\n### lines")
    lines = continuity.prepare_handoff().to_prompt().splitlines()
    assert [line for line in lines if line.startswith("- xx")] == ["- " + "x" * 200, "- " + "x" * 200 + "..."]
    assert "- two ### lines" in lines


def test_a_handoff_leaves_out_the_least_important(continuity: SessionContinuity) -> None:
    continuity.start_session("Build the bus", [f"pending step number {number}" for number in range(5)])
    for number in range(40):
        continuity.update_progress(
            completed_step=f"completed step number {number}", decision=f"decision number {number} " + "because " * 9,
            context=f"context number {number}",
        )  # fmt: skip
    whole = continuity.prepare_handoff(100_000)
    assert (len(whole.decisions), len(whole.key_context)) == (40, 40)
    assert len(whole.session_state.completed_steps) == 40
    made = continuity.prepare_handoff(600)
    prompt = made.to_prompt()
    assert made.token_count == count_tokens(prompt) <= 600
    assert "Build the bus" in prompt
    assert made.session_state.pending_steps == whole.session_state.pending_steps
    assert [one.content for one in made.decisions] == [one.content for one in whole.decisions][-len(made.decisions) :]
    assert 5 < len(made.decisions) < 40
    kept = made.session_state.completed_steps
    assert kept == whole.session_state.completed_steps[-len(kept) :]
    assert "40 of 45 steps are done." in prompt
    assert f"Not shown: {40 - len(kept)} completed steps, {40 - len(made.decisions)} decisions." in prompt
    assert "Progress: 89% complete" in prompt
    with pytest.raises(UsageError, match="does not fit into 10 tokens"):
        continuity.prepare_handoff(10)


def test_context_fills_what_the_prompt_leaves(continuity: SessionContinuity) -> None:
    continuity.start_session("Build it", STEPS)
    for number in range(30):
        continuity.update_progress(context=f"context number {number}")
    made = continuity.prepare_handoff(150)
    assert 0 < len(made.key_context) < 30
    assert made.key_context[-1].content == "context number 29"
    assert made.token_count + sum(entry.tokens for entry in made.key_context) <= 150


TEXTS = st.text(max_size=400) | st.integers(1, 3_000).map(lambda count: "word " * count)


@given(
    objective=TEXTS, summary=TEXTS, completed=st.lists(TEXTS, max_size=12), pending=st.lists(TEXTS, max_size=12),
    decisions=st.lists(TEXTS, max_size=12), context=st.lists(TEXTS, max_size=5), max_tokens=st.integers(80, 3_000),
    progress=st.floats(0, 100),
)  # fmt: skip
def test_a_handoff_is_never_over_its_limit(
    objective: str, summary: str, completed: list[str], pending: list[str], decisions: list[str], context: list[str],
    max_tokens: int, progress: float,
) -> None:  # fmt: skip
    state = SessionState(
        "s", current_objective=objective, completed_steps=completed, pending_steps=pending, progress_percentage=progress
    )
    entries = [
        [MemoryEntry(str(new_uuid()), MemoryType.DECISION, text) for text in some] for some in (decisions, context)
    ]
    made = package(state, summary, *entries, max_tokens)
    cost = count_tokens(made.to_prompt())
    assert made.token_count == cost <= max_tokens
    assert cost + sum(count_tokens(entry.content) for entry in made.key_context) <= max_tokens
    assert made.session_state.progress_percentage == progress
    assert (state.completed_steps, state.pending_steps) == (completed, pending)  # the state itself is whole
    assert bool(made.session_state.current_objective) or count_tokens(objective) == 0 or max_tokens < 100


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), max_tokens=st.integers(80, 2_000))
def test_a_stored_session_is_handed_off_within_its_limit(engine: Engine, seed: int, max_tokens: int) -> None:
    chance = random.Random(seed)
    continuity = SessionContinuity(_store(engine, str(new_uuid())))

    def text() -> str:
        return " ".join(chance.choice(("bus", "Protocol.", "naïve", "x" * 90, "\n", "§§§")) for _ in range(30))

    continuity.start_session(text(), [text() for _ in range(chance.randrange(6))])
    for _ in range(chance.randrange(5)):
        continuity.update_progress(text(), text(), text(), text(), text(), text())
        continuity.store.add(text(), MemoryType.CONVERSATION, session_id=_id(continuity))
    assert count_tokens(continuity.prepare_handoff(max_tokens).to_prompt()) <= max_tokens


def test_a_full_context_is_summarised_with_a_checkpoint(store: MemoryStore) -> None:
    budget = TokenBudget(store, TokenBudgetConfig(1_000, 0))
    told: list[TokenWarning] = []
    budget.add_listener(told.append)
    continuity = SessionContinuity(store, budget)
    session = continuity.start_session("Build it", STEPS)
    for number in range(10):
        store.add(
            MemoryEntry(
                f"e{number}", MemoryType.CONVERSATION, f"Part {number} was said.", tokens=92,
                session_id=session.session_id,
            )
        )  # fmt: skip
    continuity.update_progress(completed_step="Design events")
    assert [warning.level for warning in told] == [TokenWarningLevel.CRITICAL]
    assert budget.get_usage(session.session_id)["level"] is TokenWarningLevel.WARNING
    (checkpoint,) = store.query(type=MemoryType.CHECKPOINT)
    assert store.load_checkpoint(checkpoint.id)["completed_steps"] == ["Design events"]
    assert "Part 0 was said." in continuity.prepare_handoff().summary


EXAMPLE = """
from sage_code import (
    MemoryStore, MemoryEntry, MemoryType, MemoryPriority,
    TokenBudget, TokenBudgetConfig, TokenWarningLevel,
    SessionContinuity, SessionState
)

# Initialize
store = MemoryStore()
budget = TokenBudget(store, TokenBudgetConfig(max_tokens=128000))
continuity = SessionContinuity(store, budget)

# Start a new session
session = continuity.start_session(
    objective="Implement event-driven plugin architecture",
    steps=["Design events", "Implement EventBus", "Add tests"],
)

# Track progress
continuity.update_progress(
    completed_step="Design events",
    last_action="Created event type definitions",
    decision="Use Protocol instead of ABC for flexibility"
)
BEFORE_THE_CHECK
# Check token budget
usage = budget.get_usage(session.session_id)
if usage["level"] == TokenWarningLevel.WARNING:
    # Prepare for handoff
    handoff = continuity.prepare_handoff(max_tokens=4000)
    checkpoint_id = continuity.create_checkpoint()
    print(f"Checkpoint created: {checkpoint_id}")
    print(handoff.to_prompt())

# Resume in new task
new_session = continuity.start_session(
    objective="Continue implementation",
    steps=["remaining steps"],
    resume_from=checkpoint_id
)
"""


def test_the_example_of_the_spec_runs(sage_home: object, capsys: pytest.CaptureFixture[str]) -> None:
    # Something fills 85 % of the context, or the example would use an id that it does not have.
    filled = (
        'store.add(MemoryEntry("talk", MemoryType.CONVERSATION, "…", tokens=105_400, session_id=session.session_id))\n'
    )
    names: dict[str, Any] = {}
    exec(EXAMPLE.replace("BEFORE_THE_CHECK\n", filled), names)
    printed = capsys.readouterr().out
    assert printed.startswith(f"Checkpoint created: {names['checkpoint_id']}\n## Session Continuation\n")
    assert "- ✓ Design events\n" in printed
    assert "- Use Protocol instead of ABC for flexibility\n" in printed
    assert "Progress: 33% complete" in printed
    assert names["new_session"].pending_steps == ["Implement EventBus", "Add tests", "remaining steps"]
    assert names["new_session"].completed_steps == ["Design events"]
    names["store"].close()
