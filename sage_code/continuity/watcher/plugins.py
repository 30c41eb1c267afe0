"""What is done about an event: three built-in plugins, each a function from an event to actions.

They are subscriptions on the bus, like the plugins of the user, and run before those. Only what they return is done:
what any other subscription returns is never an action.

`<home>/plugins.yaml` switches them off, orders them (a lower priority runs first) and has their settings. Nothing in
it names code: unknown plugins are ignored, and so is what is not valid, with a warning for the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sage_code.errors import SageError, UsageError
from sage_code.events.bus import EventBus
from sage_code.events.events import Event
from sage_code.events.session_events import (
    CheckpointFileCreated,
    CompactionDetected,
    DaemonStarted,
    DaemonStopping,
)
from sage_code.paths import sage_home

# The whole list of what a plugin can have done.
ACTIONS = frozenset(
    {"log", "save_recovery", "summarise", "write_marker", "queue_for_injection", "start_session", "end_session"}
)
_MAX_PRIORITY = 1_000_000
# A plugin of the user can neither delay nor cancel what the watcher has to do.
_BEFORE_ALL_OTHERS = -(10**12)
_SHOWN_SUMMARY = 120


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, of a type that is on the list; UsageError for any other."""

    type: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.type not in ACTIONS:
            raise UsageError(f"there is no action {self.type[:80]!r}", f"use one of {', '.join(sorted(ACTIONS))}")


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin with its configuration."""

    name: str
    priority: int
    events: tuple[Any, ...]  # classes of events
    answer: Callable[[Any, Mapping[str, float]], list[Action]]
    settings: Mapping[str, float] = field(default_factory=dict)  # each is a number from 0 to 1
    enabled: bool = True


def _session(event: DaemonStarted | DaemonStopping | CompactionDetected, _: Mapping[str, float]) -> list[Action]:
    """A session of the watcher lasts from its start to its end. A compaction begins one if none is open."""
    if isinstance(event, DaemonStopping):
        return [Action("end_session", {"reason": event.reason})]
    return [Action("start_session")]


def _recovery(event: CompactionDetected, settings: Mapping[str, float]) -> list[Action]:
    """The marker first: whoever answers the compaction must not wait for the checkpoint."""
    of = {"session": event.session, "root": event.root, "transcript": event.transcript_path}
    known = {**of, "compaction": event.compaction}
    begins = " ".join(event.summary.split())[:_SHOWN_SUMMARY]
    return [
        Action("write_marker", known),
        Action("save_recovery", {**known, "salience_threshold": settings["salience_threshold"]}),
        Action("log", {"text": f"compaction in {event.root}, session {event.session}: {begins or 'no summary'}"}),
    ]


def _checkpoint_queue(event: DaemonStarted | CheckpointFileCreated, _: Mapping[str, float]) -> list[Action]:
    """New checkpoints; at the start those that were saved while no watcher ran."""
    if isinstance(event, DaemonStarted):
        return [Action("queue_for_injection", {"recent": True})]
    return [
        Action("queue_for_injection", {"file": event.file_path, "checkpoint": event.checkpoint_id}),
        Action("log", {"text": f"new checkpoint {event.checkpoint_id}"}),
    ]


BUILT_IN = (
    Plugin("session", 10, (DaemonStarted, DaemonStopping, CompactionDetected), _session),
    Plugin("checkpoint-queue", 50, (DaemonStarted, CheckpointFileCreated), _checkpoint_queue),
    # Half: one request and some paragraphs since the last checkpoint, see `recovery.salience`.
    Plugin("recovery", 100, (CompactionDetected,), _recovery, {"salience_threshold": 0.5}),
)


class BuiltIns:
    """The built-in plugins on a bus, until `close`.

    `execute` gets what one of them returns for an event; a plugin that fails, or whose actions are refused, is
    reported to `on_error` and the others go on.
    """

    def __init__(
        self,
        bus: EventBus,
        execute: Callable[[list[Action], Event], None],
        on_error: Callable[[str, Exception], None],
    ) -> None:
        self._bus, self._execute, self._on_error = bus, execute, on_error
        self._subscriptions: list[str] = []

    def use(self, plugins: Iterable[Plugin]) -> None:
        """Put these plugins on the bus instead of those before."""
        self.close()
        for plugin in plugins:
            if plugin.enabled:
                self._subscriptions += [self._subscribe(plugin, kind) for kind in plugin.events]

    def close(self) -> None:
        """Take the plugins off the bus."""
        for subscription in self._subscriptions:
            self._bus.unsubscribe(subscription)
        self._subscriptions.clear()

    def _subscribe(self, plugin: Plugin, kind: Any) -> str:
        """Have a plugin answer the events of one class; returns the subscription."""

        def handle(event: Event) -> list[Action] | None:
            try:
                actions = plugin.answer(event, plugin.settings)
                self._execute(actions, event)
            except Exception as error:
                self._on_error(f"plugin {plugin.name}", error)
                return None
            return actions

        return self._bus.subscribe(
            kind.TYPE,
            handle,
            _BEFORE_ALL_OTHERS + plugin.priority,
            # An event that only has the type was not made by the watcher.
            lambda event: isinstance(event, kind),
            timeout_ms=0,
            name=f"built-in plugin {plugin.name}",
        )


def plugins_path() -> str:
    """The file of the plugins."""
    return os.path.join(sage_home(), "plugins.yaml")


def configured() -> tuple[tuple[Plugin, ...], list[str]]:
    """The plugins in the order in which they run, and what is wrong with the file. Without a file the defaults hold."""
    from sage_code.settings.tuning_file import read  # lazy: only a change of the file needs it

    warnings: list[str] = []
    try:
        entries = read(plugins_path()).entries
    except SageError as error:
        entries, warnings = {}, [f"{error.message}; the defaults hold"]
    given: Any = entries["plugins"].value if "plugins" in entries else {}
    warnings += [f"plugins.yaml: {key[:80]!r} is not known" for key in entries if key != "plugins"]
    if given is not None and not isinstance(given, dict):
        warnings.append("plugins.yaml: `plugins` must hold names of plugins; the defaults hold")
    given = given if isinstance(given, dict) else {}
    names = {plugin.name for plugin in BUILT_IN}
    warnings += [f"plugins.yaml: there is no plugin {str(name)[:80]!r}" for name in given if name not in names]
    plugins = [_with(plugin, given.get(plugin.name), warnings) for plugin in BUILT_IN]
    return tuple(sorted(plugins, key=lambda plugin: (plugin.priority, plugin.name))), warnings


def _with(plugin: Plugin, given: object, warnings: list[str]) -> Plugin:
    """A plugin with what the file says about it, as far as that is valid."""
    if given is None:
        return plugin
    if not isinstance(given, dict):
        warnings.append(f"plugins.yaml: {plugin.name} must hold `enabled`, `priority` or `settings`")
        return plugin

    def refuse(key: object, wanted: str) -> None:
        warnings.append(f"plugins.yaml: {plugin.name}: {str(key)[:80]} {wanted}; the default holds")

    for key, value in given.items():
        if key == "enabled" and isinstance(value, bool):
            plugin = replace(plugin, enabled=value)
        elif key == "priority" and type(value) is int and abs(value) <= _MAX_PRIORITY:
            plugin = replace(plugin, priority=value)
        elif key == "settings" and isinstance(value, dict):
            for name, number in value.items():
                if name not in plugin.settings:
                    refuse(name, "is no setting of it")
                elif type(number) in (int, float) and 0 <= number <= 1:
                    plugin = replace(plugin, settings={**plugin.settings, name: float(number)})
                else:
                    refuse(name, "must be a number from 0 to 1")
        else:
            refuse(key, "is not known or not valid")
    return plugin
