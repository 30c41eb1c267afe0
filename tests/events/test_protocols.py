"""Objects with the methods of the specification's protocols listen without a base class."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from sage_code.events.bus import EventBus
from sage_code.events.events import EventType, FormatEvent, LoadEvent, SearchEvent, TimeoutEvent
from sage_code.events.protocols import FormatHandler, LoaderHandler, SearchHandler, TimeoutHandler, subscribe_handler


class _Loader:
    async def handle_pre_load(self, event: LoadEvent) -> LoadEvent:
        event.path = f"{event.path}.changed"
        return event

    async def handle_post_load(self, event: LoadEvent) -> LoadEvent:
        return replace(event, modified_content="another event")

    async def handle_timeout(self, event: TimeoutEvent) -> str | None:
        return "instead" if event.elapsed_ms > 10 else None


class _Shown:
    async def handle_pre_search(self, event: SearchEvent) -> SearchEvent:
        event.query = event.query.upper()
        return event

    async def handle_post_search(self, event: SearchEvent) -> SearchEvent:
        event.results_found.reverse()
        return event

    async def handle_pre_format(self, event: FormatEvent) -> FormatEvent:
        event.document["seen"] = True
        return event

    async def handle_post_format(self, event: FormatEvent) -> FormatEvent:
        event.text += "!"
        return event


@pytest.mark.parametrize("is_async", [False, True])
def test_methods_of_the_protocols_are_called(is_async: bool) -> None:
    bus = EventBus()
    loader, shown = _Loader(), _Shown()
    assert isinstance(loader, LoaderHandler)
    assert isinstance(loader, TimeoutHandler)
    assert not isinstance(loader, SearchHandler)
    assert isinstance(shown, SearchHandler)
    assert isinstance(shown, FormatHandler)
    ids = [*subscribe_handler(bus, loader), *subscribe_handler(bus, shown, priority=5)]
    assert len(ids) == 7
    events: tuple[Any, ...] = (
        LoadEvent(EventType.PRE_LOAD, path="a"),
        LoadEvent(EventType.POST_LOAD, content="x"),
        TimeoutEvent(EventType.TIMEOUT, elapsed_ms=11),
        TimeoutEvent(EventType.TIMEOUT, elapsed_ms=9),
        SearchEvent(EventType.PRE_SEARCH, query="q"),
        SearchEvent(EventType.POST_SEARCH, results_found=[{"id": 1}, {"id": 2}]),
        FormatEvent(EventType.PRE_FORMAT),
        FormatEvent(EventType.POST_FORMAT, text="x"),
    )
    for event in events:
        assert (asyncio.run(bus.publish(event)) if is_async else bus.publish_sync(event)) is event
        assert event.results == []
    pre_load, post_load, late, in_time, asked, answered, before, after = events
    assert pre_load.path == "a.changed"
    assert post_load.modified_content == "another event"
    assert late.fallback_content == "instead"
    assert in_time.fallback_content is None
    assert asked.query == "Q"
    assert answered.results_found == [{"id": 2}, {"id": 1}]
    assert before.document == {"seen": True}
    assert after.text == "x!"
    assert all(bus.unsubscribe(one) for one in ids)
    assert not bus.has_listeners(EventType.PRE_LOAD)


def test_half_of_a_protocol_is_none() -> None:
    class Half:
        async def handle_pre_load(self, event: LoadEvent) -> LoadEvent:
            return event

    with pytest.raises(TypeError, match="Half follows none of LoaderHandler, TimeoutHandler"):
        subscribe_handler(EventBus(), Half())
