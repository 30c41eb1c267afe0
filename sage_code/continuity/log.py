"""The log of hooks and background saves: what went wrong while nobody was looking. Only the user can read it."""

from __future__ import annotations

import os
import time

from sage_code.continuity.places import continuity_dir

# The file is cut to its newer half beyond this.
_MAX_BYTES = 256 << 10
_LINE_CHARS = 500
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


def log_path() -> str:
    """The file."""
    return continuity_dir("log")


def note(who: str, what: str) -> None:
    """Append a line; a full disk or a missing right is no reason to fail."""
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{moment} {who}: {' '.join(what.split())[:_LINE_CHARS]}\n"
    try:
        os.makedirs(continuity_dir(), _PRIVATE_FOLDER, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(log_path(), flags, _PRIVATE_FILE)
        try:
            if os.fstat(descriptor).st_size > _MAX_BYTES:
                kept = os.pread(descriptor, _MAX_BYTES, os.fstat(descriptor).st_size - _MAX_BYTES // 2)
                os.ftruncate(descriptor, 0)
                os.write(descriptor, kept.partition(b"\n")[2])
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        return


def last_lines(count: int) -> list[str]:
    """The newest lines."""
    try:
        with open(log_path(), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()[-count:]
    except OSError:
        return []
