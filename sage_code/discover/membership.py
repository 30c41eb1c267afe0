"""Which entries of a folder belong to the project: by git's list, or by ignore files.

The walk asks a `Membership` for every entry and does not know which of the two it is.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from sage_code.discover.ignore import IgnoreFile


class Membership(Protocol):
    """The rules of one folder. Paths are bytes; a folder's ends with a slash, its name does not."""

    def end_at(self, path: bytes) -> bool:
        """Whether a folder with a .git is a separate repository, in which these rules do not apply."""
        ...

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> Membership:
        """The rules of a folder below that has its own ignore file."""
        ...

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:
        """Why this entry, which is `root` + `path`, does not belong to the project; None when it does."""
        ...


class ByGit(NamedTuple):
    """By git's list: files, the folders above them, submodules and nested repositories."""

    members: frozenset[bytes]

    @classmethod
    def of(cls, listed: Iterable[bytes], prefix: bytes) -> ByGit:
        """`listed` are git's paths, relative to the folder `prefix` (empty, or with a final slash)."""
        # Git lists nested repositories with a final slash and submodules without. Here neither has one: only folders
        # that git has entered do.
        members = {_key(prefix + path.rstrip(b"/")) for path in listed}
        above = {path.rpartition(b"/")[0] for path in members}
        while above := {path for path in above if path and path + b"/" not in members}:
            members.update(path + b"/" for path in above)
            above = {path.rpartition(b"/")[0] for path in above}
        return cls(frozenset(members))

    def end_at(self, path: bytes) -> bool:
        """Only where git sees a repository: not every .git is one."""
        return _key(path.rstrip(b"/")) in self.members

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> ByGit:  # noqa: ARG002
        """The same: git has read every ignore file already."""
        return self

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:  # noqa: ARG002
        """Always "git": its list gives no reasons."""
        if _key(path) in self.members or self.end_at(path) or _is_overlooked(entry):
            return None
        return "git"


class ByIgnoreFiles(NamedTuple):
    """By nested ignore files of one name; the deeper one decides."""

    file_name: str
    rules: IgnoreFile | None = None

    def end_at(self, path: bytes) -> bool:  # noqa: ARG002
        """As in git, ignore files do not reach into another repository."""
        return True

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> ByIgnoreFiles:
        """These rules, then those of the folder's ignore file."""
        return ByIgnoreFiles(self.file_name, IgnoreFile(content(), folder, self.file_name, self.rules))

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:
        """The line that excludes this entry."""
        decision = self.rules.decide(root + path, entry.name) if self.rules else None
        return decision[1] if decision and decision[0] else None


def _is_overlooked(entry: os.DirEntry[bytes]) -> bool:
    """Whether git left an entry out although no rule excludes it: empty and unreadable folders, pipes and devices."""
    try:
        if entry.is_symlink() or entry.is_file(follow_symlinks=False):
            return False
        with os.scandir(entry.path) as scan:
            return next(scan, None) is None
    except OSError:  # of a pipe: it is no folder
        return True


def _same(path: bytes) -> bytes:
    return path


def _folded(path: bytes) -> bytes:
    text = path.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text).casefold().encode("utf-8", "surrogateescape")


# Where the file system ignores case or Unicode composition, git's index and the disk may spell a name differently;
# names are compared as the file system does.
_key = _folded if sys.platform in ("darwin", "win32") else _same
