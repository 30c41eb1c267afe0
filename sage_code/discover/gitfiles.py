"""Lists the files of a checkout with git: tracked files, and untracked files that are not ignored.

The repository is hostile input; `git_process.py` runs git so that nothing of it is executed. When git is missing, fails
or takes too long, the answer is None and the caller reads the ignore files itself.
"""

from __future__ import annotations

import os
import re
import subprocess

from sage_code.discover.git_process import command_in, environment, git_program, is_plain, whole_output
from sage_code.files.contained import read_regular

# A cold listing of 400,000 files takes git about 10 s.
TIMEOUT_SECONDS = 60.0
# Each nested repository takes a process of about 5 ms. A thousand of them are an attack, or a home folder.
MAX_CALLS = 1000

# A file of ignored patterns that settings name, and further settings that they include.
_NAMED_FILE = re.compile(r"(?im)^(?:\s*\[[^\]\n]*\])?\s*(excludesfile|path)\s*=\s*\"?([^\"\n]+?)\"?\s*$")
_MAX_CONFIG_BYTES = 1 << 20
# More files of settings than anybody has.
_MAX_CONFIGS = 50


class Git:
    """Runs git during one listing; not again after a timeout, so that a run waits once at most."""

    def __init__(self) -> None:
        self._program = git_program()
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
        if not is_plain(top) or not is_plain(folder):
            return None
        try:
            done = whole_output(
                command_in(self._program, folder, "ls-files", "-z", *options), environment(top), TIMEOUT_SECONDS
            )
        except subprocess.TimeoutExpired:
            self._calls_left = 0
            return None
        except OSError:
            return None
        return done.split(b"\0")[:-1] if done is not None else None


def tracked_files(folder: str) -> frozenset[str] | None:
    """The tracked files below `folder`, relative to it; none outside of a checkout, None when git fails."""
    top = work_tree(folder)
    if top is None:
        return frozenset()
    found = Git().tracked(os.fsencode(folder), os.fsencode(top))
    return None if found is None else frozenset(os.fsdecode(path) for path in found)


def work_tree(folder: str) -> str | None:
    """The top folder of the checkout that `folder` is in, None if it is in none."""
    top = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(top, ".git")):
        above = os.path.dirname(top)
        if above == top:
            return None
        top = above
    return top


def is_shallow(top: str) -> bool:
    """Whether the history of the work tree `top` was cut off when it was cloned."""
    here = _git_folder(top)
    return os.path.exists(os.path.join(here, _first_line(os.path.join(here, "commondir")), "shallow"))


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
