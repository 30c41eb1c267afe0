"""Reads who changed which files in the last commits of a checkout; see `git_process.py` for how git is run."""

from __future__ import annotations

import os
from typing import NamedTuple

from sage_code.discover.git_process import command_in, environment, first_output, git_program, is_plain
from sage_code.discover.gitfiles import is_shallow, work_tree

# 2,000 commits of a large project take git about half a second and print 1 MB.
MAX_COMMITS = 2_000
MAX_SECONDS = 2.0
MAX_BYTES = 8 << 20

_AUTHOR = b"\x02"
# Author and files; no driver, filter or mailmap that a repository brings has a part in it.
_WORDS = (
    "log", "--no-merges", "--no-mailmap", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature",
    "--no-decorate", "--no-color", "--encoding=UTF-8", "--name-only", "--relative", "-z", "--format=%x02%an",
)  # fmt: skip


class Commit(NamedTuple):
    """Who made a commit, and the files that it changed, relative to the folder that was asked for."""

    author: str
    files: tuple[str, ...]


def recent_commits(folder: str, count: int = MAX_COMMITS) -> list[Commit]:
    """The last commits that changed something below `folder`, newest first, as far as they can be read in time.

    None outside of a checkout, in an empty or a shallow one, and without git.
    """
    program, top = git_program(), work_tree(folder)
    if program is None or top is None or is_shallow(top):
        return []
    here, above = (os.fsencode(os.path.join(path, "")) for path in (os.path.realpath(folder), top))
    if not is_plain(above) or not is_plain(here):
        return []
    words = (*_WORDS, f"--max-count={min(count, MAX_COMMITS)}", "--", ".")
    try:
        printed = first_output(command_in(program, here, *words), environment(above), MAX_SECONDS, MAX_BYTES)
    except OSError:
        return []
    return _commits(printed)


def _commits(printed: bytes) -> list[Commit]:
    """The commits of git's output; a last one that was cut off is left out."""
    found: list[Commit] = []
    author = ""
    files: list[str] = []
    for field in printed.split(b"\0")[:-1]:
        if field.startswith(_AUTHOR):
            found += [Commit(author, tuple(files))] if author else []
            author, files = field[1:].decode("utf-8", "replace").strip(), []
        elif field:
            files.append(os.fsdecode(field.removeprefix(b"\n")))
    return [*found, Commit(author, tuple(files))] if author else found
