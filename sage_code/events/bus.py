"""The bus: who listens to which events, in which order, and what a handler that fails or hangs may not do.

Handlers of an event run one after the other. Whatever one of them raises is kept in `problems`, the others go on, and
after three problems it is switched off. A handler has a time limit, unless it has one of 0:

- A plain handler without a limit runs in the publisher's thread, an async one in `publish` in the publisher's loop.
  Both get the event itself. This is the fast way, for handlers that come to an end by themselves.
- All others run in another thread and get a copy of the event. What they change lands in the event when they end in
  their time and without an error; what one that is late or fails does to its copy is seen by none.
"""

from __future__ import annotations

import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sage_code.events.events import CHANNELS, Event, copy_of, take_over
from sage_code.events.guard import Outcome, TookTooLongError, is_interrupt, run_here, run_in_worker
from sage_code.events.reasons import reason

Handler = Callable[[Event], Awaitable[Any] | Any]
DEFAULT_TIMEOUT_MS = 1_000
STRIKES = 3
_KEPT_PROBLEMS = 100
# Sage has 23 types; programs that make up types without end pay for a look at all subscriptions now and then.
_CACHED_TYPES = 1_024


@dataclass(slots=True, eq=False)
class Subscription:
    """A handler and what it listens to."""

    id: str
    event_type: str  # a type, `family.*`, `channel.*` or `*`
    handler: Handler
    priority: int = 100  # a lower one runs first; equal ones run in the order in which they subscribed
    filter_fn: Callable[[Event], bool] | None = None
    once: bool = False
    timeout_ms: int | None = None  # None: that of the bus; 0: a sync handler runs in the caller's thread, unbounded
    name: str = ""  # for messages
    is_async: bool = False
    is_direct: bool = False  # nothing has to be done for it but to call it
    is_active: bool = True
    strikes: int = 0


