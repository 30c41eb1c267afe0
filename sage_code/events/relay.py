"""Carries events to `sage events tail`: from any process of Sage to any number of readers, and never waits for one.

Each reader has a named pipe in `paths.listeners_dir()`. A publisher writes one line of JSON to every pipe, short enough
to arrive in one piece, and what no reader fetches in time is dropped and counted. A pipe gets its name only after its
reader has opened it: a name that cannot be opened for writing has lost its reader, and is removed.

A line says what happens, not what is said: of contents it has sizes only.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from sage_code.errors import UsageError
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, document
from sage_code.files.atomic import PRIVATE_FILE
from sage_code.paths import listeners_dir

# What a pipe takes in one piece: 4,096 bytes on Linux, 512 at least everywhere.
MAX_LINE = min(4_096, getattr(select, "PIPE_BUF", 512))
# After every plugin, so that a reader sees what the plugins have made of an event.
_LAST = 1_000_000_000
_PIPE, _UNFINISHED = ".fifo", ".new"
# Fields that hold what was loaded, found or shown: only their sizes are sent.
_CONTENTS = frozenset(
    {"content", "modified_content", "fallback_content", "results_found", "document", "text", "summary"}
)
_LONGEST_TEXT, _SHORT_TEXT = 400, 60
# Far beyond what is shown, and still masked in a millisecond.
_MOST_MASKED = 4_000
_MOST_ITEMS = 12
_READ = 1 << 16
_TRIES = 5
_LATEST = 1e11  # in seconds, the year 5138: what a clock can show
# A reader opens its pipe within milliseconds after it was made.
_SURELY_LEFT_S = 60

_subscriptions: WeakKeyDictionary[EventBus, str] = WeakKeyDictionary()
_numbers = count(1)
_dropped: dict[str, int] = {}  # by the name of the pipe


# -- the publisher ----------------------------------------------------------------------------------------------------


def sync(bus: EventBus) -> None:
    """Have the events of a bus relayed while there is a reader, and not otherwise."""
    is_wanted = bool(_names(_PIPE))
    if is_wanted and bus not in _subscriptions:
        _subscriptions[bus] = bus.subscribe("*", relay, _LAST, timeout_ms=0, name="sage events tail")
    elif not is_wanted and (subscription := _subscriptions.pop(bus, None)) is not None:
        bus.unsubscribe(subscription)


def relay(event: Event) -> None:
    """Send an event to every reader that can take it now."""
    for name in _names(_PIPE):
        _send(name, event)


def line_of(event: Event, dropped: int = 0) -> bytes:
    """An event as one line of at most `MAX_LINE` bytes; `dropped` is how many the reader has missed before it."""
    sender: dict[str, Any] = {"pid": os.getpid(), "program": _program()} | ({"dropped": dropped} if dropped else {})
    whole = document(event)
    for longest in (_LONGEST_TEXT, _SHORT_TEXT):
        line = _encoded({name: _short(name, value, longest) for name, value in whole.items()} | sender)
        if len(line) <= MAX_LINE:
            return line
    least = {name: _short(name, whole[name], _SHORT_TEXT) for name in ("type", "id", "timestamp", "source")}
    return _encoded(least | sender)


def _send(name: str, event: Event) -> None:
    """Write an event to one pipe, or count it as dropped if the pipe is full; a pipe without a reader is removed."""
    path = os.path.join(listeners_dir(), name)
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # the reader has just ended
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        _forget(name)
        return
    try:
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            os.write(pipe, line_of(event, _dropped.get(name, 0)))
            _dropped.pop(name, None)
    except BlockingIOError:
        _dropped[name] = _dropped.get(name, 0) + 1
    except BrokenPipeError:
        _forget(name)  # the reader has ended since
    finally:
        os.close(pipe)


def _names(ending: str) -> list[str]:
    """The files of the folder that end so."""
    try:
        return sorted(name for name in os.listdir(listeners_dir()) if name.endswith(ending))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _forget(name: str) -> None:
    """Remove a pipe, and the folder with the last listener."""
    _dropped.pop(name, None)
    with contextlib.suppress(FileNotFoundError):  # another publisher was quicker
        os.unlink(os.path.join(listeners_dir(), name))
    with contextlib.suppress(OSError):  # others listen, or it is gone
        os.rmdir(listeners_dir())


def _program() -> str:
    """Which program this is, in a word: `sage`, `mcp`, `watcher`."""
    path = sys.argv[0] if sys.argv else ""
    name = os.path.basename(path)
    if name == "__main__.py":
        name = os.path.basename(os.path.dirname(path))
    name = name.removesuffix(".py").removesuffix(".exe").removeprefix("sage-")
    return name[:_SHORT_TEXT] if name not in ("", "-c", "-m") else "python"


def _short(name: str, value: Any, longest: int) -> Any:
    """A field as it is sent: contents as sizes, long texts cut, one level of what is nested."""
    if name in _CONTENTS:
        return _size(value)
    if isinstance(value, Mapping):
        pairs = list(value.items())[:_MOST_ITEMS]
        return {str(key)[:_SHORT_TEXT]: _flat(str(key), item, longest) for key, item in pairs}
    return _flat(name, value, longest)


def _flat(name: str, value: Any, longest: int) -> Any:
    """A value without further values in it; a few numbers or texts of it stay."""
    if name in _CONTENTS:
        return _size(value)
    if isinstance(value, Mapping):
        numbers = {str(key)[:_SHORT_TEXT]: item for key, item in value.items() if type(item) is int}
        return dict(list(numbers.items())[:_MOST_ITEMS]) if numbers else _size(value)
    if isinstance(value, list | tuple | set | frozenset):
        texts = [item for item in value if isinstance(item, str)]
        if len(texts) < len(value) or len(texts) > _MOST_ITEMS:
            return len(value)
        return [_cut(item, _SHORT_TEXT) for item in texts]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return _cut(value, longest)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return type(value).__name__


def _size(value: Any) -> int:
    """The characters of a text, the items of a list, the keys of a document."""
    return len(value) if isinstance(value, str | Mapping | list | tuple) else int(value is not None)


def _cut(text: str, longest: int) -> str:
    """The beginning of a text. The reader masks secrets, but could not know one that was cut in the middle."""
    if len(text) <= longest:
        return text
    from sage_code.text.masking import mask  # lazy: only long texts need it

    return mask(text[:_MOST_MASKED])[0][: longest - 1] + "…"


def _encoded(values: Mapping[str, Any]) -> bytes:
    """One line of ASCII: also what is no character (half of a pair) has an escape there."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


