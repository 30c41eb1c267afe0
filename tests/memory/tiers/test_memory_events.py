"""Decisions and warnings on a bus reach the session: part 5.5.8 of the specification, with the real parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from sage_code import MemoryEntry, MemoryStore, MemoryType, SessionContinuity, TokenBudget, TokenBudgetConfig
from sage_code.events.bus import EventBus, get_event_bus
from sage_code.events.events import Event, EventType
from sage_code.memory.tiers.memory_events import setup_memory_events
from sage_code.memory.tiers.token_budget import TokenWarning, TokenWarningLevel


@pytest.fixture
def continuity() -> Iterator[SessionContinuity]:
    with MemoryStore() as store:
        yield SessionContinuity(store, TokenBudget(store, TokenBudgetConfig(1_000, 0)))


@pytest.fixture
def default_bus(monkeypatch: pytest.MonkeyPatch) -> EventBus:
    """A default bus of the test's own."""
    monkeypatch.setattr(EventBus, "_instance", None)
    return get_event_bus()


def _checkpoints(continuity: SessionContinuity) -> list[MemoryEntry]:
    return continuity.store.query(type=MemoryType.CHECKPOINT)


def _fill(continuity: SessionContinuity, tokens: int) -> None:
    assert continuity.current is not None
    continuity.store.add(
        MemoryEntry("talk", MemoryType.CONVERSATION, "…", tokens=tokens, session_id=continuity.current.session_id)
    )


def test_events_that_are_published_are_noted(continuity: SessionContinuity) -> None:
    bus = EventBus()

    async def run() -> None:
        await setup_memory_events(bus, continuity)
        await bus.publish(Event("decision.made", metadata={"decision": "too early: there is no session"}))
        continuity.start_session("Build it", ["Design events"])
        await bus.publish(Event("decision.made", metadata={"decision": "Use Protocol"}))
        await bus.publish(Event("decision.made", metadata={"other": 1}))
        for level in (TokenWarningLevel.WARNING, TokenWarningLevel.CRITICAL):
            warning = TokenWarning(level, {}, "", ())
            await bus.publish(Event(EventType.MEMORY_WARNING, metadata={"warning": warning}))
            await bus.publish(Event(EventType.MEMORY_WARNING, metadata={"warning": warning, "session_id": "another"}))
        await bus.publish(Event(EventType.MEMORY_WARNING))

    asyncio.run(run())
    assert [entry.content for entry in continuity.store.query(type=MemoryType.DECISION)] == ["Use Protocol"]
    assert len(_checkpoints(continuity)) == 1


@pytest.mark.parametrize("in_a_loop", [True, False])
def test_a_context_that_becomes_critical_is_kept_by_itself(
    continuity: SessionContinuity, default_bus: EventBus, in_a_loop: bool
) -> None:
    asyncio.run(setup_memory_events(default_bus, continuity))
    session = continuity.start_session("Build it", ["Design events"])
    _fill(continuity, 850)
    continuity.budget.check(session.session_id)
    assert _checkpoints(continuity) == []  # it is only WARNING
    continuity.store.delete("talk")
    _fill(continuity, 920)

    async def check() -> None:
        continuity.budget.check(session.session_id)

    if in_a_loop:
        asyncio.run(check())
    else:
        continuity.budget.check(session.session_id)
    (kept,) = _checkpoints(continuity)
    assert continuity.store.load_checkpoint(kept.id)["current_objective"] == "Build it"
    continuity.budget.check(session.session_id)
    continuity.budget.enforce(session.session_id)  # makes none more for the same level
    assert [entry.id for entry in _checkpoints(continuity)] == [kept.id]


def test_a_decision_that_fills_the_context_is_kept_once(continuity: SessionContinuity, default_bus: EventBus) -> None:
    asyncio.run(setup_memory_events(default_bus, continuity))
    continuity.start_session("Build it")
    _fill(continuity, 925)
    default_bus.publish_sync(Event("decision.made", metadata={"decision": "Use Protocol"}))
    (kept,) = _checkpoints(continuity)
    state = continuity.store.load_checkpoint(kept.id)
    (decision,) = continuity.store.query(type=MemoryType.DECISION)
    assert state["key_decisions"] == [decision.id]
