"""Whether somebody listens to what Sage is about to do: the price of a seam.

A place in Sage that publishes asks `paths.anybody_listens` first, which imports nothing, and this module only if it
says yes:

    if anybody_listens():
        from sage_code.events.listening import bus_for

        if (bus := bus_for(EventType.PRE_SEARCH)) is not None:
            bus.publish_sync(SearchEvent(EventType.PRE_SEARCH, where="code", query=query))

The bus has the user's enabled plugins on it, and relays events to `sage events tail`. Which there are is looked up
again when the folder of those who listen has changed, so that a server need not be started again.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass, field

from sage_code.errors import SageError, explain
from sage_code.events import enabled
from sage_code.events.adapter import PluginAdapter
from sage_code.events.bus import EventBus, get_event_bus
from sage_code.events.enabled import EnabledPlugin
from sage_code.events.events import Event, EventType
from sage_code.events.process import PluginProcess
from sage_code.paths import listeners_dir

_Stamp = tuple[str, int, int]
_UNSETTLED: _Stamp = ("", 0, 0)
# Two changes of a folder within this time may leave the same time of change.
_CLOCK_TICK_NS = 50_000_000
# Which hooks are about to be called when the first of them is: their processes start beside each other and beside the
# search, before anything waits for them.
_SOON = {
    "search": ("pre_search", "post_search", "pre_format", "post_format"),
    "format": ("pre_format", "post_format"),
    "loader": ("pre_load", "post_load", "on_timeout"),
}


@dataclass(slots=True)
class _Attached:
    """A plugin on the bus, with everything that it listens to there."""

    process: PluginProcess
    adapter: PluginAdapter
    subscriptions: list[str]


@dataclass(slots=True)
class _Listeners:
    """Those on the default bus."""

    bus: EventBus
    stamp: _Stamp | None = _UNSETTLED  # of the folder when they were looked up
    attached: dict[str, _Attached] = field(default_factory=dict)
    warmed: set[str] = field(default_factory=set)  # the families of events whose processes are started


_lock = threading.RLock()
_listeners: list[_Listeners] = []  # those of the default bus; a test may have replaced it


def bus_for(event_type: str) -> EventBus | None:
    """The bus of this process with the enabled plugins on it, or None if nothing on it listens to this type."""
    bus = get_event_bus()
    _bring_up_to_date(bus, str(event_type).partition(".")[0])
    return bus if bus.has_listeners(event_type) else None


def _bring_up_to_date(bus: EventBus, family: str) -> None:
    """Put on the bus what is enabled now, and start what is about to be called."""
    stamp = _stamp()
    known = _listeners[0] if _listeners else None
    if known is not None and known.bus is bus and known.stamp == stamp and family in known.warmed:
        return
    with _lock:
        if not _listeners or _listeners[0].bus is not bus:
            for old in _listeners:
                _detach(old, list(old.attached))
            _listeners[:] = [_Listeners(bus)]
        known = _listeners[0]
        if known.stamp != stamp:
            _look_up(known)
            is_settled = stamp is None or time.time_ns() - stamp[1] > _CLOCK_TICK_NS
            known.stamp = stamp if is_settled else _UNSETTLED
            known.warmed.clear()
        if family not in known.warmed:
            known.warmed.add(family)
            for one in tuple(known.attached.values()):
                if not {*_SOON.get(family, ())}.isdisjoint(one.process.record.hooks):
                    one.process.start()


def _stamp() -> _Stamp | None:
    """What changes when a plugin is enabled or disabled, or a tail begins or ends; None without the folder."""
    folder = listeners_dir()
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return folder, found.st_mtime_ns, found.st_ino


def _look_up(known: _Listeners) -> None:
    """Attach what is new, detach what is gone or enabled in another way, relay to a tail."""
    wanted = {one.name: one for one in enabled.enabled()}
    _detach(known, [name for name, one in known.attached.items() if wanted.get(name) != one.process.record])
    for name, record in wanted.items():
        if name not in known.attached:
            _attach(known, record)
    if "sage_code.events.relay" in sys.modules or _has_tail():
        from sage_code.events import relay  # lazy: a tail is rare

        relay.sync(known.bus)


def _has_tail() -> bool:
    try:
        return any(name.endswith(".fifo") for name in os.listdir(listeners_dir()))
    except OSError:  # gone meanwhile
        return False


def _attach(known: _Listeners, record: EnabledPlugin) -> None:
    """Put a plugin on the bus. One whose file has changed since it was recorded says first what it is now."""
    process = PluginProcess(record, on_loaded=_loaded)
    known.attached[record.name] = _on_bus(known.bus, process)
    if record.stamp != enabled.stamp_of(record.origin):
        process.load()


def _on_bus(bus: EventBus, process: PluginProcess) -> _Attached:
    record = process.record
    subscriptions = [
        bus.subscribe(pattern, process.notify, record.priority, timeout_ms=0, name=f"plugin {record.name}")
        for pattern in record.events
    ]
    return _Attached(process, PluginAdapter(process, bus, timeout_ms=0), subscriptions)


def _off_bus(bus: EventBus, one: _Attached) -> None:
    one.adapter.unregister()
    for subscription in one.subscriptions:
        bus.unsubscribe(subscription)


def _detach(known: _Listeners, names: list[str]) -> None:
    for name in names:
        one = known.attached.pop(name)
        _off_bus(known.bus, one)
        one.process.close()
        _publish(known.bus, EventType.PLUGIN_UNLOADED, one.process.record)


def _loaded(process: PluginProcess, is_other: bool) -> None:
    """A plugin was loaded. If the record says other things about it, what it says now takes effect and is noted."""
    with _lock:
        known = _listeners[0] if _listeners else None
        one = known.attached.get(process.record.name) if known else None
        if known is None or one is None or one.process is not process:
            return
        if is_other:
            _off_bus(known.bus, one)
            known.attached[process.record.name] = _on_bus(known.bus, process)
            try:
                enabled.refresh(process.record)
            except (SageError, OSError) as error:
                why = explain(error) if isinstance(error, OSError) else error
                enabled.say(f"plugin {process.record.name}: what it is now could not be noted: {why.message}")
    _publish(known.bus, EventType.PLUGIN_LOADED, process.record)


def _publish(bus: EventBus, event_type: EventType, record: EnabledPlugin) -> None:
    if bus.has_listeners(event_type):
        facts = {"name": record.name, "version": record.version, "origin": record.origin, "hooks": list(record.hooks)}
        bus.publish_sync(Event(event_type, source=f"plugin {record.name}", metadata=facts))
