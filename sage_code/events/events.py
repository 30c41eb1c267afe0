"""The events of Sage: plain values with a type, published on a bus.

A type is `family.what`. Each family belongs to one of four channels, so that `source.*` hears everything that brings
text in, `analyze.*` everything that looks at it, `generate.*` everything that is shown, `evolve.*` everything about
Sage itself and its memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import StrEnum
from itertools import count
from typing import Any

_ids = count(1)


class EventType(StrEnum):
    """The types that Sage publishes; a plugin or a program may publish others."""

    PRE_LOAD = "loader.pre_load"
    POST_LOAD = "loader.post_load"
    LOAD_ERROR = "loader.error"
    TIMEOUT = "timeout.occurred"
    TIMEOUT_WARNING = "timeout.warning"
    PRE_SEARCH = "search.pre_search"  # a search is asked
    POST_SEARCH = "search.post_search"  # and answered
    PRE_FORMAT = "format.pre_format"
    POST_FORMAT = "format.post_format"
    PLUGIN_LOADED = "plugin.loaded"
    PLUGIN_UNLOADED = "plugin.unloaded"
    MEMORY_SAVED = "memory.saved"
    MEMORY_WARNING = "memory.warning"
    SESSION_CHECKPOINT = "session.checkpoint"
    INDEX_STARTED = "index.started"
    INDEX_FINISHED = "index.finished"
    INDEX_FAILED = "index.failed"
    FILE_INDEXED = "index.file"
    STALENESS_FOUND = "staleness.found"
    COMPACTION_DETECTED = "compaction.detected"
    WATCHER_STARTED = "watcher.started"
    WATCHER_STOPPING = "watcher.stopping"
    CHECKPOINT_FILE = "watcher.checkpoint_file"


CHANNELS = {
    "source": frozenset({"loader", "timeout", "index"}),
    "analyze": frozenset({"search", "staleness"}),
    "generate": frozenset({"format"}),
    "evolve": frozenset({"plugin", "memory", "session", "compaction", "watcher"}),
}


@dataclass(slots=True)
class Event:
    """Something that happens. Handlers of one event run one after the other and see what those before have changed."""

    type: str
    id: str = field(default_factory=lambda: f"{next(_ids):08x}")  # unique in this process
    timestamp: float = field(default_factory=time.time)
    source: str = "system"
    metadata: dict[str, Any] = field(default_factory=dict)
    _cancelled: bool = field(default=False, repr=False)
    _results: list[Any] = field(default_factory=list, repr=False)
    # Of the place that publishes: raises if what a handler has changed cannot be used, else may complete it.
    _settle: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)

    def cancel(self) -> None:
        """Let no further handler see the event."""
        self._cancelled = True

    @property
    def is_cancelled(self) -> bool:
        """Whether a handler has cancelled the event."""
        return self._cancelled

    def add_result(self, result: Any) -> None:
        """Keep what a handler has returned."""
        self._results.append(result)

    @property
    def results(self) -> list[Any]:
        """What the handlers have returned, in their order."""
        return list(self._results)


@dataclass(slots=True)
class LoadEvent(Event):
    """A text of memory is loaded: before with its path, after with its content."""

    layer: str = ""  # core, knowledge, checkpoints or blocks
    path: str = ""
    content: str | None = None
    modified_content: str | None = None


@dataclass(slots=True)
class TimeoutEvent(Event):
    """Something took longer than it may."""

    layer: str = ""
    operation: str = ""
    elapsed_ms: int = 0
    timeout_ms: int = 0
    fallback_content: str | None = None


@dataclass(slots=True)
class SearchEvent(Event):
    """A search is asked or answered."""

    where: str = ""  # code, checkpoints, knowledge, messages or passages
    query: str = ""
    filters: dict[str, Any] = field(default_factory=dict)
    results_found: list[dict[str, Any]] = field(default_factory=list)  # best first, each with `id` and `score`
    changed_by: list[str] = field(default_factory=list)  # the plugins that changed something, in their order


@dataclass(slots=True)
class FormatEvent(Event):
    """An answer is shown: before as a document, after as the text that a person or an agent reads."""

    command: str = ""  # `search`, `grep` ... or the name of a tool
    document: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    changed_by: list[str] = field(default_factory=list)


def copy_of(event: Event) -> Event:
    """An event with the same values, in lists and dictionaries of its own: what is changed in it changes only it."""
    twin: Event = object.__new__(type(event))
    known: dict[int, Any] = {}
    for name in _names(event):
        setattr(twin, name, _copied(getattr(event, name), known))
    return twin


def take_over(event: Event, changed: Event) -> None:
    """Give an event the values of another one of its class."""
    for name in _names(changed):
        setattr(event, name, getattr(changed, name))


def _names(event: Event) -> set[str]:
    """What an event has: the fields of its class, and what a class without slots was given on top."""
    return {one.name for one in fields(event)} | getattr(event, "__dict__", {}).keys()


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """Containers are copied, values in them are not. A container that is in it twice is so in the copy."""
    kind = type(value)
    if kind not in (list, dict, set) or id(value) in known:
        return known.get(id(value), value)
    copied: Any = kind()
    known[id(value)] = copied
    if kind is dict:
        copied.update((key, _copied(one, known)) for key, one in value.items())
    elif kind is list:
        copied.extend(_copied(one, known) for one in value)
    else:
        copied.update(value)
    return copied


def document(event: Event) -> dict[str, Any]:
    """An event as JSON has it: what is empty and what is private is left out."""
    own = (one.name for one in fields(event) if not one.name.startswith("_"))
    values = {name: getattr(event, name) for name in own}
    values["metadata"] = _plain(values["metadata"])
    always = ("type", "id", "timestamp", "source")
    return {name: value for name, value in values.items() if name in always or value not in ("", None, {}, [])}


def _plain(value: Any) -> Any:
    """A value of the metadata as JSON can hold it. What has no such form is a text."""
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    return str(value)
