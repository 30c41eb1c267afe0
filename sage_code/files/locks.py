"""Locks between processes; no other module knows how an operating system does them.

An indexing run holds its project's `index.lock` and shares the store's `use.lock`. Each commit takes `write.lock` for
its check-and-add, since Lance's upsert enforces no unique key. A process that deletes rows takes `use.lock` alone, so
that it does not delete what a running indexer has just added. The kernel drops a lock when its process dies: there is
nothing to clean up after a crash.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator

from sage_code.errors import Busy

_POLL_SECONDS = 0.05
# The folder of a project's lock may come from anybody: a link instead of the lock file is refused, not followed.
_LOCK_FILE = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int, _shared: bool) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int, shared: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def locked(
    path: str,
    *,
    shared: bool = False,
    timeout_s: float | None = None,
    on_wait: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Hold the lock file `path`. Waits for it, and raises `Busy` after `timeout_s` seconds (None: waits for ever)."""
    started = time.monotonic()
    while (descriptor := _acquire(path, shared)) is None:
        if on_wait is not None:
            on_wait()
            on_wait = None  # once
        if timeout_s is not None and time.monotonic() - started > timeout_s:
            raise Busy(
                f"another Sage process holds {path}",
                "wait for it to finish, or end it; the lock goes with its process",
            )
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        os.close(descriptor)


def _acquire(path: str, shared: bool) -> int | None:
    """The lock file, open and locked; None if another process holds it."""
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    descriptor = os.open(path, _LOCK_FILE, 0o600)
    try:
        if _try_lock(descriptor, shared) and _is_at(descriptor, path):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_at(descriptor: int, path: str) -> bool:
    """Whether the open file is still the one under that name: another process does not see a lock on a deleted file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
