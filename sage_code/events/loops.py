"""Runs coroutines of handlers within a time limit, in the loop of the publisher or in one of Sage's own.

Like `guard.py`, it always comes back with an outcome. A coroutine that does not end when its time is over, because it
swallows its cancellation, is dropped where it is. One that blocks its thread cannot be interrupted: in the publisher's
own loop it blocks the publisher; Sage's own loop is left behind with it, and another one is started.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from _thread import allocate_lock
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

from sage_code.events.guard import Outcome, TookTooLongError, is_interrupt, start

# A loop that does not even say that a coroutine was late within this time is blocked.
_GRACE_SECONDS = 0.1


async def run_awaitable(awaitable: Awaitable[Any], seconds: float | None) -> Outcome:
    """Await something in this task, for at most so long; a cancellation of the publisher passes through."""
    coroutine = awaitable if inspect.iscoroutine(awaitable) else _awaiting(awaitable)
    try:
        waits_for = coroutine.send(None)
    except StopIteration as ended:  # the most frequent case: no timer was needed
        return Outcome(ended.value)
    except BaseException as error:
        if is_interrupt(error):
            raise
        return Outcome(None, error)
    task = asyncio.current_task()
    assert task is not None
    cancels = task.cancelling()
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            result = await _Rest(coroutine, waits_for, limit)
    except BaseException as error:
        if is_interrupt(error) or (isinstance(error, asyncio.CancelledError) and task.cancelling() > cancels):
            raise
        is_late = limit.expired() and isinstance(error, TimeoutError)
        return Outcome(None, TookTooLongError(seconds or 0) if is_late else error)
    if task.cancelling() > cancels:  # the handler has swallowed what was meant for the publisher
        raise asyncio.CancelledError
    return Outcome(None, TookTooLongError(seconds or 0)) if limit.expired() else Outcome(result)


async def run_in_worker(function: Callable[[Any], Any], argument: Any, seconds: float) -> Outcome:
    """Call a plain function in another thread and await it for so long."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def when_done() -> None:
        with suppress(RuntimeError):  # the loop may be closed by then
            loop.call_soon_threadsafe(_set, done)

    try:
        call = start(function, argument, when_done)
    except RuntimeError as error:
        return Outcome(None, error)
    waited = await run_awaitable(done, seconds)
    return waited if waited.error is not None else call.outcome


def run_in_background(awaitable: Awaitable[Any], seconds: float | None) -> Outcome:
    """Await something in a loop of Sage's own, from a thread that has none to give, for at most so long."""
    return _background.run(awaitable, seconds)


class _Rest:
    """A coroutine after its first step, which passes on what it waits for until it ends or its time is over."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waits_for: Any, limit: asyncio.Timeout) -> None:
        self._coroutine, self._waits_for, self._limit = coroutine, waits_for, limit

    def __await__(self) -> Generator[Any, Any, Any]:
        waits_for = self._waits_for
        while True:
            try:
                try:
                    given = yield waits_for
                except BaseException as thrown:
                    waits_for = self._coroutine.throw(thrown)
                    if self._limit.expired():  # it was cancelled for that, and goes on all the same
                        self._drop()
                        raise
                else:
                    waits_for = self._coroutine.send(given)
            except StopIteration as ended:
                return ended.value

    def _drop(self) -> None:
        """Go no step further; the coroutine may object, which changes nothing."""
        with suppress(BaseException):
            self._coroutine.close()


class _BackgroundLoop:
    """A loop in a thread of its own that starts with the first coroutine, and again after it was blocked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._inner: _BackgroundLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # a loop alone does not keep its tasks

    def run(self, awaitable: Awaitable[Any], seconds: float | None) -> Outcome:
        """Await something in the loop and wait for it."""
        if threading.current_thread() is self._thread:  # a handler publishes: its thread cannot wait for itself
            if self._inner is None:
                self._inner = _BackgroundLoop()
            return self._inner.run(awaitable, seconds)
        late = Outcome(None, TookTooLongError(seconds or 0))
        outcome = late
        done = allocate_lock()
        done.acquire()

        async def work() -> None:
            nonlocal outcome
            try:
                outcome = await run_awaitable(awaitable, seconds)
            finally:
                done.release()

        loop = self._running()
        loop.call_soon_threadsafe(self._begin, loop, work)
        wait = -1 if seconds is None else min(seconds + _GRACE_SECONDS, threading.TIMEOUT_MAX)
        if not done.acquire(timeout=wait):
            self._leave(loop)
            return late  # not what may come in after all
        return outcome

    def _begin(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        task = loop.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop, started if there is none; a handler's task may have ended its thread."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="sage-handlers", daemon=True)
                self._thread.start()
            return self._loop

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this loop no more. It goes on with what it has, if it can."""
        with self._lock:
            if self._loop is loop:
                self._loop = self._thread = self._inner = None


_background = _BackgroundLoop()


def _start_again() -> None:
    global _background
    _background = _BackgroundLoop()


# Threads do not live on in a process that was forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    # What a task of a handler raises to end the program ends this thread, and the next coroutine starts another one.
    with suppress(SystemExit, KeyboardInterrupt):
        loop.run_forever()


async def _awaiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _set(done: asyncio.Future[None]) -> None:
    if not done.done():  # given up
        done.set_result(None)
