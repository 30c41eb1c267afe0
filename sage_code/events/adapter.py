"""Connects a plugin's hooks to a bus: each hook is a subscription to its event.

A hook gets copies, and returns None or what it wants to have. That is checked here for its type, then by the place that
publishes the event for its meaning (`Event._settle`). A change that cannot be used is said with the plugin's name, the
bus counts it, and things stay as they were.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from sage_code.errors import SageError
from sage_code.events.bus import EventBus, get_event_bus
from sage_code.events.events import Event, EventType, FormatEvent, LoadEvent, SearchEvent, TimeoutEvent
from sage_code.events.plugins import Plugin

TYPES = {
    "pre_load": EventType.PRE_LOAD,
    "post_load": EventType.POST_LOAD,
    "on_timeout": EventType.TIMEOUT,
    "pre_search": EventType.PRE_SEARCH,
    "post_search": EventType.POST_SEARCH,
    "pre_format": EventType.PRE_FORMAT,
    "post_format": EventType.POST_FORMAT,
}
# More than these is no answer but an accident.
_MAX_QUERY_CHARS = 65_536
_MAX_TEXT_CHARS = 20_000_000
_MAX_ROWS = 1_000
_MAX_QUOTED_CHARS = 200
# Under this key of an event's metadata: what plugins have changed, in words, by the id of a result; "" is the query.
NOTES = "notes"


class RefusedError(ValueError):
    """What a plugin wants cannot be used."""


class PluginAdapter:
    """A plugin on a bus, from its making until `unregister`."""

    def __init__(self, plugin: Plugin, bus: EventBus | None = None, *, timeout_ms: int | None = None) -> None:
        """With a `timeout_ms` of 0 the hooks run in the caller's thread: they must come to an end by themselves."""
        self.plugin, self.bus = plugin, bus or get_event_bus()
        metadata = plugin.metadata
        self._name = metadata.name
        # What is sent to another process needs no copy.
        self._copied: Callable[[Any], Any] = _same if getattr(plugin, "runs_apart", False) else copy.deepcopy
        self._subscriptions = [
            self.bus.subscribe(
                TYPES[hook],
                partial(self._heard, hook),
                priority=metadata.priority,
                timeout_ms=timeout_ms,
                name=f"plugin {metadata.name}",
            )
            for hook in metadata.hooks
            if callable(getattr(plugin, hook, None))
        ]

    def unregister(self) -> None:
        """Take the plugin off the bus."""
        for subscription in self._subscriptions:
            self.bus.unsubscribe(subscription)
        self._subscriptions.clear()

    def _heard(self, hook: str, event: Event) -> None:
        """Let the plugin change an event; a change that cannot be used is said, and counts as an error."""
        change: Callable[[Event], None] = getattr(self, f"_{hook}")
        try:
            change(event)
        except RefusedError as error:
            from sage_code.events.enabled import say  # lazy: only for mistakes

            say(f"plugin {self._name}: what {hook} wants was left out: {error}")
            raise

    def _call(self, hook: str, *given: Any) -> Any:
        method: Callable[..., Any] = getattr(self.plugin, hook)
        return method(*given)

    def _pre_load(self, event: Event) -> None:
        assert isinstance(event, LoadEvent)
        path = self._call("pre_load", event.layer, event.path)
        if path is not None and path != event.path:
            path = _text(path, _MAX_QUERY_CHARS)
            self._change(event, path=path, modified_content=path)

    def _post_load(self, event: Event) -> None:
        assert isinstance(event, LoadEvent)
        now = (event.content if event.modified_content is None else event.modified_content) or ""
        content = self._call("post_load", event.layer, now)
        if content is not None and content != now:
            self._change(event, modified_content=_text(content))

    def _on_timeout(self, event: Event) -> None:
        assert isinstance(event, TimeoutEvent)
        fallback = self._call("on_timeout", event.layer, event.elapsed_ms)
        if fallback is not None:
            self._change(event, fallback_content=_text(fallback))

    def _pre_search(self, event: Event) -> None:
        """Another query, other filters, or both; filters that the plugin does not name stay as they are."""
        assert isinstance(event, SearchEvent)
        answer = self._call("pre_search", event.where, event.query, self._copied(event.filters))
        if answer is None:
            return
        wanted = answer if isinstance(answer, dict) else {"query": answer}
        if not wanted.keys() <= {"query", "filters"}:
            raise RefusedError(f"it returned {_quoted(list(wanted))}; it may have `query` and `filters`")
        query, filters = wanted.get("query", event.query), wanted.get("filters", {})
        if not isinstance(filters, dict) or not filters.keys() <= event.filters.keys():
            raise RefusedError(
                f"pre_search returned the filters {_quoted(filters)}; there are {', '.join(event.filters)}"
            )
        before = event.query, event.filters
        self._change(event, query=_text(query, _MAX_QUERY_CHARS), filters={**event.filters, **filters})
        if (event.query, event.filters) == before:
            return
        if event.query != before[0]:
            note(event, "", f"{self._name}: the query became {_quoted(event.query)}")
        changed = {name: value for name, value in event.filters.items() if value != before[1][name]}
        if changed:
            said = ", ".join(f"{name} {_quoted(value)}" for name, value in changed.items())
            note(event, "", f"{self._name}: the filters became {said}")
        event.changed_by.append(self._name)

    def _post_search(self, event: Event) -> None:
        """Other results; what has become of each is noted."""
        assert isinstance(event, SearchEvent)
        before = event.results_found
        answer = self._call("post_search", event.where, event.query, self._copied(before))
        if answer is None:
            return
        self._change(event, results_found=_rows(answer))
        was = {row["id"]: (place, row["score"]) for place, row in enumerate(before, 1)}
        is_changed = len(was) != len(event.results_found)
        for place, row in enumerate(event.results_found, 1):
            if row.get("id") not in was:
                note(event, row.get("id", ""), f"added by {self._name}")
                is_changed = True
                continue
            old, score = was[row["id"]]
            said = [f"{old} -> {place}"] if old != place else []
            said += [f"score {score:.2f} -> {row['score']:.2f}"] if score != row["score"] else []
            if said:
                note(event, row["id"], f"{self._name}: {', '.join(said)}")
                is_changed = True
        if is_changed:
            event.changed_by.append(self._name)

    def _pre_format(self, event: Event) -> None:
        assert isinstance(event, FormatEvent)
        document = self._call("pre_format", event.command, self._copied(event.document))
        if document is None or document == event.document:
            return
        if not isinstance(document, dict):
            raise RefusedError(f"it returned {_quoted(document)}, and no document")
        self._change(event, document=document)
        event.changed_by.append(self._name)

    def _post_format(self, event: Event) -> None:
        assert isinstance(event, FormatEvent)
        text = self._call("post_format", event.command, event.text)
        if text is None or text == event.text:
            return
        self._change(event, text=_text(text))
        event.changed_by.append(self._name)

    def _change(self, event: Event, **values: Any) -> None:
        """Change an event, unless the place that publishes it cannot use the values."""
        before = {name: getattr(event, name) for name in values}
        for name, value in values.items():
            setattr(event, name, value)
        try:
            if event._settle is not None:
                event._settle(event)
        except (SageError, ValueError, TypeError, KeyError, AttributeError) as error:
            for name, value in before.items():
                setattr(event, name, value)
            raise RefusedError(str(error)) from error


