"""The bus as one plugin sees it: what the plugin subscribes to ends with the plugin."""

from __future__ import annotations

from collections.abc import Callable

from sage_code.errors import PluginError
from sage_code.events.bus import EventBus, Handler
from sage_code.events.events import Event


class PluginBus:
    """Passes everything on to a bus, and keeps a list of the plugin's own subscriptions."""

    def __init__(self, bus: EventBus, name: str) -> None:
        self._bus, self._name = bus, name
        self._own: dict[str, str] = {}  # patterns by the id of the subscription
        self._is_closed = False

    def subscribe(
        self,
        event_type: str,
        handler: Handler,
        priority: int = 100,
        filter_fn: Callable[[Event], bool] | None = None,
        once: bool = False,
        *,
        timeout_ms: int | None = None,
    ) -> str:
        """Have a handler called for the events of a type; returns the id of the subscription."""
        name = f"plugin {self._name}"
        id_ = self._bus.subscribe(event_type, handler, priority, filter_fn, once, timeout_ms=timeout_ms, name=name)
        self._own[id_] = str(event_type)
        if self._is_closed:  # looked at last: a thread of the plugin may subscribe while it is unloaded
            self.unsubscribe(id_)
            raise PluginError(f"plugin {self._name} is unloaded and cannot listen to anything", "load it again")
        return id_

    def unsubscribe(self, subscription_id: str) -> bool:
        """End a subscription of this plugin; whether there was one."""
        return self._own.pop(subscription_id, None) is not None and self._bus.unsubscribe(subscription_id)

    def has_listeners(self, event_type: str) -> bool:
        """Whether any handler would get an event of this type."""
        return self._bus.has_listeners(event_type)

    def publish_sync(self, event: Event, timeout_ms: int | None = None) -> Event:
        """Call all handlers of an event and return it."""
        return self._bus.publish_sync(event, timeout_ms)

    async def publish(self, event: Event, timeout_ms: int | None = None) -> Event:
        """The same in a running event loop."""
        return await self._bus.publish(event, timeout_ms)

    def patterns(self) -> list[str]:
        """What the plugin listens to."""
        return sorted(set(self._own.values()))

    def close(self) -> None:
        """End all subscriptions of the plugin, and let it make no more."""
        self._is_closed = True
        for id_ in list(self._own):
            self.unsubscribe(id_)
