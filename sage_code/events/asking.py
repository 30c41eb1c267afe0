"""Publishes an event whose handlers may change it, and makes sure that what they have changed can be used."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

from sage_code.errors import SageError
from sage_code.events.bus import EventBus
from sage_code.events.events import Event

_Asked = TypeVar("_Asked", bound=Event)


def ask(bus: EventBus, event: _Asked, settle: Callable[[_Asked], None]) -> _Asked:
    """The event after all of its handlers.

    `settle` raises if the event cannot be used as it is, and may complete it. It is called after each plugin that
    changes something, so that the bus can say which one is wrong, and once at the end for other handlers. If that fails
    the event as it was before comes back.
    """
    event._settle = settle
    before = copy.copy(event)
    bus.publish_sync(event)
    try:
        settle(event)
    except (SageError, ValueError, TypeError, KeyError, AttributeError) as error:
        from sage_code.events.enabled import say  # lazy: only for mistakes

        say(f"a handler of {event.type} has changed it to what cannot be used: {error}")
        return before
    return event
