"""Where plugins change what is loaded to be shown: another path before, another content after, one if it takes long.

Nothing that is loaded here is written back: who edits a memory reads its file. `layer` is core, knowledge, checkpoints
or blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import NoReturn, TypeVar

from sage_code.errors import SageError
from sage_code.events.asking import ask
from sage_code.events.events import EventType, LoadEvent, TimeoutEvent
from sage_code.events.listening import bus_for
from sage_code.files.inside import is_inside

_Value = TypeVar("_Value")


def load(
    layer: str,
    path: str,
    read: Callable[[str], str],
    parse: Callable[[str], _Value],
    *,
    folder: str,
    timeout_ms: int,
) -> _Value:
    """What is in the file at a path, as plugins want it; the path they want is below `folder`, as `path` is."""

    def is_allowed(wanted: str) -> bool:
        return is_inside(wanted) and wanted.startswith(folder)

    path = changed_path(layer, path, is_allowed)
    text = in_time(layer, path, partial(read, path), lambda content: (parse(content), content)[1], timeout_ms)
    return changed_content(layer, path, text, parse)


def changed_path(layer: str, path: str, is_allowed: Callable[[str], bool]) -> str:
    """The path to load."""
    bus = bus_for(EventType.PRE_LOAD)
    if bus is None:
        return path

    def settle(event: LoadEvent) -> None:
        if event.path != path and not is_allowed(event.path):
            raise ValueError(f"{event.path[:200]!r} is not in the folder of {path}")

    return ask(bus, LoadEvent(EventType.PRE_LOAD, layer=layer, path=path), settle).path


def changed_content(layer: str, path: str, content: str, parse: Callable[[str], _Value]) -> _Value:
    """A content as plugins want it, and as `parse` reads it; a content that it cannot read is refused."""
    bus = bus_for(EventType.POST_LOAD)
    if bus is None:
        return parse(content)

    def settle(event: LoadEvent) -> None:
        if event.modified_content is not None:
            parse(event.modified_content)

    event = ask(bus, LoadEvent(EventType.POST_LOAD, layer=layer, path=path, content=content), settle)
    return parse(content if event.modified_content is None else event.modified_content)


def in_time(
    layer: str, path: str, read: Callable[[], _Value], instead: Callable[[str], _Value], timeout_ms: int
) -> _Value:
    """What `read` gives. If it takes long a plugin may give a content, of which `instead` makes the value.

    Without one it is waited for, as without plugins.
    """
    try:
        return _bounded(layer, path, read, instead, timeout_ms)
    except FileNotFoundError:
        raise
    except (SageError, OSError) as error:
        if (bus := bus_for(EventType.LOAD_ERROR)) is not None:
            told = {"error": str(error)}
            bus.publish_sync(LoadEvent(EventType.LOAD_ERROR, layer=layer, path=path, metadata=told))
        raise


def _bounded(
    layer: str, path: str, read: Callable[[], _Value], instead: Callable[[str], _Value], timeout_ms: int
) -> _Value:
    """Read in a thread that may be left behind, if anything listens to timeouts."""
    bus, warned = bus_for(EventType.TIMEOUT), bus_for(EventType.TIMEOUT_WARNING)
    if bus is None:
        return read()
    done: list[Callable[[], _Value]] = []

    def run() -> None:
        try:
            value = read()
        except BaseException as error:  # raised again where it is waited for
            done.append(partial(_raise, error))
        else:
            done.append(lambda: value)

    started = time.monotonic()
    reader = Thread(target=run, daemon=True)
    reader.start()

    def late(type_: EventType) -> TimeoutEvent:
        elapsed = int((time.monotonic() - started) * 1000)
        return TimeoutEvent(type_, layer=layer, operation=f"load {path}", elapsed_ms=elapsed, timeout_ms=timeout_ms)

    reader.join(timeout_ms / 2000)
    if not done and warned is not None:
        warned.publish_sync(late(EventType.TIMEOUT_WARNING))
    reader.join(max(started + timeout_ms / 1000 - time.monotonic(), 0.0))
    if not done:

        def settle(event: TimeoutEvent) -> None:
            if event.fallback_content is not None:
                instead(event.fallback_content)

        event = ask(bus, late(EventType.TIMEOUT), settle)
        if event.fallback_content is not None:
            return instead(event.fallback_content)
        reader.join()
    return done[0]()


def _raise(error: BaseException) -> NoReturn:
    raise error
