"""Runs the watcher: `python -P -m sage_code.continuity.watcher`, in the foreground or with `--detach` as a daemon.

Ends with 0 if it was asked to stop or if another watcher runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading

from sage_code.continuity.watcher.journal import Journal, log_path, open_log, read_notes
from sage_code.continuity.watcher.process import TAKEN, UP, environment, lock_path, pid_path, running, write_pid
from sage_code.errors import Busy
from sage_code.files.atomic import remove
from sage_code.files.locks import locked

_PRIVATE = 0o077
# A watcher that was told to stop may still hold the lock for a moment.
_LOCK_WAIT_S = 1.0


def main(arguments: list[str]) -> int:
    """Run the watcher until it is asked to stop; returns the exit code."""
    is_daemon = arguments == ["--detach"]
    os.umask(_PRIVATE)
    os.environ.update(environment())
    if is_daemon and os.fork():
        # Whoever started it waits for this process only. The watcher is nobody's child, and leads no session, so that
        # no terminal can become its own.
        os._exit(0)
    journal = Journal(echo=not is_daemon, replace_streams=is_daemon)
    try:
        with locked(lock_path(), timeout_s=_LOCK_WAIT_S):
            _watch(journal, is_daemon)
    except Busy:
        other = running()
        _say(TAKEN, is_daemon)
        if not is_daemon:
            sys.stderr.write(f"the watcher runs already{f' (process {other.pid})' if other else ''}\n")
    except Exception as error:
        journal.fail("the watcher ends", error)
        return 2
    return 0


def _watch(journal: Journal, is_daemon: bool) -> None:
    """Watch, with the lock held."""
    from sage_code.continuity.watcher.daemon import Watcher  # lazy: one that finds another needs nothing of it

    stop = threading.Event()
    watcher = Watcher(journal, stop, lambda: not os.path.exists(lock_path()))

    def end(number: int, _: object) -> None:
        watcher.reason = signal.Signals(number).name
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    before = read_notes().get("session")
    me = write_pid()
    try:
        journal.note(pid=me.pid, previous=before if isinstance(before, dict) else None)
        journal.log(f"started, process {me.pid}")
        if not is_daemon:
            sys.stderr.write(f"Ctrl-C ends it; the log is {log_path()}\n")
        watcher.run(lambda: _say(UP, is_daemon))
        journal.log(f"stopped: {watcher.reason}")
    finally:
        remove(pid_path())


def _say(word: bytes, is_daemon: bool) -> None:
    """Tell whoever starts the daemon, and write to the log from now on."""
    if is_daemon:
        with contextlib.suppress(OSError):  # nobody listens
            os.write(1, word)
        log = open_log()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
