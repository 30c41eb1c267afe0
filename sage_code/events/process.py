"""A plugin that runs in a process of its own, seen from Sage: it looks like a plugin, and it can really be ended.

The process is started by the first call, or by `start` without waiting. A call that takes too long ends it, and the
next call starts another. Three calls that fail switch the plugin off until its file changes or Sage starts again. When
the file changes, the process is replaced, so that no old code is left; if the new code cannot be loaded, the plugin is
off until the file changes again. Every problem is said on stderr, with the plugin and the reason, and changes nothing
else: a hook that fails has no answer.
"""

from __future__ import annotations

import atexit
import errno
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sage_code.errors import PluginError
from sage_code.events import enabled
from sage_code.events.child import Child, ChildError, HookError
from sage_code.events.enabled import EnabledPlugin
from sage_code.events.events import Event, document
from sage_code.events.plugins import PluginMetadata

STRIKES = 3
# The four calls of one search look at the plugin's file once.
_LOOK_S = 0.1
# A handler of events delays no answer, so it has more time than a hook: enough for a slow server.
_EVENT_S = 30.0
_UNLOAD_S = 1.0

_processes: list[PluginProcess] = []


class PluginProcess:
    """An enabled plugin with the methods of all hooks; those that it does not have are never called by a bus."""

    runs_apart = True  # what it is given is copied on the way to it

    def __init__(
        self,
        record: EnabledPlugin,
        say: Callable[[str], None] = enabled.say,
        on_loaded: Callable[[PluginProcess, bool], None] | None = None,
    ) -> None:
        """`on_loaded` is called after each load, and learns whether the record has changed by it."""
        self.record = record
        self._say, self._on_loaded = say, on_loaded
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._accepted: Child | None = None  # the child whose plugin was compared with the record
        self._stamp: str | None = None  # of the file that the child has loaded
        self._looked = 0.0
        self._strikes = 0
        self._is_off = False
        self._said: set[str] = set()
        self._news: bool | None = None  # a load that `on_loaded` does not know of yet
        _processes.append(self)

    @property
    def metadata(self) -> PluginMetadata:
        """What the plugin says about itself."""
        one = self.record
        return PluginMetadata(one.name, one.version, one.author, one.description, list(one.hooks), one.priority)

    @property
    def is_off(self) -> bool:
        """Whether the plugin is switched off until its file changes."""
        return self._is_off

    def pre_load(self, layer: str, path: str) -> Any:
        """Another path to load."""
        return self._call("pre_load", layer, path)

    def post_load(self, layer: str, content: str) -> Any:
        """Another content."""
        return self._call("post_load", layer, content)

    def on_timeout(self, layer: str, elapsed_ms: int) -> Any:
        """A content instead of the one that did not come in time."""
        return self._call("on_timeout", layer, elapsed_ms)

    def pre_search(self, where: str, query: str, filters: dict[str, Any]) -> Any:
        """Another query, or query and filters."""
        return self._call("pre_search", where, query, filters)

    def post_search(self, where: str, query: str, results: list[dict[str, Any]]) -> Any:
        """Other results."""
        return self._call("post_search", where, query, results)

    def pre_format(self, command: str, document: dict[str, Any]) -> Any:
        """Another document."""
        return self._call("pre_format", command, document)

    def post_format(self, command: str, text: str) -> Any:
        """Another text."""
        return self._call("post_format", command, text)

    def start(self) -> None:
        """Start the process if there is none, without waiting for it."""
        if self._child is None and self._acquire(0.0):
            try:
                self._running()
            finally:
                self._lock.release()

    def load(self) -> bool:
        """Wait until the plugin is loaded; whether it is."""
        if not self._acquire(self.record.load_timeout_ms / 1000):
            return False
        try:
            return self._loaded() is not None
        finally:
            self._release()

    def notify(self, event: Event) -> None:
        """Send the plugin an event that it listens to; nothing waits for what it does with it."""
        if self._is_waste() or not self._acquire(self._seconds):
            return
        try:
            child = self._running()
            if child is None:
                return
            if child.pending and time.monotonic() - child.waiting_since > _EVENT_S:
                raise ChildError("timeout", "")
            child.tell(document(event))
            if self._accepts(child):
                self._say_problems(child)
        except ChildError as error:
            self._failed(error, "an event", _EVENT_S)
        except (TypeError, ValueError) as error:
            self._once("event", f"an event of type {event.type} cannot be sent to it: {error}")
        finally:
            self._release()

    def close(self) -> None:
        """End the process. Events that it has not handled yet, and its `on_unload`, have the time of a call."""
        self.let_go()
        if not self._acquire(self._seconds):
            return
        try:
            self._end()
        finally:
            self._lock.release()
            if self in _processes:
                _processes.remove(self)

    def let_go(self) -> None:
        """Let the process come to its end; `close` waits for it."""
        child = self._child
        if child is not None and self._acquire(0.0):
            child.let_go()
            self._lock.release()

    @property
    def _seconds(self) -> float:
        return self.record.timeout_ms / 1000

    def _acquire(self, seconds: float) -> bool:
        """Hold the plugin for one thread: its process answers one call after the other."""
        return self._lock.acquire(timeout=seconds) if seconds else self._lock.acquire(blocking=False)

    def _release(self) -> None:
        """Let other threads call, and say outside what was loaded: it may call this plugin."""
        news, self._news = self._news, None
        self._lock.release()
        if news is not None and self._on_loaded is not None:
            self._on_loaded(self, news)

    def _is_ready(self) -> bool:
        child = self._child
        return child is not None and child.loaded is not None

    def _is_waste(self) -> bool:
        """Whether a call is of no use: the plugin is off, and its file the same as when it was switched off."""
        return self._is_off and time.monotonic() - self._looked < _LOOK_S

    def _call(self, hook: str, *given: Any) -> Any:
        """The answer of a hook; None if it has none, for whatever reason."""
        if self._is_waste():
            return None
        if not self._acquire(self._seconds + (0 if self._is_ready() else self.record.load_timeout_ms / 1000)):
            self._once("busy", f"{hook} was left out: the plugin is busy with other calls")
            return None
        try:
            child = self._loaded()
            if child is None or hook not in self.record.hooks:
                return None
            answer = child.ask(hook, list(given), self._seconds)
            self._say_problems(child)
            return answer
        except HookError as error:
            self._strike(f"error in {hook}", f"{error} (in {hook})")
        except ChildError as error:
            self._failed(error, hook, self._seconds)
        except (TypeError, ValueError, RecursionError) as error:
            self._once("given", f"{hook} was left out: what it would get has no form for it: {error}")
        finally:
            self._release()
        return None

    def _running(self) -> Child | None:
        """The process, started if there is none; None while the plugin is off."""
        now = time.monotonic()
        if self._stamp is None or now - self._looked >= _LOOK_S:
            self._looked = now
            stamp = enabled.stamp_of(self.record.origin)
            if stamp != self._stamp:
                self._end()
                self._stamp, self._strikes, self._is_off = stamp, 0, False
                self._said.clear()
        if self._is_off:
            return None
        if self._child is None:
            try:
                self._child = _child_of(self.record)
            except OSError as error:
                self._switch_off(f"it cannot be started: {error.strerror}")
        return self._child

    def _loaded(self) -> Child | None:
        """The process with the plugin loaded in it; None while the plugin is off."""
        child = self._running()
        if child is None:
            return None
        try:
            child.load()
        except ChildError as error:
            self._child = None
            self._switch_off(_why_not_loaded(error, child, self.record))
            return None
        return child if self._accepts(child) else None

    def _accepts(self, child: Child) -> bool:
        """Whether what a process has loaded is the plugin that was enabled."""
        if child is self._accepted or child.loaded is None:
            return True
        if "failed" in child.loaded:
            self._end()
            self._switch_off(_why_failed(child.loaded))
            return False
        self._accepted = child
        return self._take_over(child.loaded)

    def _take_over(self, found: dict[str, Any]) -> bool:
        """Compare what the plugin says with the record; whether it is still the plugin that was enabled."""
        try:
            new = _described(found, self.record, self._stamp or "")
        except (KeyError, TypeError, ValueError) as error:
            self._end()
            self._switch_off(f"it does not say what it is: {error!r}")
            return False
        if new.name != self.record.name:
            self._end()
            self._switch_off(f"it calls itself {new.name} now; disable {self.record.name} and enable it again")
            return False
        is_other = new != self.record
        self.record, self._news = new, is_other
        return True

    def _failed(self, error: ChildError, what: str, seconds: float) -> None:
        """The process is of no more use: end it, and count that."""
        child, self._child = self._child, None
        how = child.end() if child is not None else ""
        if child is not None and child.loaded is not None and "failed" in child.loaded:
            self._switch_off(_why_failed(child.loaded))
        elif error.kind == "timeout":
            self._strike("timeout", f"{what} took longer than {seconds * 1000:g} ms")
        else:
            self._strike(error.kind, f"in {what}, {_why(error, how)}")

    def _strike(self, kind: str, reason: str) -> None:
        self._strikes += 1
        if self._strikes >= STRIKES:
            self._end()
            self._switch_off(f"{reason}; it has failed {STRIKES} times")
        else:
            self._once(kind, reason)

    def _switch_off(self, reason: str) -> None:
        self._is_off = True
        self._once("off", f"{reason}; it is switched off until its file changes or Sage starts again")

    def _say_problems(self, child: Child) -> None:
        """Say and count what has gone wrong with events."""
        while child.problems:
            self._strike("error in an event", child.problems.pop(0))
        if child.dropped:
            self._once("dropped", "events come faster than it handles them; some were left out")
            child.dropped = 0

    def _once(self, kind: str, reason: str) -> None:
        """Say a problem, unless one of its kind was said since the file has changed."""
        if kind not in self._said:
            self._said.add(kind)
            where = "" if self.record.origin in reason else f" ({self.record.origin})"
            self._say(f"plugin {self.record.name}{where}: {reason}")

    def _end(self) -> None:
        """End the process, if there is one; what it has still to do has the time of a call."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.pending or (child.loaded is not None and child.loaded.get("unloads")):
            child.let_go()
            child.wait(max(self._seconds, _UNLOAD_S) if child.pending else self._seconds)
            for problem in child.problems:
                self._once("problem", problem)
            if child.loaded is not None and "failed" in child.loaded:
                self._once("off", _why_failed(child.loaded))
        child.end()


def looked_at(record: EnabledPlugin) -> EnabledPlugin:
    """A plugin as a process of its own describes it, which ends then; PluginError if it cannot be loaded."""
    where, stamp = record.origin or record.source, enabled.stamp_of(record.origin)
    try:
        child = _child_of(record)
    except OSError as error:
        raise PluginError(f"{where}: it cannot be started: {error.strerror}", "look at what is there") from error
    try:
        found = child.load()
        if "failed" in found:
            raise PluginError(str(found["failed"]), str(found.get("hint", "")))
        new = _described(found, record, stamp)
        if found.get("unloads"):
            child.let_go()
            child.wait(record.timeout_ms / 1000)
        return new if stamp else replace(new, stamp=enabled.stamp_of(new.origin))
    except ChildError as error:
        reason = _why_not_loaded(error, child, record)
        raise PluginError(f"{where}: {reason}", "correct the plugin; SAGE_DEBUG=1 shows what it prints") from None
    except (KeyError, TypeError, ValueError) as error:
        raise PluginError(f"{where}: it does not say what it is: {error!r}", "correct the plugin") from None
    finally:
        child.end()


def _child_of(record: EnabledPlugin) -> Child:
    """A process that begins to load the plugin; OSError if it cannot be started, or the file is not the user's."""
    if os.path.isabs(record.source) and (problem := enabled.file_problem(record.source)):
        raise OSError(errno.EPERM, problem)
    order = {
        "load": record.source,
        "folder": enabled.plugins_dir(),
        "timeout_ms": record.timeout_ms,
        "load_timeout_ms": record.load_timeout_ms,
    }
    return Child(order, record.load_timeout_ms / 1000)


