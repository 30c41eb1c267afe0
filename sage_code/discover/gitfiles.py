"""Lists the files of a checkout with git: tracked files, and untracked files that are not ignored.

The repository is hostile input. Its `.git/config` may name programs (a file-system monitor, hooks, a remote helper) and
another work tree; all of that is overruled here. When git is missing, fails or takes too long, the answer is None and
the caller reads the ignore files itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import sys
import time

from sage_code.files.contained import read_regular

# A cold listing of 400,000 files takes git about 10 s.
TIMEOUT_SECONDS = 60.0
# Each nested repository takes a process of about 5 ms. A thousand of them are an attack, or a home folder.
MAX_CALLS = 1000

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

# A file of ignored patterns that settings name, and further settings that they include.
_NAMED_FILE = re.compile(r"(?im)^(?:\s*\[[^\]\n]*\])?\s*(excludesfile|path)\s*=\s*\"?([^\"\n]+?)\"?\s*$")
_MAX_CONFIG_BYTES = 1 << 20
# More files of settings than anybody has.
_MAX_CONFIGS = 50

_OVERRULED = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    f"core.hooksPath={os.devnull}",
    "core.sshCommand=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
)
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # the user's own settings
_SET_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",  # reading must not write the index
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # stronger than protocol.allow: the repository cannot allow one again
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}


class Git:
    """Runs git during one listing; not again after a timeout, so that a run waits once at most."""

    def __init__(self) -> None:
        program = shutil.which("git")
        # On Windows `which` looks into the current folder first and answers with a relative path.
        self._program = program if program and os.path.isabs(program) else None
        self._calls_left = MAX_CALLS

    def files(self, folder: bytes, top: bytes) -> list[bytes] | None:
        """Paths below `folder`, relative to it, in the work tree `top`; None when git cannot tell."""
        if not self._program or not self._calls_left:
            return None
        self._calls_left -= 1
        return self._ls_files(folder, top, "--cached", "--others", "--exclude-standard")

    def tracked(self, folder: bytes, top: bytes) -> list[bytes] | None:
        """The same for tracked files only."""
        return self._ls_files(folder, top, "--cached") if self._program else None

    def _ls_files(self, folder: bytes, top: bytes, *options: str) -> list[bytes] | None:
        """The output of `git ls-files` with these options; None when git fails."""
        if self._program is None:
            return None
        command = [self._program, "--no-pager", "-C", os.fsdecode(folder)]
        for setting in _OVERRULED:
            command += ["-c", setting]
        command += ["ls-files", "-z", *options]
        if not _is_plain(top) or not _is_plain(folder):
            return None
        try:
            done = _bounded(command, _environment(top))
        except subprocess.TimeoutExpired:
            self._calls_left = 0
            return None
        except OSError:
            return None
        return done.split(b"\0")[:-1] if done is not None else None


def _is_plain(folder: bytes) -> bool:
    """Whether the files that git reads first are regular: a pipe or a device would block it."""
    for name in _READ_FIRST:
        try:
            mode = os.stat(folder + name).st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            return False
    return True


def _bounded(command: list[str], environment: dict[str, str]) -> bytes | None:
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
                    if now - started > TIMEOUT_SECONDS or now - moved > _STUCK_SECONDS:
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


def tracked_files(folder: str) -> frozenset[str] | None:
    """The tracked files below `folder`, relative to it; none outside of a checkout, None when git fails."""
    top = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(top, ".git")):
        above = os.path.dirname(top)
        if above == top:
            return frozenset()
        top = above
    found = Git().tracked(os.fsencode(folder), os.fsencode(top))
    return None if found is None else frozenset(os.fsdecode(path) for path in found)


def files_read_by_git(top: bytes, folder: bytes) -> list[str]:
    """The files beside the ignore files below `folder` that decide what git lists there, of the work tree `top`.

    They need not exist. Both paths have a final slash.
    """
    here, config = _git_folder(os.fsdecode(top)), os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    common = os.path.join(here, _first_line(os.path.join(here, "commondir")))  # of a second work tree
    found = [
        os.path.join(here, "index"),
        os.path.join(common, "info", "exclude"),
        os.path.join(config, "git", "ignore"),
    ]
    settings = [
        os.path.join(here, "config.worktree"),
        os.path.join(common, "config"),
        os.environ.get("GIT_CONFIG_GLOBAL") or os.path.expanduser("~/.gitconfig"),
        os.path.join(config, "git", "config"),
        os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig",
    ]
    for name in settings:
        for key, path in _NAMED_FILE.findall(_read_small(name)):
            is_pattern_file = key.lower() == "excludesfile"
            named = os.path.join(
                os.fsdecode(top) if is_pattern_file else os.path.dirname(name), os.path.expanduser(path)
            )
            if is_pattern_file:
                found.append(named)
            elif named not in settings and len(settings) < _MAX_CONFIGS:
                settings.append(named)
    found += settings
    above = top
    for step in folder[len(top) :].split(b"/")[:-1]:
        found.append(os.fsdecode(above + b".gitignore"))
        above += step + b"/"
    return found


def _git_folder(top: str) -> str:
    """The folder that `.git` is, or that it names as a file."""
    path = os.path.join(top, ".git")
    named = _first_line(path).removeprefix("gitdir:").strip() if os.path.isfile(path) else ""
    return os.path.join(top, named) if named else path


def _first_line(path: str) -> str:
    return _read_small(path).partition("\n")[0].strip()


def _read_small(path: str) -> str:
    try:
        return os.fsdecode(read_regular(path, _MAX_CONFIG_BYTES, follow=True))
    except (OSError, ValueError):
        return ""


def _environment(top: bytes) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    # The work tree is the folder of its .git, even if core.worktree names another.
    return kept | _SET_VARIABLES | {"GIT_WORK_TREE": os.fsdecode(top)}