def note(event: Event, about: str, text: str) -> None:
    """Keep in words what a plugin has changed, for `--explain`."""
    event.metadata.setdefault(NOTES, {}).setdefault(about, []).append(text)


def notes_about(event: Event, about: str = "") -> tuple[str, ...]:
    """What plugins have changed about a result, or without an id about the query."""
    return tuple(event.metadata.get(NOTES, {}).get(about, ()))


def _same(value: Any) -> Any:
    return value


def _text(value: object, most: int = _MAX_TEXT_CHARS) -> str:
    """A text that a hook has returned."""
    if not isinstance(value, str):
        raise RefusedError(f"it returned {_quoted(value)}, and no text")
    if len(value) > most:
        raise RefusedError(f"it returned {len(value):,} characters; at most {most:,} are used")
    return value.encode("utf-8", "replace").decode() if not value.isascii() else value  # no lone surrogates


def _rows(answer: object) -> list[dict[str, Any]]:
    """The rows that `post_search` has returned."""
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise RefusedError(f"it returned {_quoted(answer)}, and no list of results")
    if len(answer) > _MAX_ROWS:
        raise RefusedError(f"it returned {len(answer):,} results; at most {_MAX_ROWS:,} are used")
    for row in answer:
        score = row.get("score", 0.0)
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise RefusedError(f"it returned the score {_quoted(score)}, and no number")
        if not isinstance(row.get("id", ""), str):
            raise RefusedError(f"it returned the id {_quoted(row['id'])}, and no text")
    return answer


def _quoted(value: object) -> str:
    said = repr(value)
    return said if len(said) <= _MAX_QUOTED_CHARS else f"{said[:_MAX_QUOTED_CHARS]}…"