class EventBus:
    """Publishes events to handlers. One bus is the default of a process (`get_event_bus`); others are separate."""

    _instance: EventBus | None = None
    _instance_lock = threading.Lock()

    def __init__(self, timeout_ms: int = DEFAULT_TIMEOUT_MS, on_problem: Callable[[str], None] | None = None) -> None:
        """`on_problem` is called when a handler is switched off; without it, the log says so."""
        self._timeout_ms, self._on_problem = _checked_limit(timeout_ms), on_problem
        # Both are replaced and never changed, so that a publish goes on with what it began with.
        self._subscriptions: tuple[Subscription, ...] = ()
        self._matching: dict[str, tuple[Subscription, ...]] = {}
        self._lock = threading.RLock()  # what a change sets free may end a subscription while it is freed
        self._number = 0
        self.problems: deque[str] = deque(maxlen=_KEPT_PROBLEMS)

    @classmethod
    def get_instance(cls) -> EventBus:
        """The bus of this process."""
        with cls._instance_lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    def subscribe(
        self,
        event_type: str,
        handler: Handler,
        priority: int = 100,
        filter_fn: Callable[[Event], bool] | None = None,
        once: bool = False,
        *,
        timeout_ms: int | None = None,
        name: str = "",
    ) -> str:
        """Have a handler called for the events of a type; returns the id of the subscription.

        `family.*` is all types of a family, `channel.*` all of a channel, `*` all. What a handler returns is a result
        of the event, unless it is None or the event itself. A publish that is under way does not call the new handler.
        """
        if not callable(handler):
            raise TypeError(f"a handler is a function, not {type(handler).__name__}")
        one = Subscription(
            id="",
            event_type=_plain(event_type),
            handler=handler,
            priority=int(priority),
            filter_fn=filter_fn,
            once=once,
            timeout_ms=None if timeout_ms is None else _checked_limit(timeout_ms),
            name=name or str(getattr(handler, "__qualname__", type(handler).__name__)),
            is_async=_is_async(handler),
        )
        one.is_direct = timeout_ms == 0 and filter_fn is None and not once and not one.is_async
        with self._lock:
            self._number += 1
            one.id = f"sub_{self._number}"
            self._change((*self._subscriptions, one))
        return one.id

    def unsubscribe(self, subscription_id: str) -> bool:
        """End a subscription; whether there was one. A publish that is under way does not call its handler any more."""
        return any(one.id == subscription_id and self._end(one) for one in self._subscriptions)

    def has_listeners(self, event_type: str) -> bool:
        """Whether any handler would get an event of this type."""
        return bool(self._listeners(event_type))

    def publish_sync(self, event: Event, timeout_ms: int | None = None) -> Event:
        """Call all handlers of an event and return it. Async ones run in a loop of Sage's own.

        `timeout_ms` is the limit of handlers that have none of their own, instead of that of the bus.
        """
        for one in self._listeners(event.type):
            if event._cancelled:
                break
            if one.is_direct and one.is_active:
                try:
                    result = one.handler(event)
                except BaseException as error:
                    if is_interrupt(error):
                        raise
                    self._failed(one, event, error)
                    continue
                if result is None:
                    continue
                outcome = _ended_in_background(Outcome(result), None)
                self._settle(one, event, outcome)
            else:
                self._deliver(one, event, timeout_ms)
        return event

    async def publish(self, event: Event, timeout_ms: int | None = None) -> Event:
        """The same in a running event loop, where async handlers run too."""
        for one in self._listeners(event.type):
            if event._cancelled:
                break
            await self._deliver_async(one, event, timeout_ms)
        return event

    def _deliver(self, one: Subscription, event: Event, timeout_ms: int | None) -> None:
        """Call one handler, if its filter agrees."""
        seconds = self._seconds(one, timeout_ms)
        if one.filter_fn is not None and one.is_active:
            if seconds is None:
                agreed = run_here(one.filter_fn, event)
            else:
                agreed = run_in_worker(one.filter_fn, copy_of(event), seconds)
            if not self._agrees(one, event, agreed):
                return
        if not (self._end(one) if one.once else one.is_active):
            return
        if seconds is None and not one.is_async:
            outcome = _ended_in_background(run_here(one.handler, event), seconds)
        else:
            copy = copy_of(event)
            if one.is_async:
                outcome = run_here(one.handler, copy)  # makes a coroutine, and runs nothing of it yet
            else:
                assert seconds is not None
                outcome = run_in_worker(one.handler, copy, seconds)
            outcome = _landed(event, copy, _ended_in_background(outcome, seconds))
        self._settle(one, event, outcome)

    async def _deliver_async(self, one: Subscription, event: Event, timeout_ms: int | None) -> None:
        """The same in the publisher's loop."""
        from sage_code.events import loops  # lazy: asyncio takes longer than all of the bus

        seconds = self._seconds(one, timeout_ms)
        if one.filter_fn is not None and one.is_active:
            if seconds is None:
                agreed = run_here(one.filter_fn, event)
            else:
                agreed = await loops.run_in_worker(one.filter_fn, copy_of(event), seconds)
            if not self._agrees(one, event, agreed):
                return
        if not (self._end(one) if one.once else one.is_active):
            return
        if seconds is None or one.is_async:
            outcome = run_here(one.handler, event)
            if _is_awaitable(outcome.result):
                outcome = await loops.run_awaitable(outcome.result, seconds)
        else:
            copy = copy_of(event)
            outcome = await loops.run_in_worker(one.handler, copy, seconds)
            if _is_awaitable(outcome.result):
                outcome = await loops.run_awaitable(outcome.result, seconds)
            outcome = _landed(event, copy, outcome)
        self._settle(one, event, outcome)

    def _agrees(self, one: Subscription, event: Event, outcome: Outcome) -> bool:
        """Whether a filter has said yes; one that fails says no."""
        truth = outcome if outcome.error is not None else run_here(bool, outcome.result)
        if truth.error is not None:
            self._failed(one, event, truth.error)
        return bool(truth.result)

    def _settle(self, one: Subscription, event: Event, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._failed(one, event, outcome.error)
        elif outcome.result is not None and outcome.result is not event:
            event.add_result(outcome.result)

    def _failed(self, one: Subscription, event: Event, error: BaseException) -> None:
        """Keep what went wrong, and switch a handler off that fails again and again."""
        why = str(error) if isinstance(error, TookTooLongError) else reason(error)
        self.problems.append(f"{one.name}: {why} ({event.type})")
        with self._lock:
            one.strikes += 1
            is_enough = one.strikes == STRIKES
        if is_enough and self._end(one):
            self._say(f"{one.name} is switched off: it failed {STRIKES} times, at last on {event.type}: {why}")

    def _say(self, text: str) -> None:
        if self._on_problem is None:
            import logging  # lazy: only needed after a mistake

            logging.getLogger(__name__).warning(text)
        elif (failed := run_here(self._on_problem, text).error) is not None:
            self.problems.append(f"on_problem: {reason(failed)}")

    def _seconds(self, one: Subscription, timeout_ms: int | None) -> float | None:
        """The time limit of a handler; None if it has none."""
        limit = one.timeout_ms
        if limit is None:
            limit = self._timeout_ms if timeout_ms is None else _checked_limit(timeout_ms)
        return limit / 1_000 if limit else None

    def _listeners(self, event_type: str) -> tuple[Subscription, ...]:
        matching = self._matching  # before the subscriptions: a change replaces it after them
        found = matching.get(event_type)
        if found is None:
            name = _plain(event_type)
            found = tuple(one for one in self._subscriptions if _matches(one.event_type, name))
            if len(matching) >= _CACHED_TYPES:
                matching.clear()
            matching[name] = found
        return found

    def _end(self, one: Subscription) -> bool:
        """Take a subscription off the bus; whether it was on it, which is true for one caller only."""
        with self._lock:
            was_active, one.is_active = one.is_active, False
            if was_active:
                self._change(tuple(other for other in self._subscriptions if other is not one))
        return was_active

    def _change(self, subscriptions: tuple[Subscription, ...]) -> None:
        self._subscriptions = tuple(sorted(subscriptions, key=lambda one: one.priority))
        self._matching = {}


def get_event_bus() -> EventBus:
    """The bus of this process."""
    return EventBus.get_instance()


def _matches(pattern: str, event_type: str) -> bool:
    if pattern in (event_type, "*"):
        return True
    if not pattern.endswith(".*"):
        return False
    head = pattern[:-2]
    return event_type.startswith(f"{head}.") or event_type.partition(".")[0] in CHANNELS.get(head, ())


def _ended_in_background(outcome: Outcome, seconds: float | None) -> Outcome:
    """The outcome itself, or that of the coroutine that it has for a result."""
    if outcome.result is None or not _is_awaitable(outcome.result):
        return outcome
    from sage_code.events import loops  # lazy: asyncio takes longer than all of the bus

    return loops.run_in_background(outcome.result, seconds)


def _landed(event: Event, copy: Event, outcome: Outcome) -> Outcome:
    """Give an event what a handler has changed in its copy, unless it was late or failed."""
    if outcome.error is not None:
        return outcome
    take_over(event, copy)
    return Outcome(None) if outcome.result is copy else outcome


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004


def _is_awaitable(result: object) -> bool:
    return hasattr(type(result), "__await__")


def _plain(event_type: str) -> str:
    """A type without the class of its constant: what a plugin defines is not kept after it."""
    return str.__str__(event_type)


def _checked_limit(timeout_ms: int) -> int:
    if timeout_ms < 0:
        raise ValueError(f"a time limit of {timeout_ms} ms is not possible")
    return timeout_ms
