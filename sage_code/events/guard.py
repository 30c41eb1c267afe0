"""Calls functions that may fail or hang, and always comes back with an outcome.

A function with a time limit runs in a thread that is left behind when the time is over. Python cannot end a thread, so
one that hangs stays until the process ends, which does not wait for it. A call has an outcome of its own, so what a
thread that was left behind returns in the end belongs to a call that has been given up, and to no other.
"""

from __future__ import annotations

import os
import threading
from _thread import allocate_lock
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

# Threads that wait for the next call. More are started when more calls run at the same time, and end after them.
_MAX_IDLE = 4
# A handler that publishes what it listens to would start threads without end.
_MAX_WORKERS = 256


class TookTooLongError(Exception):
    """A handler did not end in its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it took longer than {seconds * 1_000:.0f} ms")


class Outcome(NamedTuple):
    """What a call gave: a result, or an error."""

    result: Any
    error: BaseException | None = None


def run_here(function: Callable[[Any], Any], argument: Any) -> Outcome:
    """Call a function in this thread; it ends by itself or not at all."""
    try:
        return Outcome(function(argument))
    except BaseException as error:
        if is_interrupt(error):
            raise
        return Outcome(None, error)


def run_in_worker(function: Callable[[Any], Any], argument: Any, seconds: float) -> Outcome:
    """Call a function in another thread and wait for so long."""
    done = allocate_lock()
    done.acquire()
    try:
        call = start(function, argument, done.release)
    except RuntimeError as error:
        return Outcome(None, error)
    # The limit of the platform is 292 years; a larger number is an error of its own.
    if not done.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
        return Outcome(None, TookTooLongError(seconds))
    return call.outcome


def start(function: Callable[[Any], Any], argument: Any, when_done: Callable[[], None]) -> Call:
    """Have a function called in another thread, which calls `when_done` after it; RuntimeError if there is none."""
    call = Call(function, argument, when_done)
    try:
        worker = _idle.pop()
    except IndexError:
        if len(_workers) >= _MAX_WORKERS:
            raise RuntimeError(f"{_MAX_WORKERS} handlers are running already") from None
        worker = _Worker()
        worker.start()
    worker.calls.put(call)
    return call


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is the user's Ctrl-C, which ends the program and not a handler."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


class Call:
    """A call that another thread makes; its outcome is there once `when_done` was called."""

    __slots__ = ("argument", "function", "outcome", "when_done")

    def __init__(self, function: Callable[[Any], Any], argument: Any, when_done: Callable[[], None]) -> None:
        self.function, self.argument, self.when_done = function, argument, when_done
        self.outcome = Outcome(None)


class _Worker(threading.Thread):
    """A thread that makes one call after the other."""

    def __init__(self) -> None:
        super().__init__(name="sage-handler", daemon=True)
        self.calls: SimpleQueue[Call] = SimpleQueue()

    def run(self) -> None:
        """Make calls until there are enough other threads that wait for one."""
        _workers.add(self)
        is_needed = True
        while is_needed:
            call = self.calls.get()
            call.outcome = run_here(call.function, call.argument)
            when_done = call.when_done
            is_needed = len(_idle) < _MAX_IDLE
            del call  # a thread that waits holds on to no handler
            if is_needed:
                _idle.append(self)  # before its caller goes on, whose next call finds it here
            else:
                _workers.discard(self)
            when_done()
            del when_done


_workers: set[_Worker] = set()
_idle: list[_Worker] = []


def _forget_workers() -> None:
    _workers.clear()
    _idle.clear()


# Threads do not live on in a process that was forked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_workers)
