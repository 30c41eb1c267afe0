"""What the watcher leaves for people: a log of bounded size, and the notes that `sage watcher status` shows.

Both belong to the user alone. The notes are written only when they have changed, at most once a second, so that an
idle watcher writes nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from threading import Lock
from typing import Any

from sage_code.continuity.places import continuity_dir
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.private import make_private
from sage_code.text.escaping import one_line
from sage_code.text.light_json import dumps, loads

# History of the format of the notes: 1: first version.
FORMAT = 1
# Some ten thousand lines, twice: the file before it is kept as `log.1`.
MAX_LOG_BYTES = 1 << 20
_MAX_LINE_CHARS = 2_000
_TAIL_BYTES = 16 << 10
_MAX_NOTES_BYTES = 1 << 20
_LEAST_SECONDS_BETWEEN_WRITES = 1.0
_APPEND = (
    os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)  # fmt: skip


def watcher_dir(*names: str) -> str:
    """A path below the folder of the watcher."""
    return continuity_dir("watcher", *names)


def log_path() -> str:
    """The log."""
    return watcher_dir("log")


def open_log() -> int:
    """The log, open for appending."""
    make_private(watcher_dir())
    return os.open(log_path(), _APPEND, PRIVATE_FILE)


def log_tail(count: int) -> list[str]:
    """The last lines of the log."""
    try:
        with open(log_path(), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [one_line(line) for line in (lines[1:] if size > _TAIL_BYTES else lines)[-count:]]


def read_notes() -> dict[str, Any]:
    """The notes of the watcher that runs, or of the last one; empty if there are none or they are damaged."""
    try:
        notes = loads(read_regular(watcher_dir("notes.json"), _MAX_NOTES_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) and notes.get("format") == FORMAT else {}


class Journal:
    """Writes the log and the notes. Threads may share it."""

    def __init__(self, *, echo: bool = False, replace_streams: bool = False) -> None:
        self._echo, self._replace_streams = echo, replace_streams
        self._lock = Lock()
        self._notes: dict[str, Any] = {"format": FORMAT}
        self._is_changed, self._written = False, 0.0

    def log(self, text: str) -> None:
        """Add a line to the log. A log that cannot be written never ends the watcher."""
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {one_line(text)[:_MAX_LINE_CHARS]}"
        with self._lock:
            with contextlib.suppress(OSError):  # a full disk; the notes have the last error
                self._append(f"{line}\n".encode("utf-8", "backslashreplace"))
        if self._echo:
            with contextlib.suppress(OSError):  # the terminal is gone
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    def fail(self, what: str, error: BaseException) -> None:
        """Log an error, which `status` shows too."""
        text = f"{what}: {getattr(error, 'message', '') or f'{type(error).__name__}: {error}'}"
        self.note(last_error={"at": time.time(), "text": one_line(text)[:_MAX_LINE_CHARS]})
        self.log(f"error: {text}")

    def note(self, **values: Any) -> None:
        """Change notes; `flush` writes them."""
        with self._lock:
            if any(self._notes.get(key) != value for key, value in values.items()):
                self._notes |= values
                self._is_changed = True

    def noted(self, key: str) -> Any:
        """One of the notes."""
        with self._lock:
            return self._notes.get(key)

    def flush(self, *, now: bool = False) -> None:
        """Write the notes if they have changed."""
        with self._lock:
            if not self._is_changed or (not now and time.monotonic() - self._written < _LEAST_SECONDS_BETWEEN_WRITES):
                return
            self._is_changed, self._written = False, time.monotonic()
            data = dumps(self._notes).encode("utf-8", "surrogatepass")
        try:
            write_bytes(watcher_dir("notes.json"), data, mode=PRIVATE_FILE, sync=False)
        except OSError as error:
            self.log(f"error: the notes cannot be written: {error}")

    def _append(self, line: bytes) -> None:
        """Add a line; a log that is full becomes `log.1`."""
        descriptor = open_log()
        try:
            if os.fstat(descriptor).st_size + len(line) > MAX_LOG_BYTES:
                os.replace(log_path(), f"{log_path()}.1")
                os.close(descriptor)
                descriptor = open_log()
                if self._replace_streams:  # what Python or a library prints goes into the new file
                    for stream in (1, 2):
                        os.dup2(descriptor, stream)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
