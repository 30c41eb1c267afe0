"""One watcher for a user: starts it, finds it, stops it.

The watcher holds a lock of the kernel for as long as it lives, so there is never a second one. Its PID file has the
time at which the process began beside the number, so that another process that got the same number later is never
taken for the watcher, nor ended.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from sage_code.continuity.log import note
from sage_code.continuity.watcher.journal import log_tail, open_log, watcher_dir
from sage_code.errors import Busy, SageError, UsageError
from sage_code.files.atomic import PRIVATE_FILE, remove, write_bytes
from sage_code.files.contained import read_regular
from sage_code.paths import HOME_VARIABLE
from sage_code.text.light_json import dumps, loads
from sage_code.transcripts.find import CODEX_VARIABLE, CONFIG_VARIABLE

# What decides where the watcher looks and writes.
FOLDER_VARIABLES = (HOME_VARIABLE, CONFIG_VARIABLE, CODEX_VARIABLE)
MODULE = "sage_code.continuity.watcher"
# What the process that is started says when it watches, or when another one does.
UP, TAKEN = b"up", b"taken"
_START_S, _STOP_S, _KILL_S = 20.0, 8.0, 5.0
# Between taking the lock and writing the PID file a watcher imports its modules.
_PID_FILE_S = 5.0
_POLL_S = 0.02
_MAX_PID_BYTES = 4_096
_SHOWN_LINES = 3
# The thread that waits for the process that starts a watcher.
LAUNCHER = "launcher of the watcher"


@dataclass(frozen=True, slots=True)
class Running:
    """A watcher that runs."""

    pid: int
    birth: str  # when the process began, as the system says it
    since: float  # seconds since 1970


def lock_path() -> str:
    """The lock that the watcher holds."""
    return watcher_dir("lock")


def pid_path() -> str:
    """The file that says which process the watcher is."""
    return watcher_dir("pid")


def command() -> list[str]:
    """The command that runs the watcher in the foreground. It loads less than `sage` does."""
    return [sys.executable, "-P", "-m", MODULE]


def environment() -> dict[str, str]:
    """The variables for the watcher, which runs in another folder: what names a folder is made absolute."""
    folders = {name: os.path.abspath(value) for name in FOLDER_VARIABLES if (value := os.environ.get(name))}
    return {**os.environ, **folders}


def running() -> Running | None:
    """The watcher that runs; None if none does. The PID file of a killed one counts for nothing."""
    try:
        data = loads(read_regular(pid_path(), _MAX_PID_BYTES))
        found = Running(int(data["pid"]), str(data["birth"]), float(data["since"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return found if found.pid > 1 and found.birth and birth_of(found.pid) == found.birth else None


def write_pid() -> Running:
    """Say that this process is the watcher; the caller holds the lock."""
    me = Running(os.getpid(), birth_of(os.getpid()), time.time())
    data = {"pid": me.pid, "birth": me.birth, "since": me.since}
    write_bytes(pid_path(), dumps(data).encode(), mode=PRIVATE_FILE, sync=False)
    return me


def birth_of(pid: int) -> str:
    """When a process began, as a text to compare; empty if there is no such process or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name of the program is in parentheses and may hold anything.
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return "" if fields[0] in (b"Z", b"X") else f"{boot}:{int(fields[19])}"
    except (OSError, ValueError, IndexError):
        pass
    if os.path.exists("/proc/self/stat"):
        return ""
    try:
        shown = subprocess.run(
            ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
            capture_output=True, text=True, timeout=5, check=False, env={"LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    state, _, began = shown.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else began.strip()


def start() -> tuple[Running, bool]:
    """Start the watcher, unless it runs; returns it when it watches, and whether it was started now."""
    if found := running():
        return found, False
    launcher = _launch(subprocess.PIPE)
    said = _answer(launcher)
    launcher.wait()
    found = _found_within(_PID_FILE_S if said == TAKEN else 0.0)
    if found is not None:
        return found, said == UP
    if said == TAKEN:
        raise Busy(
            f"another process holds {lock_path()}, and it is not on this machine",
            "a container or another machine that shares this folder runs the watcher: stop it there",
        )
    raise SageError("the watcher did not start", "; ".join(log_tail(_SHOWN_LINES)) or "its log is empty")


def stop() -> bool:
    """Stop the watcher and wait for its end; whether one ran."""
    found = running()
    if found is None:
        remove(pid_path())
        return False
    for number, patience in ((signal.SIGTERM, _STOP_S), (signal.SIGKILL, _KILL_S)):
        _signal(found, number)
        ends = time.monotonic() + patience
        while birth_of(found.pid) == found.birth:
            if time.monotonic() > ends:
                break
            time.sleep(_POLL_S)
        else:
            if running() is None:  # a new one may have begun meanwhile
                remove(pid_path())
            return True
    raise SageError(f"the watcher (process {found.pid}) does not end", "look at what it waits for: `ps`, its log")


def ensure_running(root: str) -> None:
    """Start the watcher if the settings ask for it (`watcher_auto_start`). Does not wait for it and never raises."""
    try:
        from sage_code.settings.loading import load_settings  # lazy: the server may have no use for it

        settings = load_settings(root)
        if settings.watcher_auto_start and running() is None:
            import threading

            launcher = _launch(subprocess.DEVNULL)
            threading.Thread(target=launcher.wait, name=LAUNCHER, daemon=True).start()  # leaves no zombie
    except Exception as error:  # an agent's server must not fail because of it
        note("watcher", f"it could not be started: {type(error).__name__}: {error}")


def _launch(output: int) -> subprocess.Popen[bytes]:
    """Start the process that becomes the watcher's parent for a moment, and ends."""
    if not hasattr(os, "fork"):
        raise UsageError("the watcher runs on Linux and macOS", "`sage mcp install` needs no watcher")
    log = open_log()
    try:
        return subprocess.Popen(
            [*command(), "--detach"],
            stdin=subprocess.DEVNULL, stdout=output, stderr=log, cwd="/", env=environment(),
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(log)


def _answer(launcher: subprocess.Popen[bytes]) -> bytes:
    """What the new watcher says about itself before it closes its output; empty if it says nothing in time."""
    assert launcher.stdout is not None
    ends, said = time.monotonic() + _START_S, b""
    with launcher.stdout as output:
        while (left := ends - time.monotonic()) > 0:
            if select.select([output], [], [], left)[0]:
                if not (part := os.read(output.fileno(), 256)):
                    break
                said += part
    return said.strip()


def _found_within(seconds: float) -> Running | None:
    """The watcher, as soon as its PID file is there."""
    ends = time.monotonic() + seconds
    while (found := running()) is None and time.monotonic() < ends:
        time.sleep(_POLL_S)
    return found


def _signal(found: Running, number: int) -> None:
    """Send a signal to the watcher and to no other process, also if it ends at this moment."""
    handle = -1
    try:
        if hasattr(os, "pidfd_open"):
            handle = os.pidfd_open(found.pid)
        if birth_of(found.pid) != found.birth:
            return
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(found.pid, number)
    except ProcessLookupError:
        return
    except OSError:  # a kernel that forbids handles
        if birth_of(found.pid) == found.birth:
            os.kill(found.pid, number)
    finally:
        if handle >= 0:
            os.close(handle)
