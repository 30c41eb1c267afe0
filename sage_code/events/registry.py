"""The plugins of one process: which are loaded, from which files, and what each of them has on the bus.

Loading code runs it, so this registry is for code that may run here: in the process that Sage starts for each enabled
plugin, and in programs that use Sage as a library. A file is a unit: it is loaded with all plugins in it or not at all.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sage_code.errors import PluginError
from sage_code.events.adapter import PluginAdapter
from sage_code.events.bus import EventBus, get_event_bus
from sage_code.events.events import Event, EventType
from sage_code.events.plugin_bus import PluginBus
from sage_code.events.plugin_source import LoadedSource, Stamp, forget_modules, load_source, stamp_of
from sage_code.events.plugins import Plugin, PluginMetadata
from sage_code.events.reasons import reason_with_line
from sage_code.events.validation import checked_metadata

_KEPT_PROBLEMS = 100


@dataclass(slots=True, eq=False)
class _Loaded:
    """A plugin that is checked, as the adapter sees it: with the metadata that was checked, and the plugin's methods.

    With an adapter it is on the bus.
    """

    plugin: Any
    metadata: PluginMetadata
    origin: str  # what it was loaded from: a file, `module:attr`, or empty for an object of the program
    bus: PluginBus
    file: str = ""
    modules: tuple[str, ...] = ()
    stamp: Stamp | None = None
    adapter: PluginAdapter | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plugin, name)


class PluginRegistry:
    """Loads, unloads and reloads plugins. Every change is checked first; one that fails leaves things as they were."""

    def __init__(
        self,
        bus: EventBus | None = None,
        on_problem: Callable[[str], None] | None = None,
        *,
        timeout_ms: int | None = None,
        folder: str = "",
    ) -> None:
        """`timeout_ms` bounds each hook (0: not at all); `folder` is where plugins may keep files of their own."""
        self._bus = bus or get_event_bus()
        self._on_problem = on_problem
        self._timeout_ms, self._folder = timeout_ms, folder
        self._loaded: dict[str, _Loaded] = {}
        self._lock = threading.RLock()  # `on_load` may load another plugin
        self.problems: deque[str] = deque(maxlen=_KEPT_PROBLEMS)

    def register(self, plugin: Any, *, origin: str = "") -> PluginMetadata:
        """Put a plugin to use: check it, call its `on_load`, connect its hooks; PluginError if any of it fails."""
        with self._lock:
            one = self._checked(plugin, origin)
            self._refuse_known([one])
            self._start(one)
            self._connect(one)
            return one.metadata

    def load(self, source: str) -> list[str]:
        """Load the plugins of a file or of `module:attr`; their names."""
        with self._lock:
            new = self._load(source)
            started: list[_Loaded] = []
            try:
                self._refuse_known(new)
                for one in new:
                    self._start(one)
                    started.append(one)
            except BaseException:
                self._undo(new, started)
                raise
            for one in new:
                self._connect(one)
            return [one.metadata.name for one in new]

    def load_from_directory(self, path: str | os.PathLike[str]) -> int:
        """Load every `*.py` of a folder that does not begin with `_`; how many plugins there were.

        What cannot be loaded is kept in `problems` and said; the others are loaded all the same.
        """
        folder = os.path.abspath(path)
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            self._problem(f"{folder}: {error.strerror}")
            return 0
        number = 0
        for name in names:
            if name.endswith(".py") and not name.startswith(("_", ".")):
                try:
                    number += len(self.load(os.path.join(folder, name)))
                except PluginError as error:
                    self._problem(error.message)
        return number

    def unload(self, name: str) -> None:
        """Take a plugin out of use, with everything that it has on the bus; its `on_unload` may fail."""
        with self._lock:
            one = self._known(name)
            self._disconnect(one)
            self._stop(one)
            if not any(other.modules == one.modules for other in self._loaded.values()):
                forget_modules(one.modules)

    def reload(self, name: str) -> list[str]:
        """Load a plugin's file as it is now, with all plugins in it; their names.

        If that fails, the old code stays in use. So the new code's `on_load` runs before the old code's `on_unload`.
        """
        with self._lock:
            origin = self._known(name).origin
            if not origin:
                raise PluginError(f"plugin {name} has no file", "unload it and register another object")
            old = [one for one in self._loaded.values() if one.origin == origin]
            for one in old:
                one.stamp = stamp_of(one.file)  # a broken file is not tried again until it changes again
            modules = {known: sys.modules[known] for known in old[0].modules if known in sys.modules}
            started: list[_Loaded] = []
            new: list[_Loaded] = []
            try:
                new = self._load(origin, tuple(modules))
                self._refuse_known(new, besides=old)
                for one in new:
                    self._start(one)
                    started.append(one)
            except BaseException as error:
                self._undo(new, started)
                sys.modules.update(modules)
                if isinstance(error, PluginError):
                    raise PluginError(f"{error.message}; the old code stays in use", error.hint) from None
                raise
            for one in old:
                self._disconnect(one)
                self._stop(one)
            forget_modules(tuple(modules.keys() - {*new[0].modules}))
            for one in new:
                self._connect(one)
            return [one.metadata.name for one in new]

    def reload_changed(self) -> list[str]:
        """Reload the plugins whose files have changed since they were loaded; the names of those that are new now.

        A file that is gone or broken is said, and its old code stays in use.
        """
        reloaded: list[str] = []
        for one in list(self._loaded.values()):
            is_current = self._loaded.get(one.metadata.name) is one  # not replaced with another plugin of its file
            if one.file and is_current and stamp_of(one.file) != one.stamp:
                try:
                    reloaded += self.reload(one.metadata.name)
                except PluginError as error:
                    self._problem(error.message)
        return reloaded

    def plugins(self) -> list[PluginMetadata]:
        """What the loaded plugins say about themselves, in the order in which they run."""
        return [one.metadata for one in self._ordered()]

    def get_hooks(self, hook: str) -> list[Plugin]:
        """The plugins that have a hook, in the order in which they run."""
        return [one.plugin for one in self._ordered() if hook in one.metadata.hooks]

    def subscribed(self, name: str) -> list[str]:
        """What a plugin listens to on the bus beside its hooks."""
        return self._known(name).bus.patterns()

    def _ordered(self) -> list[_Loaded]:
        return sorted(self._loaded.values(), key=lambda one: one.metadata.priority)

    def _known(self, name: str) -> _Loaded:
        if name not in self._loaded:
            raise PluginError(f"there is no plugin {name[:64]!r}", f"there are: {', '.join(self._loaded) or 'none'}")
        return self._loaded[name]

    def _load(self, source: str, again: tuple[str, ...] = ()) -> list[_Loaded]:
        """The checked plugins of a source, not in use yet."""
        loaded = load_source(source, again)
        try:
            new = [self._checked(plugin, loaded.origin, loaded) for plugin in loaded.plugins]
            names = [one.metadata.name for one in new]
            if double := {name for name in names if names.count(name) > 1}:
                raise PluginError(
                    f"{loaded.file or source}: two plugins in it are named {double.pop()}", "rename one of them"
                )
        except BaseException:
            forget_modules(loaded.modules)
            raise
        return new

    def _checked(self, plugin: Any, origin: str, loaded: LoadedSource | None = None) -> _Loaded:
        where = (loaded.file if loaded else "") or origin or f"plugin of type {type(plugin).__name__}"
        metadata = checked_metadata(plugin, where)
        view = PluginBus(self._bus, metadata.name)
        if loaded is None:
            file = origin if os.path.isabs(origin) else ""
            return _Loaded(plugin, metadata, origin, view, file, (), stamp_of(file) if file else None)
        return _Loaded(plugin, metadata, origin, view, loaded.file, loaded.modules, loaded.stamp)

    def _refuse_known(self, new: list[_Loaded], besides: list[_Loaded] | None = None) -> None:
        """Refuse what is loaded already, except plugins that are about to be replaced."""
        for known in self._loaded.values():
            for one in new:
                name = known.metadata.name
                if known.plugin is one.plugin:
                    raise PluginError(f"plugin {name} is loaded already", "unload it first")
                if name == one.metadata.name and known not in (besides or ()):
                    raise PluginError(
                        f"{_where(one)}: the name {name} belongs to the plugin of {_where(known)}", "rename one of them"
                    )

    def _start(self, one: _Loaded) -> None:
        """Call `on_load`; PluginError if it fails, and nothing of the plugin stays on the bus."""
        on_load = getattr(one.plugin, "on_load", None)
        if on_load is None:
            return
        folder = os.path.join(self._folder, one.metadata.name) if self._folder else os.path.dirname(one.file)
        try:
            on_load({"registry": self, "bus": one.bus, "folder": folder})
        except KeyboardInterrupt:
            one.bus.close()
            raise
        except BaseException as error:
            one.bus.close()
            message = f"{_where(one)}{reason_with_line(error, one.file)} (in on_load)"
            raise PluginError(message, "correct the plugin, or disable it") from None

    def _connect(self, one: _Loaded) -> None:
        one.adapter = PluginAdapter(one, self._bus, timeout_ms=self._timeout_ms)
        self._loaded[one.metadata.name] = one
        self._publish(EventType.PLUGIN_LOADED, one)

    def _disconnect(self, one: _Loaded) -> None:
        if one.adapter is not None:
            one.adapter.unregister()
        one.adapter = None
        self._loaded.pop(one.metadata.name, None)

    def _stop(self, one: _Loaded) -> None:
        """Call `on_unload`, then end everything that the plugin has subscribed to, and say that it is gone."""
        on_unload = getattr(one.plugin, "on_unload", None)
        try:
            if on_unload is not None:
                on_unload()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._problem(f"{_where(one)}{reason_with_line(error, one.file)} (in on_unload)")
        finally:
            one.bus.close()
        self._publish(EventType.PLUGIN_UNLOADED, one)

    def _undo(self, new: list[_Loaded], started: list[_Loaded]) -> None:
        """Undo a load that failed half way."""
        for one in started:
            self._stop(one)
        for one in new:
            forget_modules(one.modules)

    def _publish(self, event_type: EventType, one: _Loaded) -> None:
        if self._bus.has_listeners(event_type):
            facts = {"name": one.metadata.name, "version": one.metadata.version, "origin": one.origin}
            self._bus.publish_sync(Event(event_type, source="registry", metadata=facts))

    def _problem(self, text: str) -> None:
        self.problems.append(text)
        if self._on_problem is not None:
            self._on_problem(text)


def _where(one: _Loaded) -> str:
    return one.file or one.origin or f"plugin {one.metadata.name}"
