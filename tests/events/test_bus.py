"""Who gets an event, in which order, what handlers may change, and what they may not do to each other."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sage_code.events.adapter import PluginAdapter
from sage_code.events.bus import STRIKES, EventBus, get_event_bus
from sage_code.events.events import Event, EventType, LoadEvent, TimeoutEvent
from sage_code.events.plugins import LoaderPlugin, PluginMetadata

Publish = Callable[..., Event]


@pytest.fixture
def bus() -> EventBus:
    return EventBus(timeout_ms=60_000)  # a busy machine does not fail a test


@pytest.fixture(params=["publish_sync", "publish"])
def publish(request: pytest.FixtureRequest, bus: EventBus) -> Publish:
    """Both ways to publish, called alike."""

    def asynchronously(event: Event, timeout_ms: int | None = None) -> Event:
        return asyncio.run(bus.publish(event, timeout_ms))

    return bus.publish_sync if request.param == "publish_sync" else asynchronously


def _noting(calls: list[Any], what: object, *, is_async: bool = False) -> Callable[[Event], Any]:
    async def note(event: Event) -> None:
        await asyncio.sleep(0)
        calls.append(what)

    return note if is_async else lambda event: calls.append(what)


@pytest.mark.parametrize(
    ("pattern", "heard", "unheard"),
    [
        ("search.pre_search", ["search.pre_search"], ["search.pre_search.x", "search", "search.post_search"]),
        ("search.*", ["search.pre_search", "search.a.b", "search."], ["search", "searches.a", "loader.pre_load"]),
        ("a.b.*", ["a.b.c", "a.b.c.d"], ["a.b", "a.bc", "a.c"]),
        ("source.*", ["loader.pre_load", "timeout.occurred", "index.file", "source.mine"], ["search.x", "format.x"]),
        ("analyze.*", ["search.post_search", "staleness.found", "analyze.mine"], ["loader.error", "memory.saved"]),
        ("generate.*", ["format.pre_format", "generate.mine"], ["search.post_search"]),
        ("evolve.*", ["plugin.loaded", "memory.saved", "session.checkpoint", "watcher.started"], ["index.started"]),
        ("*", ["anything", "", "a.b"], []),
        ("*.b", ["*.b"], ["a.b"]),
        ("", [""], ["a"]),
    ],
)
def test_patterns(bus: EventBus, pattern: str, heard: list[str], unheard: list[str]) -> None:
    calls: list[str] = []
    bus.subscribe(pattern, lambda event: calls.append(event.type), timeout_ms=0)
    for name in (*heard, *unheard):
        bus.publish_sync(Event(name))
        assert bus.has_listeners(name) is (name in heard)
    assert calls == heard


def test_every_type_of_sage_belongs_to_one_channel(bus: EventBus) -> None:
    calls: list[str] = []
    for channel in ("source", "analyze", "generate", "evolve"):
        bus.subscribe(f"{channel}.*", lambda event: calls.append(event.type), timeout_ms=0)
    for name in EventType:
        bus.publish_sync(Event(name))
    assert calls == list(EventType)


def test_a_type_is_the_same_as_a_constant_and_as_a_text(bus: EventBus) -> None:
    bus.subscribe(EventType.PRE_LOAD, lambda event: 1, timeout_ms=0)
    bus.subscribe("loader.pre_load", lambda event: 2, timeout_ms=0)
    assert bus.publish_sync(Event("loader.pre_load")).results == [1, 2]
    assert bus.publish_sync(Event(EventType.PRE_LOAD)).results == [1, 2]


def test_endless_types_are_not_kept(bus: EventBus) -> None:
    bus.subscribe("known.*", lambda event: 1, timeout_ms=0)
    for number in range(3_000):
        bus.publish_sync(Event(f"made.up_{number}"))
    assert len(bus._matching) <= 1_024
    assert bus.publish_sync(Event("known.one")).results == [1]


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_lower_priorities_run_first_and_equal_ones_in_their_order(
    bus: EventBus, publish: Publish, timeout_ms: int | None
) -> None:
    calls: list[Any] = []
    for number, priority in enumerate((5, 100, -1, 5, 100)):
        handler = _noting(calls, (priority, number), is_async=number % 2 == 0)
        bus.subscribe("a" if number % 3 else "*", handler, priority, timeout_ms=timeout_ms)
    publish(Event("a"))
    assert calls == [(-1, 2), (5, 0), (5, 3), (100, 1), (100, 4)]


@pytest.mark.parametrize("timeout_ms", [0, None])
@pytest.mark.parametrize("is_async", [False, True])
def test_handlers_see_what_those_before_have_changed(
    bus: EventBus, publish: Publish, timeout_ms: int | None, is_async: bool
) -> None:
    def add(word: str, event: Event) -> str:
        event.metadata.setdefault("words", []).append(word)
        event.source += word
        return word

    async def add_async(word: str, event: Event) -> str:
        return add(word, event)

    for word in "abc":
        handler = functools.partial(add_async if is_async else add, word)
        bus.subscribe("x", handler, timeout_ms=timeout_ms)
    event = Event("x", source="")
    assert publish(event) is event
    assert (event.source, event.metadata, event.results) == ("abc", {"words": ["a", "b", "c"]}, ["a", "b", "c"])


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_a_cancelled_event_goes_no_further(bus: EventBus, publish: Publish, timeout_ms: int | None) -> None:
    def cancel(event: Event) -> str:
        event.cancel()
        return "first"

    bus.subscribe("x", cancel, timeout_ms=timeout_ms)
    later = bus.subscribe("x", lambda event: "later", once=True, timeout_ms=timeout_ms)
    event = publish(Event("x"))
    assert (event.is_cancelled, event.results) == (True, ["first"])
    assert bus.unsubscribe(later)  # it was not used up


def test_none_and_the_event_itself_are_no_results(bus: EventBus, publish: Publish) -> None:
    async def returns(event: Event) -> Event:
        return event

    for timeout_ms in (0, None):
        bus.subscribe("x", returns, timeout_ms=timeout_ms)
        for result in (lambda event: event, lambda event: None, lambda event: 0, lambda event: ""):
            bus.subscribe("x", result, timeout_ms=timeout_ms)
    assert publish(Event("x")).results == [0, "", 0, ""]


class _Awaitable:
    def __await__(self) -> Any:
        yield from asyncio.sleep(0).__await__()
        return "awaited"


class _AsyncCallable:
    async def __call__(self, event: Event) -> str:
        return "called"


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_everything_that_can_be_awaited_is(bus: EventBus, publish: Publish, timeout_ms: int | None) -> None:
    async def word(text: str) -> str:
        return text

    bus.subscribe("x", lambda event: word("coroutine"), timeout_ms=timeout_ms)
    bus.subscribe("x", lambda event: _Awaitable(), timeout_ms=timeout_ms)
    bus.subscribe("x", _AsyncCallable(), timeout_ms=timeout_ms)
    assert publish(Event("x")).results == ["coroutine", "awaited", "called"]


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_a_filter_decides(bus: EventBus, publish: Publish, timeout_ms: int | None) -> None:
    bus.subscribe("x", lambda event: "yes", 1, lambda event: event.source == "me", timeout_ms=timeout_ms)
    used_up = bus.subscribe(
        "x", lambda event: "once", 2, lambda event: event.source == "me", True, timeout_ms=timeout_ms
    )
    assert publish(Event("x", source="other")).results == []
    assert publish(Event("x", source="me")).results == ["yes", "once"]
    assert publish(Event("x", source="me")).results == ["yes"]
    assert not bus.unsubscribe(used_up)


class _NoTruth:
    def __bool__(self) -> bool:
        raise ValueError("neither")


def _no_truth(event: Event) -> Any:
    return _NoTruth()


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_a_filter_that_fails_does_not_match(bus: EventBus, publish: Publish, timeout_ms: int | None) -> None:
    bus.subscribe("x", lambda event: 1, 1, lambda event: 1 / 0 > 1, timeout_ms=timeout_ms, name="first")
    bus.subscribe("x", lambda event: 2, 2, _no_truth, timeout_ms=timeout_ms, name="second")
    bus.subscribe("x", lambda event: 3)
    assert publish(Event("x")).results == [3]
    assert list(bus.problems) == ["first: ZeroDivisionError: division by zero (x)", "second: ValueError: neither (x)"]


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("timeout_ms", [0, None])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3"),
        (BaseException(), "BaseException"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (TimeoutError("mine"), "TimeoutError: mine"),
        (_Unprintable(), "_Unprintable: it cannot be shown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_a_handler_raises_reaches_no_other(
    bus: EventBus, publish: Publish, timeout_ms: int | None, is_async: bool, error: BaseException, said: str
) -> None:
    def fail(event: Event) -> None:
        raise error

    async def fail_later(event: Event) -> None:
        await asyncio.sleep(0)
        raise error

    bus.subscribe("x", fail_later if is_async else fail, 1, timeout_ms=timeout_ms, name="bad")
    bus.subscribe("x", lambda event: "good", 2, timeout_ms=0)
    assert publish(Event("x")).results == ["good"]
    assert list(bus.problems) == [f"bad: {said} (x)"]


def test_a_handler_with_a_limit_that_fails_changes_nothing(bus: EventBus, publish: Publish) -> None:
    def fail(event: Event) -> None:
        event.metadata["words"].append("spoiled")
        event.cancel()
        raise ValueError

    bus.subscribe("x", fail)
    event = publish(Event("x", metadata={"words": ["kept"]}))
    assert (event.metadata, event.is_cancelled) == ({"words": ["kept"]}, False)


def test_the_user_s_interrupt_passes_through(bus: EventBus, publish: Publish) -> None:
    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    bus.subscribe("x", interrupt, timeout_ms=0)
    with pytest.raises(KeyboardInterrupt):
        publish(Event("x"))
    assert not bus.problems


def test_three_problems_switch_a_handler_off(publish: Publish, bus: EventBus) -> None:
    said: list[str] = []
    bus._on_problem = said.append
    calls: list[int] = []

    def fail(event: Event) -> None:
        calls.append(1)
        raise ValueError("no")

    bus.subscribe("x", fail, timeout_ms=0, name="plugin bad")
    bus.subscribe("x", lambda event: "good", timeout_ms=0)
    for _ in range(5):
        assert publish(Event("x")).results == ["good"]
    assert len(calls) == len(bus.problems) == STRIKES
    assert said == ["plugin bad is switched off: it failed 3 times, at last on x: ValueError: no"]


def test_problems_are_logged_unless_somebody_wants_them(bus: EventBus, caplog: pytest.LogCaptureFixture) -> None:
    bus.subscribe("x", lambda event: 1 / 0, timeout_ms=0)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            bus.publish_sync(Event("x"))
    assert len(caplog.records) == 1
    assert "<lambda> is switched off: it failed 3 times, at last on x: ZeroDivisionError" in caplog.text


def test_one_who_wants_problems_may_fail() -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError(text[:3])

    bus = EventBus(on_problem=fail)
    bus.subscribe("x", lambda event: 1 / 0, timeout_ms=0, name="bad")
    for _ in range(5):
        bus.publish_sync(Event("x"))
    assert bus.problems[-1] == "on_problem: ZeroDivisionError: bad"
    assert not bus.has_listeners("x")


@pytest.mark.parametrize("timeout_ms", [0, None])
def test_handlers_come_and_go_while_an_event_is_published(
    bus: EventBus, publish: Publish, timeout_ms: int | None
) -> None:
    def change(event: Event) -> str:
        bus.unsubscribe(ended)
        bus.subscribe("x", lambda event: "new", 3, timeout_ms=timeout_ms)
        return "changed"

    bus.subscribe("x", change, 1, once=True, timeout_ms=timeout_ms)
    ended = bus.subscribe("x", lambda event: "ended", 2, timeout_ms=timeout_ms)
    assert publish(Event("x")).results == ["changed"]
    assert publish(Event("x")).results == ["new"]


def test_a_handler_may_publish(bus: EventBus, publish: Publish) -> None:
    async def inner(event: Event) -> str:
        await asyncio.sleep(0)
        return "inner"

    async def outer(event: Event) -> list[Any]:
        return bus.publish_sync(Event("inner")).results

    bus.subscribe("inner", inner)
    bus.subscribe("outer", outer)
    bus.subscribe("outer", lambda event: bus.publish_sync(Event("inner")).results)
    bus.subscribe("outer", lambda event: bus.publish_sync(Event("outermost")).results, timeout_ms=0)
    bus.subscribe("outermost", outer)
    assert publish(Event("outer")).results == [["inner"], ["inner"], [["inner"]]]


def test_a_handler_that_publishes_without_end_is_switched_off(bus: EventBus) -> None:
    bus.subscribe("x", lambda event: bus.publish_sync(Event("x")), timeout_ms=0)
    for _ in range(STRIKES):
        bus.publish_sync(Event("x"))
    assert not bus.has_listeners("x")
    assert "RecursionError" in bus.problems[0]


def test_once_is_once_with_many_publishers(bus: EventBus) -> None:
    calls: list[int] = []
    gate = threading.Barrier(8)
    for number in range(50):
        bus.subscribe("x", _noting(calls, number), once=True, timeout_ms=0)

    def work() -> None:
        gate.wait()
        bus.publish_sync(Event("x"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(calls) == list(range(50))
    assert not bus.has_listeners("x")


def test_many_threads_subscribe_and_publish(bus: EventBus) -> None:
    calls: list[int] = []
    bus.subscribe("*", _noting(calls, 1), timeout_ms=0)
    gate = threading.Barrier(6)

    def work(number: int) -> None:
        gate.wait()
        for _ in range(200):
            own = bus.subscribe(f"own.{number}", lambda event: event.add_result("own"), timeout_ms=0)
            assert bus.publish_sync(Event(f"own.{number}")).results == ["own"]
            assert bus.unsubscribe(own)
            assert bus.publish_sync(Event(f"own.{number}")).results == []

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 6 * 200 * 2
    assert not bus.problems
    assert len(bus._subscriptions) == 1


def test_a_handler_may_end_subscriptions_while_it_is_freed(bus: EventBus) -> None:
    other = bus.subscribe("x", lambda event: "other", timeout_ms=0)

    class Handler:
        def __call__(self, event: Event) -> None: ...

        def __del__(self) -> None:
            bus.unsubscribe(other)

    bus.unsubscribe(bus.subscribe("x", Handler(), timeout_ms=0))
    assert not bus.has_listeners("x")


def test_what_cannot_be_subscribed_is_refused(bus: EventBus) -> None:
    with pytest.raises(TypeError, match="a handler is a function, not str"):
        bus.subscribe("x", "print")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a time limit of -1 ms is not possible"):
        bus.subscribe("x", print, timeout_ms=-1)
    with pytest.raises(TypeError):
        bus.subscribe(7, print)  # type: ignore[arg-type]
    assert not bus.has_listeners("x")
    assert not bus.unsubscribe("sub_1")


def test_there_is_one_bus_of_the_process_and_others_know_nothing_of_it() -> None:
    assert get_event_bus() is EventBus.get_instance()
    own = EventBus()
    id_ = own.subscribe("only.here", print)
    assert not get_event_bus().has_listeners("only.here")
    assert own.unsubscribe(id_)
    assert not own.unsubscribe(id_)


class _SpecPlugin(LoaderPlugin):
    """An old-style plugin, as the specification has it."""

    @property
    def metadata(self) -> PluginMetadata:
        return PluginMetadata("cache", "1.0", "A", "B", ["pre_load", "post_load", "on_timeout"], priority=50)

    def pre_load(self, layer: str, path: str) -> str | None:
        return f"/cache/{path}" if layer == "core" else None

    def post_load(self, layer: str, content: str) -> str:
        return f"{content} (seen)"

    def on_timeout(self, layer: str, elapsed_ms: int) -> str | None:
        return f"{layer} took {elapsed_ms} ms"


def test_the_adapter_of_the_specification(bus: EventBus) -> None:
    adapter = PluginAdapter(_SpecPlugin(), bus)

    async def work() -> tuple[Any, ...]:
        return (
            await bus.publish(LoadEvent(type=EventType.PRE_LOAD, layer="core", path="a.md")),
            await bus.publish(LoadEvent(type=EventType.PRE_LOAD, layer="blocks", path="a.md")),
            await bus.publish(LoadEvent(type=EventType.POST_LOAD, layer="core", content="text")),
            await bus.publish(TimeoutEvent(type=EventType.TIMEOUT, layer="core", elapsed_ms=70, timeout_ms=50)),
        )

    before, other, after, late = asyncio.run(work())
    assert before.modified_content == "/cache/a.md"
    assert other.modified_content is None
    assert after.modified_content == "text (seen)"
    assert late.fallback_content == "core took 70 ms"
    adapter.unregister()
    assert not any(map(bus.has_listeners, EventType))
