"""Handlers that hang or are late: the publisher goes on, and what they do afterwards reaches nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sage_code.events import guard
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, copy_of

# Long enough for a call that does nothing on a busy machine, short enough to wait for.
_SHORT_MS = 40
Publish = Callable[..., Event]


@pytest.fixture
def bus() -> EventBus:
    return EventBus(timeout_ms=60_000)  # a busy machine does not fail a test


@pytest.fixture(params=["publish_sync", "publish"])
def publish(request: pytest.FixtureRequest, bus: EventBus) -> Publish:
    def asynchronously(event: Event, timeout_ms: int | None = None) -> Event:
        return asyncio.run(bus.publish(event, timeout_ms))

    return bus.publish_sync if request.param == "publish_sync" else asynchronously


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What hanging handlers wait for; set at the end in any case, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


def test_a_handler_that_hangs_is_left_behind(bus: EventBus, publish: Publish, released: threading.Event) -> None:
    ended: list[threading.Event] = []

    def hang(event: Event) -> str:
        ended.append(threading.Event())
        mine = ended[-1]
        released.wait()
        event.source = "late"
        event.metadata["words"].append("late")
        event.cancel()
        event.add_result("late")
        mine.set()
        return "late"

    bus.subscribe("x", hang, 1, timeout_ms=_SHORT_MS, name="plugin slow")
    bus.subscribe("x", lambda event: "good", 2)
    events = [publish(Event("x", source="kept", metadata={"words": []})) for _ in range(4)]
    assert list(bus.problems) == [f"plugin slow: it took longer than {_SHORT_MS} ms (x)"] * 3
    released.set()
    assert len(ended) == 3  # and then it was switched off
    assert all(one.wait(10) for one in ended)
    for event in events:
        assert (event.source, event.metadata, event.is_cancelled, event.results) == (
            "kept",
            {"words": []},
            False,
            ["good"],
        )


def test_a_late_result_lands_in_no_later_call(bus: EventBus, publish: Publish, released: threading.Event) -> None:
    turns = iter("abc")

    def answer(event: Event) -> str:
        turn = next(turns)
        if turn == "a":
            released.wait()
        return turn

    bus.subscribe("x", answer)
    assert publish(Event("x"), _SHORT_MS).results == []
    released.set()
    assert publish(Event("x")).results == ["b"]
    assert publish(Event("x")).results == ["c"]


def test_a_filter_that_hangs_is_left_behind(bus: EventBus, publish: Publish, released: threading.Event) -> None:
    calls: list[int] = []
    bus.subscribe("x", lambda event: calls.append(1), 1, lambda event: released.wait(), timeout_ms=_SHORT_MS)
    bus.subscribe("x", lambda event: "good", 2)
    assert publish(Event("x")).results == ["good"]
    released.set()
    assert not calls


def test_limits_are_the_handler_s_then_the_publisher_s_then_those_of_the_bus(released: threading.Event) -> None:
    def wait(event: Event) -> str:
        released.wait(10)
        return "waited"

    bus = EventBus(timeout_ms=_SHORT_MS)
    own = bus.subscribe("x", wait)
    assert bus.publish_sync(Event("x")).results == []
    bus.unsubscribe(own)
    bus = EventBus(timeout_ms=0)
    bus.subscribe("x", wait, name="given")
    bus.subscribe("x", wait, name="own", timeout_ms=_SHORT_MS + 1)
    bus.publish_sync(Event("x"), _SHORT_MS)
    assert [text.partition(" ms")[0] for text in bus.problems] == [
        f"given: it took longer than {_SHORT_MS}",
        f"own: it took longer than {_SHORT_MS + 1}",
    ]
    released.set()
    assert EventBus(timeout_ms=0).publish_sync(Event("x")).results == []


def test_an_async_handler_that_is_late_is_cancelled(bus: EventBus, publish: Publish) -> None:
    seen: list[str] = []

    async def wait(event: Event) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            seen.append("cancelled")
        return "late"

    bus.subscribe("x", wait, 1, timeout_ms=_SHORT_MS, name="slow")
    bus.subscribe("x", lambda event: "good", 2)
    assert publish(Event("x")).results == ["good"]
    assert seen == ["cancelled"]
    assert list(bus.problems) == [f"slow: it took longer than {_SHORT_MS} ms (x)"]


def test_an_async_handler_that_swallows_its_cancellation_is_dropped(bus: EventBus, publish: Publish) -> None:
    async def forever(event: Event) -> str:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    async def once(event: Event) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "late"
        return "never"

    for handler in (forever, once):
        bus.subscribe("x", handler, timeout_ms=_SHORT_MS, name=handler.__name__)
    assert publish(Event("x")).results == []
    assert [text.partition(" ms")[0] for text in bus.problems] == [
        f"forever: it took longer than {_SHORT_MS}",
        f"once: it took longer than {_SHORT_MS}",
    ]


def test_an_async_handler_that_blocks_does_not_block_publish_sync(bus: EventBus, released: threading.Event) -> None:
    async def block(event: Event) -> None:
        released.wait()
        event.source = "late"

    async def quick(event: Event) -> str:
        await asyncio.sleep(0)
        return "quick"

    bus.subscribe("x", block, 1, timeout_ms=_SHORT_MS, name="blocks")
    bus.subscribe("x", quick, 2)
    events = [bus.publish_sync(Event("x", source="kept")) for _ in range(4)]
    assert [event.results for event in events] == [["quick"]] * 4
    assert len(bus.problems) == 3
    released.set()
    assert bus.publish_sync(Event("x")).results == ["quick"]
    assert {event.source for event in events} == {"kept"}


def test_async_handlers_of_publish_sync_share_a_loop(bus: EventBus) -> None:
    loops = []

    async def note(event: Event) -> None:
        loops.append(asyncio.get_running_loop())

    bus.subscribe("x", note)
    bus.publish_sync(Event("x"))

    async def inside() -> None:
        bus.publish_sync(Event("x"))
        loops.append(asyncio.get_running_loop())

    asyncio.run(inside())
    assert loops[0] is loops[1] is not loops[2]


def test_a_handler_s_task_that_ends_the_loop_s_thread_does_no_harm(bus: EventBus) -> None:
    async def leave() -> None:
        raise SystemExit

    async def start(event: Event) -> None:
        event.metadata["task"] = asyncio.create_task(leave())
        await asyncio.sleep(60)

    async def quick(event: Event) -> str:
        return "quick"

    bus.subscribe("x", start, 1, timeout_ms=_SHORT_MS)
    bus.subscribe("x", quick, 2, timeout_ms=10_000)
    assert bus.publish_sync(Event("x")).results == ["quick"]
    assert bus.publish_sync(Event("x")).results == ["quick"]


def test_a_cancellation_of_the_publisher_passes_through(bus: EventBus) -> None:
    calls: list[str] = []

    async def wait(event: Event) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            calls.append("cleaned up")
            await asyncio.sleep(0)
            calls.append("swallowed")  # which is wrong, and changes nothing

    bus.subscribe("x", wait)
    bus.subscribe("x", lambda event: calls.append("next"), timeout_ms=0)

    async def work() -> None:
        publishing = asyncio.create_task(bus.publish(Event("x")))
        await asyncio.sleep(0)
        publishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await publishing

    asyncio.run(work())
    assert calls == ["cleaned up", "swallowed"]
    assert not bus.problems


def test_a_cancellation_while_another_thread_works_passes_through(bus: EventBus, released: threading.Event) -> None:
    began = threading.Event()

    def wait(event: Event) -> None:
        began.set()
        released.wait()

    bus.subscribe("x", wait, timeout_ms=60_000)

    async def work() -> None:
        publishing = asyncio.create_task(bus.publish(Event("x")))
        await asyncio.to_thread(began.wait, 10)
        publishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await publishing

    asyncio.run(work())
    released.set()
    assert not bus.problems


def test_a_timeout_of_the_publisher_is_its_own(bus: EventBus) -> None:
    async def wait(event: Event) -> None:
        await asyncio.sleep(60)

    bus.subscribe("x", wait, timeout_ms=60_000)

    async def work() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(_SHORT_MS / 1_000):
                await bus.publish(Event("x"))

    asyncio.run(work())
    assert not bus.problems


def test_the_loop_goes_on_while_a_handler_runs_elsewhere(bus: EventBus, released: threading.Event) -> None:
    bus.subscribe("x", lambda event: released.wait(10), timeout_ms=10_000)

    async def work() -> list[Any]:
        publishing = asyncio.create_task(bus.publish(Event("x")))
        await asyncio.sleep(0)
        released.set()
        return (await publishing).results

    assert asyncio.run(work()) == [True]


def test_handlers_that_are_gone_are_kept_by_no_thread(bus: EventBus, publish: Publish) -> None:
    class Handler:
        def __call__(self, event: Event) -> None: ...

    class AsyncHandler:
        async def __call__(self, event: Event) -> None:
            await asyncio.sleep(0)

    for kind in (Handler, AsyncHandler):
        handler = kind()
        gone = weakref.ref(handler)
        id_ = bus.subscribe("x", handler)
        publish(Event("x"))
        bus.unsubscribe(id_)
        del handler
        deadline = time.monotonic() + 10
        while gone() is not None and time.monotonic() < deadline:  # a thread may just be about to let it go
            gc.collect()
        assert gone() is None


def test_threads_are_used_again(bus: EventBus) -> None:
    used: set[int] = set()
    bus.subscribe("x", lambda event: used.add(threading.get_ident()))
    for _ in range(50):
        bus.publish_sync(Event("x"))
    assert len(used) == 1
    assert threading.get_ident() not in used


def test_there_is_an_end_to_threads(publish: Publish, bus: EventBus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_MAX_WORKERS", 0)
    monkeypatch.setattr(guard, "_idle", [])
    bus.subscribe("x", lambda event: 1)
    assert publish(Event("x")).results == []
    assert "RuntimeError: 0 handlers are running already" in bus.problems[0]


def test_a_copy_has_containers_of_its_own() -> None:
    class Own(Event):
        """Without slots, so it may have more than its fields."""

    shared: list[Any] = [1]
    event = Own("x", metadata={"a": shared, "b": shared, "c": {1, 2}, "d": (shared,)})
    event.more = {"deep": [{}]}  # type: ignore[attr-defined]
    event.metadata["self"] = event.metadata
    twin = copy_of(event)
    assert isinstance(twin, Own)
    assert twin.metadata["self"] is twin.metadata
    assert twin.metadata["a"] is twin.metadata["b"] is not shared
    assert twin.metadata["d"][0] is shared  # a tuple is a value
    twin.metadata["c"].add(3)
    twin.more["deep"][0]["x"] = 1  # type: ignore[attr-defined]
    assert event.metadata["c"] == {1, 2}
    assert event.more == {"deep": [{}]}  # type: ignore[attr-defined]


_HANGS = """
import threading
from sage_code.events.bus import EventBus
from sage_code.events.events import Event

async def block(event):
    threading.Event().wait()

bus = EventBus()
bus.subscribe("x", lambda event: threading.Event().wait(), timeout_ms=20)
bus.subscribe("x", block, timeout_ms=20)
bus.subscribe("x", lambda event: print("went on"), timeout_ms=10_000)
bus.publish_sync(Event("x"))
"""


def test_a_process_ends_with_handlers_that_hang() -> None:
    done = subprocess.run([sys.executable, "-c", _HANGS], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")


_FORKS = """
import asyncio, os
from sage_code.events.bus import EventBus
from sage_code.events.events import Event

async def later(event):
    await asyncio.sleep(0)
    return "async"

bus = EventBus()
bus.subscribe("x", lambda event: "sync", timeout_ms=10_000)
bus.subscribe("x", later, timeout_ms=10_000)
assert bus.publish_sync(Event("x")).results == ["sync", "async"]
child = os.fork()
assert bus.publish_sync(Event("x")).results == ["sync", "async"]
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