def _described(found: dict[str, Any], record: EnabledPlugin, stamp: str) -> EnabledPlugin:
    """The record of a plugin with what its process says about it."""
    texts: dict[str, Any] = {name: found[name] for name in ("name", "version", "author", "description")}
    lists: dict[str, Any] = {name: tuple(found[name]) for name in ("hooks", "events")}
    if not all(isinstance(one, str) for one in (*texts.values(), *lists["hooks"], *lists["events"], found["file"])):
        raise TypeError("a text is missing")
    priority = record.priority if record.has_chosen_priority else int(found["priority"])
    return replace(record, **texts, **lists, origin=found["file"], priority=priority, stamp=stamp)


def _why_failed(loaded: dict[str, Any]) -> str:
    hint = loaded.get("hint")
    return f"{loaded['failed']}{f' ({hint})' if hint else ''}"


def _why(error: ChildError, how: str) -> str:
    return f"{error.reason} {how}".strip()


def _why_not_loaded(error: ChildError, child: Child, record: EnabledPlugin) -> str:
    how = child.end()
    if error.kind == "timeout":
        return f"loading it took longer than {record.load_timeout_ms / 1000:g} s"
    return f"while it was loaded, {_why(error, how)}"


@atexit.register
def close_all() -> None:
    """End all processes, at the end of this one. They would end by themselves, but might have something to say."""
    for process in tuple(_processes):
        process.let_go()
    for process in tuple(_processes):
        process.close()