# -- the reader -------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def tail(
    patterns: Sequence[str] = ("*",), *, seconds: float | None = None, output: int = -1
) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of all processes of this user from now on, those whose types match a pattern.

    They end after `seconds`. SIGTERM and SIGHUP end them like Ctrl-C, with a KeyboardInterrupt. If `output` is a pipe
    whose reader is gone, they end with a BrokenPipeError: a program that prints need not wait for an event to notice.
    """
    if not hasattr(os, "mkfifo"):
        raise UsageError("events are relayed on Linux and macOS only", "a plugin sees them on every system")
    wanted = EventBus()  # it knows which types a pattern names
    for pattern in patterns:
        wanted.subscribe(pattern, lambda _: None)
    with _interrupted_by_signals(), _pipe() as pipe:
        found = map(_parsed, _lines(pipe, seconds, output))
        yield (event for event in found if event is not None and wanted.has_listeners(event["type"]))


def _lines(pipe: int, seconds: float | None, output: int) -> Iterator[bytes]:
    """What publishers write, line by line."""
    ends = None if seconds is None else time.monotonic() + seconds
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if output >= 0 and stat.S_ISFIFO(os.fstat(output).st_mode):
        poll.register(output, 0)  # an error is always reported
    buffer = b""
    while ends is None or ends > time.monotonic():
        for descriptor, _ in poll.poll(None if ends is None else max(0.0, ends - time.monotonic()) * 1_000):
            if descriptor == output:
                raise BrokenPipeError
            *lines, buffer = (buffer + os.read(pipe, _READ)).split(b"\n")
            yield from lines


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The event of a line; None for what no publisher of Sage has written: every process of the user can write here."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_event = isinstance(found, dict) and isinstance(found.get("type"), str) and type(found.get("timestamp")) is float
    return found if is_event and 0 <= found["timestamp"] < _LATEST else None


@contextlib.contextmanager
def _pipe() -> Iterator[int]:
    """A pipe that publishers find; it goes with the end of the block.

    Its reader holds the other end too: without it, the end of a publisher would be the end of the pipe.
    """
    _sweep()
    name = f"{os.getpid()}-{next(_numbers)}"
    unfinished = _made(name + _UNFINISHED)
    reading = os.open(unfinished, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(unfinished, os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.rename(unfinished, os.path.join(listeners_dir(), name + _PIPE))
        yield reading
    finally:
        os.close(reading)
        os.close(writing)
        _forget(name + _PIPE)


def _made(name: str) -> str:
    """The path of a new pipe."""
    from sage_code.files.private import make_private  # lazy: publishers need no locks

    path = os.path.join(listeners_dir(), name)
    for _ in range(_TRIES):
        try:
            make_private(listeners_dir())
            os.mkfifo(path, PRIVATE_FILE)
        except FileExistsError:
            os.unlink(path)  # of a killed process that had the same number
        except FileNotFoundError:
            continue  # the last listener has just ended, and has removed the folder
        else:
            return path
    raise UsageError(f"no pipe can be made in {listeners_dir()}", "try again")


def _sweep() -> None:
    """Remove what killed readers have left."""
    for name in _names(_PIPE):
        try:
            os.close(os.open(os.path.join(listeners_dir(), name), os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            _forget(name)
    for name in _names(_UNFINISHED):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(os.path.join(listeners_dir(), name)).st_mtime > _SURELY_LEFT_S:
                _forget(name)


@contextlib.contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt this thread as Ctrl-C does, unless somebody has decided otherwise (`nohup`)."""
    is_main = threading.current_thread() is threading.main_thread()
    numbers = [one for one in (signal.SIGTERM, signal.SIGHUP) if is_main and signal.getsignal(one) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
