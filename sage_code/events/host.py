"""The process that one plugin runs in. Sage starts it, and can end it at any time.

Orders come in through a pipe, answers go out through another; the plugin sees neither. An order is a number of bytes
and a `marshal` of it, because Sage wrote it; an answer is a line of JSON, because the plugin may have written it:

    {"load": source, ...}                   {"loaded": {...}} or {"failed": "why"}
    {"n": 7, "call": hook, "given": [...]}  {"n": 7, "value": ...}, {"n": 7, "unchanged": true}, {"n": 7, "error": ...}
    {"event": {...}}                        {"done": 1} or {"done": 1, "error": "why"}

Hooks run in the main thread, one after the other. Events are handled in a thread of their own, so that a slow handler
keeps no hook waiting. What a plugin publishes on its bus stays in this process.

The process ends by itself when Sage does: its input closes. While a hook runs, and could run for ever, an alarm and a
limit of processor time end it. What the plugin prints is shown only with SAGE_DEBUG.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import threading
import time
from dataclasses import fields
from queue import SimpleQueue
from typing import Any, BinaryIO

from sage_code.errors import PluginError
from sage_code.events.adapter import PluginAdapter
from sage_code.events.bus import EventBus, Handler
from sage_code.events.events import Event, FormatEvent, LoadEvent, SearchEvent, TimeoutEvent
from sage_code.events.plugins import PluginBase
from sage_code.events.reasons import reason, reason_with_line
from sage_code.events.registry import PluginRegistry
from sage_code.text import light_json

# More than any plugin for search has needed; a plugin that fills the memory of the machine gets a MemoryError.
_MAX_MEMORY = 512 << 20
_MAX_ANSWER = 16 << 20
_HEAD_BYTES = 4
# The next call of an answer follows at once. To be woken up for it takes longer than to look for it.
_AT_ONCE_S = 0.001
# Sage ends a call that takes too long; the alarm is for a process whose Sage is gone.
_GRACE_S = 2.0
_MAX_REASON = 500
# A plugin may have threads that work between calls, so the limit is far above what a call may take.
_PROCESSOR_S = 60
_CLASSES: dict[str, type[Event]] = {
    "loader": LoadEvent, "timeout": TimeoutEvent, "search": SearchEvent, "format": FormatEvent,
}  # fmt: skip


class _OwnBus(EventBus):
    """Has what the plugin itself subscribes to. Its hooks are called by orders, not by events that it listens to."""

    def subscribe(self, event_type: str, handler: Handler, *rest: Any, **options: Any) -> str:
        """Have a handler called for the events of a type; returns the id of the subscription."""
        method = getattr(handler, "func", handler)  # the adapter's are partial
        if isinstance(getattr(method, "__self__", None), PluginAdapter):
            return ""
        return super().subscribe(event_type, handler, *rest, **options)

    def has_listeners(self, event_type: str) -> bool:
        """Whether any handler would get an event of this type. That a plugin is loaded is published by Sage."""
        return not str(event_type).startswith("plugin.") and super().has_listeners(event_type)


class Host:
    """One plugin, and the pipes to Sage."""

    def __init__(self, orders: BinaryIO, answers: int) -> None:
        self._orders, self._answers = orders, answers
        self._ready = select.poll()
        self._ready.register(orders, select.POLLIN)
        self._pid = os.getpid()
        self._writing = threading.Lock()
        self._file = ""
        self._hooks: dict[str, Any] = {}
        self._events: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._handler: threading.Thread | None = None  # it starts with the first event
        self._problems: list[str] = []
        self._bus = _OwnBus(timeout_ms=0, on_problem=self._problems.append)

    def run(self) -> None:
        """Load the plugin and carry out orders until there are no more."""
        first = self._next()
        if first is None or not self._load(first):
            return
        self._seconds = first["timeout_ms"] / 1000 + _GRACE_S
        while (order := self._next()) is not None:
            if "event" in order:
                self._take(order["event"])
            else:
                self._bounded(self._seconds)
                answer = self._answer(order)
                signal.setitimer(signal.ITIMER_REAL, 0)
                self._send(answer)
        self._bounded(2 * self._seconds)
        self._finish()

    def _next(self) -> dict[str, Any] | None:
        soon = time.monotonic() + _AT_ONCE_S
        while not self._ready.poll(0) and time.monotonic() < soon:
            pass
        head = self._orders.read(_HEAD_BYTES)
        if len(head) < _HEAD_BYTES:
            return None
        self._body = self._orders.read(int.from_bytes(head, "little"))
        return self._order()

    def _order(self) -> dict[str, Any]:
        """The last order, as it came. Only Sage has the other end of the pipe, so it is what Sage wrote."""
        return marshal.loads(self._body)  # type: ignore[no-any-return]  # noqa: S302

    def _send(self, answer: str) -> None:
        if os.getpid() != self._pid:  # the plugin has forked: only the first process speaks
            os._exit(0)
        data = memoryview(answer.encode("utf-8", "surrogatepass") + b"\n")
        with self._writing:
            while data:
                data = data[os.write(self._answers, data) :]

    def _bounded(self, seconds: float) -> None:
        """Let the system end this process after that time, and after much processor time."""
        import resource  # lazy: not on Windows, where no plugin runs

        signal.setitimer(signal.ITIMER_REAL, seconds)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        limit = int(time.process_time() + seconds) + _PROCESSOR_S
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard < 0 else min(limit, hard), hard))

    def _load(self, order: dict[str, Any]) -> bool:
        """Load the plugin and say what it is; whether it could be loaded."""
        self._bounded(order["load_timeout_ms"] / 1000 + _GRACE_S)
        source = order["load"]
        try:
            self._registry = PluginRegistry(self._bus, self._problems.append, timeout_ms=0, folder=order["folder"])
            names = self._registry.load(source)
            if len(names) != 1:
                raise PluginError(
                    f"{source}: there are {len(names)} plugins in it", "write each into a file of its own"
                )
        except PluginError as error:
            self._send(light_json.dumps({"failed": error.message, "hint": error.hint}))
            return False
        except BaseException as error:
            self._send(light_json.dumps({"failed": f"{source}: {reason(error)}", "hint": "correct the plugin"}))
            return False
        [metadata] = self._registry.plugins()
        [self._name] = names
        module = sys.modules.get(source.partition(":")[0])
        self._file = (getattr(module, "__file__", None) if module else None) or source
        self._hooks = {
            hook: getattr(plugin, hook) for hook in metadata.hooks for plugin in self._registry.get_hooks(hook)
        }
        plugin = self._registry.get_hooks(metadata.hooks[0])[0] if metadata.hooks else None
        unloads = plugin is None or getattr(type(plugin), "on_unload", PluginBase.on_unload) is not PluginBase.on_unload
        description = {
            "name": metadata.name,
            "version": metadata.version,
            "author": metadata.author,
            "description": metadata.description,
            "hooks": metadata.hooks,
            "priority": metadata.priority,
            "events": self._registry.subscribed(metadata.name),
            "file": self._file,
            "unloads": unloads,
        }
        self._send(light_json.dumps({"loaded": description}))
        signal.setitimer(signal.ITIMER_REAL, 0)
        return True

    def _answer(self, order: dict[str, Any]) -> str:
        """What the plugin's hook answers; its arguments are its own, so changing them changes nothing in Sage."""
        number, hook, given = order["n"], order["call"], order["given"]
        try:
            value = self._hooks[hook](*given)
            if value is None or value == self._order()["given"][1 if hook == "pre_search" else -1]:
                return f'{{"n": {number}, "unchanged": true}}'
            text = light_json.dumps(value)
        except BaseException as error:
            return light_json.dumps({"n": number, "error": f"{self._file}{reason_with_line(error, self._file)}"})
        if len(text) > _MAX_ANSWER:
            error_text = f"{self._file}: the answer has {len(text):,} characters, {_MAX_ANSWER:,} are allowed"
            return light_json.dumps({"n": number, "error": error_text})
        return f'{{"n": {number}, "value": {text}}}'

    def _take(self, document: dict[str, Any]) -> None:
        """Leave an event to the thread that handles them."""
        if self._handler is None:
            self._handler = threading.Thread(target=self._handle_events, daemon=True)
            self._handler.start()
        self._events.put(document)

    def _handle_events(self) -> None:
        problems = self._bus.problems
        while (document := self._events.get()) is not None:
            problems.clear()
            try:
                self._bus.publish_sync(_event(document))
            except BaseException as error:
                problems.append(f"{self._file}{reason_with_line(error, self._file)}")
            answer = {"done": 1} | ({"error": problems[0][:_MAX_REASON]} if problems else {})
            self._send(light_json.dumps(answer))

    def _finish(self) -> None:
        """Handle the events that are left, and let the plugin clean up."""
        if self._handler is not None:
            self._events.put(None)
            self._handler.join(self._seconds)
        self._problems.clear()
        self._registry.unload(self._name)
        if self._problems:
            self._send(light_json.dumps({"problem": str(self._problems[0])[:_MAX_REASON]}))


