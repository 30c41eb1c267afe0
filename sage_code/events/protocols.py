"""Objects that handle events: a class with methods of these names needs no plugin and no base class to listen.

class Traces:
    async def handle_pre_search(self, event: SearchEvent) -> SearchEvent: ...
    async def handle_post_search(self, event: SearchEvent) -> SearchEvent: ...

subscribe_handler(bus, Traces())
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType, FormatEvent, LoadEvent, SearchEvent, TimeoutEvent, take_over


@runtime_checkable
class LoaderHandler(Protocol):
    """Handles what is loaded."""

    async def handle_pre_load(self, event: LoadEvent) -> LoadEvent:
        """Before, with the path."""

    async def handle_post_load(self, event: LoadEvent) -> LoadEvent:
        """After, with the content."""


@runtime_checkable
class TimeoutHandler(Protocol):
    """Handles what takes too long."""

    async def handle_timeout(self, event: TimeoutEvent) -> str | None:
        """The content to go on with."""


@runtime_checkable
class SearchHandler(Protocol):
    """Handles searches."""

    async def handle_pre_search(self, event: SearchEvent) -> SearchEvent:
        """Before, with the query."""

    async def handle_post_search(self, event: SearchEvent) -> SearchEvent:
        """After, with what was found."""


@runtime_checkable
class FormatHandler(Protocol):
    """Handles what is shown."""

    async def handle_pre_format(self, event: FormatEvent) -> FormatEvent:
        """Before, with the document."""

    async def handle_post_format(self, event: FormatEvent) -> FormatEvent:
        """After, with the text."""


_METHODS = {
    LoaderHandler: {"handle_pre_load": EventType.PRE_LOAD, "handle_post_load": EventType.POST_LOAD},
    TimeoutHandler: {"handle_timeout": EventType.TIMEOUT},
    SearchHandler: {"handle_pre_search": EventType.PRE_SEARCH, "handle_post_search": EventType.POST_SEARCH},
    FormatHandler: {"handle_pre_format": EventType.PRE_FORMAT, "handle_post_format": EventType.POST_FORMAT},
}


def subscribe_handler(
    bus: EventBus, handler: object, priority: int = 100, *, timeout_ms: int | None = None
) -> list[str]:
    """Connect an object that follows one or more of the protocols; the ids of its subscriptions.

    A method may change the event that it gets, or return another one with other values.
    """
    ids = [
        bus.subscribe(
            event_type,
            functools.partial(_handle, getattr(handler, method)),
            priority,
            timeout_ms=timeout_ms,
            name=f"{type(handler).__name__}.{method}",
        )
        for protocol, methods in _METHODS.items()
        if isinstance(handler, protocol)
        for method, event_type in methods.items()
    ]
    if not ids:
        names = ", ".join(protocol.__name__ for protocol in _METHODS)
        raise TypeError(f"{type(handler).__name__} follows none of {names}")
    return ids


async def _handle(method: Callable[[Any], Awaitable[Any]], event: Event) -> None:
    """Put what a method returns to where it belongs."""
    returned = await method(event)
    if isinstance(returned, type(event)) and returned is not event:
        take_over(event, returned)
    elif isinstance(event, TimeoutEvent) and isinstance(returned, str):
        event.fallback_content = returned
