"""Runs git in a repository that is hostile input, within bounds of time, memory and output.

Its `.git/config` may name programs (a file-system monitor, hooks, a remote helper, a signature checker) and another
work tree; all of that is overruled here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time

# A process that uses no CPU and reads nothing for so long hangs.
_STUCK_SECONDS = 5.0
_LOOK_SECONDS = 0.5
# The index of a million files takes 200 MB.
MAX_BYTES = 4 << 30
_READ_FIRST = (
    b".git/config",
    b".git/config.worktree",
    b".git/HEAD",
    b".git/index",
    b".git/info/exclude",
    b".gitignore",
)
_OVERRULED = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    f"core.hooksPath={os.devnull}",
    "core.sshCommand=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "log.showSignature=false",  # runs gpg.program
    "log.mailmap=false",  # reads a file that the repository names
    f"diff.orderFile={os.devnull}",
)
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # the user's own settings
_SET_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",  # reading must not write the index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # stronger than protocol.allow: the repository cannot allow one again
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}


def git_program() -> str | None:
    """The path of git, None if there is none."""
    program = shutil.which("git")
    # On Windows `which` looks into the current folder first and answers with a relative path.
    return program if program and os.path.isabs(program) else None


def command_in(program: str, folder: bytes, *words: str) -> list[str]:
    """The command line of git in a folder, with the repository's own programs overruled."""
    command = [program, "--no-pager", "-C", os.fsdecode(folder)]
    for setting in _OVERRULED:
        command += ["-c", setting]
    return [*command, *words]


def is_plain(folder: bytes) -> bool:
    """Whether the files that git reads first are regular: a pipe or a device would block it."""
    for name in _READ_FIRST:
        try:
            mode = os.stat(folder + name).st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            return False
    return True


def whole_output(command: list[str], environment: dict[str, str], seconds: float) -> bytes | None:
    """The output of the command, None when it fails; TimeoutExpired when it hangs or takes too long."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            _limit_memory(process.pid)
            started = moved = time.monotonic()
            used = 0
            while True:
                try:
                    printed, _ = process.communicate(timeout=_LOOK_SECONDS)
                    return printed if not process.returncode else None
                except subprocess.TimeoutExpired:
                    now, before = time.monotonic(), used
                    used = _ticks(process.pid)
                    moved = now if used != before else moved
                    if now - started > seconds or now - moved > _STUCK_SECONDS:
                        raise
        finally:
            process.kill()


def _limit_memory(pid: int) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))


def _ticks(pid: int) -> int:
    """A number that grows while the process works: its CPU time and the bytes it has read. Not on Linux: the clock."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat_file, open(f"/proc/{pid}/io", "rb") as io_file:
            fields = stat_file.read(4096).rpartition(b")")[2].split()
            is_waiting_for_disk = fields[0] == b"D"
            read = int(io_file.read(4096).split()[1])
        return time.monotonic_ns() if is_waiting_for_disk else int(fields[11]) + int(fields[12]) + read
    except (OSError, ValueError, IndexError):
        return time.monotonic_ns()


def first_output(command: list[str], environment: dict[str, str], seconds: float, max_bytes: int) -> bytes:
    """What the command prints within so many seconds, at most so many bytes."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        printed = bytearray()
        reader = threading.Thread(target=_read, args=(process, printed, max_bytes), daemon=True)
        try:
            _limit_memory(process.pid)
            reader.start()
            reader.join(seconds)
        finally:
            process.kill()
        reader.join(_LOOK_SECONDS)  # the pipe has ended with the process
    return bytes(printed)


def _read(process: subprocess.Popen[bytes], into: bytearray, max_bytes: int) -> None:
    """Read what the process prints until it ends or there is enough."""
    assert process.stdout is not None
    while len(into) < max_bytes:
        found = os.read(process.stdout.fileno(), min(1 << 16, max_bytes - len(into)))
        if not found:
            return
        into += found


def environment(top: bytes) -> dict[str, str]:
    """The variables of a git that reads the work tree `top`: the user's, without those that point git elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    # The work tree is the folder of its .git, even if core.worktree names another.
    return kept | _SET_VARIABLES | {"GIT_WORK_TREE": os.fsdecode(top)}