def _event(document: dict[str, Any]) -> Event:
    """The event that a document describes; what its class has no field for is left out."""
    type_ = str(document["type"])
    kind = _CLASSES.get(type_.partition(".")[0])
    if kind is None:
        from sage_code.events.session_events import CLASSES  # lazy: seldom, and hooks need none of them

        kind = CLASSES.get(type_, Event)
    known = {one.name for one in fields(kind) if not one.name.startswith("_")}
    return kind(**{name: value for name, value in document.items() if name in known})


def main() -> None:
    """The process of a plugin, from its first order to its end."""
    orders, answers = os.fdopen(os.dup(0), "rb", 1 << 16), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    is_shown = bool(os.environ.get("SAGE_DEBUG"))
    os.dup2(nothing, 0)
    os.dup2(2 if is_shown else nothing, 1)
    if not is_shown:  # a process of the plugin that outlives it must not keep the terminal or a pipe of Sage's caller
        os.dup2(nothing, 2)
    os.close(nothing)
    _limit_memory()
    try:
        Host(orders, answers).run()
    except BrokenPipeError:  # Sage has gone
        pass
    except BaseException:
        if is_shown:
            raise
        os._exit(1)  # Sage ends what the plugin has left
    os.killpg(0, signal.SIGKILL)  # with the processes and threads that the plugin has left


def _limit_memory() -> None:
    import resource  # lazy: not on Windows, where no plugin runs

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Of data, not of addresses: threads and libraries reserve far more addresses than they use.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _MAX_MEMORY if hard < 0 else min(_MAX_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
