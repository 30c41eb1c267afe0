"""Joins a bus and a session: decisions that are published are noted, and a context that is nearly full is kept.

The handlers are coroutines, as the bus of an asynchronous program wants them, and do their database work in the loop:
each is one short transaction of SQLite. With a database that answers slowly, publish from a thread, with
`EventBus.publish_sync`.
"""

from __future__ import annotations

from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType
from sage_code.memory.tiers.session_continuity import SessionContinuity
from sage_code.memory.tiers.token_budget import TokenWarningLevel

# Not a type of Sage: a program publishes what it has decided.
DECISION_MADE = "decision.made"
_FULL = (TokenWarningLevel.CRITICAL, TokenWarningLevel.OVERFLOW)


async def setup_memory_events(bus: EventBus, continuity: SessionContinuity) -> None:
    """Let a session note the decisions that are published, and make a checkpoint when its context is nearly full.

    Events that come while no session is followed, and warnings about another session, change nothing.
    """

    async def on_decision(event: Event) -> None:
        decision = event.metadata.get("decision")
        if decision and continuity.current is not None:
            continuity.update_progress(decision=decision)

    async def on_token_warning(event: Event) -> None:
        warning, current = event.metadata.get("warning"), continuity.current
        is_own = current is not None and event.metadata.get("session_id") in (None, current.session_id)
        if warning and warning.level in _FULL and is_own:
            continuity.create_checkpoint()

    # Without a time limit: the database has its own, and a session is kept also when it is slow.
    bus.subscribe(DECISION_MADE, on_decision, priority=10, timeout_ms=0)
    bus.subscribe(EventType.MEMORY_WARNING, on_token_warning, priority=1, timeout_ms=0)
