"""Reads what is committed and staged in a checkout, and when files were last committed, without git reading the files.

`git diff` and `git status` run the filters that a repository names (`filter.NAME.clean`) on changed files, and a
repository is hostile input. So git is only asked for what it has noted: the blobs of HEAD, the index with its stamps, a
blob, the log. Whoever wants to know what has changed reads the files and compares.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from functools import partial
from typing import NamedTuple

from sage_code.discover.git_process import (
    command_in,
    environment,
    first_output,
    git_program,
    is_plain,
    whole_output,
)
from sage_code.discover.gitfiles import work_tree

# A tree of 400,000 files takes git a few seconds.
_SECONDS = 10.0
# 20,000 commits are years of a large project and take git about two seconds.
_MAX_COMMITS = 20_000
_LOG_SECONDS = 3.0
_LOG_BYTES = 48 << 20
_DEFAULT_BRANCHES = ("origin/main", "origin/master", "main", "master")
# The names of a file without content, by SHA-1 and by SHA-256.
_EMPTY_BLOBS = frozenset(
    made(b"blob 0\0").hexdigest() for made in (partial(hashlib.sha1, usedforsecurity=False), hashlib.sha256)
)
_REGULAR = b"100"  # 100644 100755; links and submodules have other modes
_TREE_ROW = re.compile(rb"(\d{6}) (\w+) ([0-9a-f]{40,64})\t([^\0]*)\0")
_INDEX_ROW = re.compile(
    rb"(\d{6}) ([0-9a-f]{40,64}) (\d)\t([^\0]*)\0  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n"
    rb"[^\n]*\n[^\n]*\n  size: (\d+)\t[^\n]*\n"
)
_TIME = b"\x02"
_LOG = (
    "log", "--no-merges", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-decorate",
    "--no-color", "--name-only", "--relative", "-z", f"--max-count={_MAX_COMMITS}", "--format=%x02%ct", "--", ".",
)  # fmt: skip


class Staged(NamedTuple):
    """A file of git's index: its blob, and the stamp of the file when git last looked."""

    blob: str
    mtime_ns: int
    size: int


class GitState:
    """What git has noted about the files below a folder; paths are relative to it."""

    def __init__(self, program: str, folder: str, top: str) -> None:
        self._program = program
        self._here, self._top = (os.fsencode(os.path.join(os.path.realpath(one), "")) for one in (folder, top))

    @classmethod
    def of(cls, folder: str) -> GitState | None:
        """The state of the checkout around a folder; None if there is none that git can read."""
        program, top = git_program(), work_tree(folder)
        if program is None or top is None:
            return None
        found = cls(program, folder, top)
        return found if is_plain(found._top) and is_plain(found._here) else None

    def head(self) -> str:
        """The last commit; empty before the first one."""
        return self._line("rev-parse", "--verify", "--quiet", "HEAD")

    def ancestors(self, most: int) -> list[str]:
        """The last commits, newest first, beginning with HEAD."""
        printed = self._ask("rev-list", f"--max-count={most}", "HEAD") or b""
        return os.fsdecode(printed).split()

    def commit(self, revision: str) -> str:
        """The commit that a revision names; empty if it names none."""
        if not revision or revision.startswith("-") or "\0" in revision:
            return ""
        return self._line("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")

    def merge_base(self, one: str, other: str) -> str:
        """The last commit that two commits have in common; empty if none is known, as in a shallow clone."""
        return self._line("merge-base", one, other)

    def default_branch(self) -> str:
        """The branch that work is merged into, as a revision: that of `origin`, or one with a usual name."""
        named = self._line("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
        return next((one for one in (named, *_DEFAULT_BRANCHES) if self.commit(one)), "")

    def remote(self) -> str:
        """The address of the remote `origin`; empty if there is none."""
        return self._line("config", "--local", "--get", "remote.origin.url")

    def below_top(self) -> str:
        """The folder's path below the top of the checkout, with a slash at its end; empty at the top."""
        return os.fsdecode(self._here.removeprefix(self._top))

    def committed(self, commit: str = "HEAD") -> dict[str, str]:
        """The blob of each regular file in a commit, the last one unless given; none before the first one."""
        rows = _TREE_ROW.findall(self._ask("ls-tree", "-r", "-z", commit) or b"")
        return {os.fsdecode(path): blob.decode() for mode, _, blob, path in rows if mode.startswith(_REGULAR)}

    def staged(self) -> dict[str, Staged] | None:
        """The regular files of the index; None if git fails."""
        printed = self._ask("ls-files", "--stage", "--debug", "-z")
        if printed is None:
            return None
        return {
            os.fsdecode(path): Staged(blob.decode(), int(seconds) * 10**9 + int(nanoseconds), int(size))
            for mode, blob, _, path, seconds, nanoseconds, size in _INDEX_ROW.findall(printed)
            if mode.startswith(_REGULAR)
        }

    def untracked(self) -> list[str]:
        """The files that are neither tracked nor ignored."""
        printed = self._ask("ls-files", "--others", "--exclude-standard", "-z") or b""
        return [os.fsdecode(path) for path in printed.split(b"\0")[:-1] if not path.endswith(b"/")]

    def blob(self, name: str, most: int) -> bytes | None:
        """The bytes of a blob; None if it is larger than `most`, cannot be read, or was never fetched."""
        words = command_in(self._program, self._here, "cat-file", "blob", name)
        try:
            found = first_output(words, environment(self._top), _SECONDS, most + 1)
        except OSError:
            return None
        if not found and name not in _EMPTY_BLOBS:
            return None  # a clone without this blob: git has nothing to print
        return found if len(found) <= most else None

    def index_time_ns(self) -> int:
        """When the index was written: a file that is not older may have changed after git looked at it."""
        path = os.fsdecode(self._ask("rev-parse", "--git-path", "index") or b"").removesuffix("\n")
        try:
            return os.stat(os.path.join(os.fsdecode(self._here), path)).st_mtime_ns
        except OSError:
            return 0  # then every file is compared

    def last_commits(self) -> dict[str, int]:
        """When each file was last committed, in seconds since 1970, as far back as the log was read in time."""
        try:
            command = command_in(self._program, self._here, *_LOG)
            printed = first_output(command, environment(self._top), _LOG_SECONDS, _LOG_BYTES)
        except OSError:
            return {}
        found: dict[str, int] = {}
        when = 0
        for field in printed.split(b"\0")[:-1]:
            if field.startswith(_TIME):
                digits = field[1:].strip()
                when = int(digits) if digits.isdigit() else 0
            elif when and (path := field.removeprefix(b"\n")):
                found.setdefault(os.fsdecode(path), when)
        return found

    def _line(self, *words: str) -> str:
        return os.fsdecode(self._ask(*words) or b"").strip()

    def _ask(self, *words: str) -> bytes | None:
        """The output of git; None when it fails or takes too long."""
        try:
            return whole_output(command_in(self._program, self._here, *words), environment(self._top), _SECONDS)
        except (subprocess.TimeoutExpired, OSError):
            return None
