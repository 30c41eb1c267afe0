"""Who says which entries of a folder belong to the project: git when it can, ignore files otherwise.

The walker asks for every entry it meets; both answers have the same shape, so it need not know who answers.
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
        """Whether a folder with a .git is a repository of its own, where these rules have no say."""
        ...

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> Membership:
        """The rules of a folder below that has an ignore file of its own."""
        ...

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:
        """Why this entry, which is `root` + `path`, does not belong to the project; None when it does."""
        ...


class ByGit(NamedTuple):
    """What git listed: files, the folders on the way to them, submodules and nested repositories."""

    members: frozenset[bytes]

    @classmethod
    def of(cls, listed: Iterable[bytes], prefix: bytes) -> ByGit:
        """`listed` are git's paths, relative to the folder `prefix` (empty, or with a final slash)."""
        # Git names nested repositories with a final slash and submodules without; here neither has one, which
        # sets them apart from the folders that git has looked into.
        members = {_key(prefix + path.rstrip(b"/")) for path in listed}
        above = {path.rpartition(b"/")[0] for path in members}
        while above := {path for path in above if path and path + b"/" not in members}:
            members.update(path + b"/" for path in above)
            above = {path.rpartition(b"/")[0] for path in above}
        return cls(frozenset(members))

    def end_at(self, path: bytes) -> bool:
        """Git does not take every .git for a repository."""
        return _key(path.rstrip(b"/")) in self.members

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> ByGit:  # noqa: ARG002
        """Git has read every ignore file already."""
        return self

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:  # noqa: ARG002
        """Git keeps its reasons to itself."""
        if _key(path) in self.members or self.end_at(path) or _is_overlooked(entry):
            return None
        return "git"


class ByIgnoreFiles(NamedTuple):
    """Ignore files of one name, nested; the deeper one has the last word."""

    file_name: str
    rules: IgnoreFile | None = None

    def end_at(self, path: bytes) -> bool:  # noqa: ARG002
        """As in git, ignore files do not reach into another repository."""
        return True

    def with_rules(self, folder: bytes, content: Callable[[], bytes]) -> ByIgnoreFiles:
        """These rules and those that the folder brings along."""
        return ByIgnoreFiles(self.file_name, IgnoreFile(content(), folder, self.file_name, self.rules))

    def why_not(self, root: bytes, path: bytes, entry: os.DirEntry[bytes]) -> str | None:
        """The line that leaves this entry out."""
        decision = self.rules.decide(root + path, entry.name) if self.rules else None
        return decision[1] if decision and decision[0] else None


def _is_overlooked(entry: os.DirEntry[bytes]) -> bool:
    """Whether git passed an entry over for another reason than a rule: it names neither folders that it
    cannot open nor empty ones, nor pipes and devices."""
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


# Git's index and the disk may spell one name differently where the file system does not care about case or
# composition; Sage compares as the file system does.
_key = _folded if sys.platform in ("darwin", "win32") else _same
