"""The walk over a project's folders: every entry once, in the order of its path, no link followed.

A `Membership` decides whether an entry belongs to the project; then `.sageignore`, the user's excludes and the built-in
ones apply. The walk has its own stack, so folders may be nested as deep as the disk allows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NamedTuple

from sage_code.discover.filenames import reason_by_name
from sage_code.discover.ignore import IgnoreFile
from sage_code.discover.membership import ByIgnoreFiles, Membership
from sage_code.discover.rules import (
    CACHE_FOLDERS,
    CACHE_MARKER,
    CACHE_SIGNATURE,
    GITIGNORE,
    MAX_IGNORE_BYTES,
    MAX_IGNORE_BYTES_IN_ALL,
    OWN_FOLDERS,
    SAGEIGNORE,
    VENV_MARKER,
    DiscoverRules,
)
from sage_code.discover.secret_files import is_secret_path
from sage_code.files.contained import read_contained
from sage_code.files.stamps import Stamps
from sage_code.paths import sage_home
from sage_code.values import SkippedFile, SkipReason, SourceFile

# So many folders of one that is left out are looked at.
_FEW_FOLDERS = 20
_JUNCTION = 0xA0000003  # Windows: a folder that is a link; `stat` names it only there

_Entry = tuple[bytes, os.DirEntry[bytes]]  # its name, a folder's with a final slash, and the entry
_Found = SourceFile | SkippedFile | None
# Given a folder (absolute, and from the root) with its own .git, returns its membership rules.
Repository = Callable[[bytes, bytes], Membership]


class _Folder(NamedTuple):
    """An open folder: its path, the entries still to visit, and the rules for them."""

    path: bytes  # from the root; empty, or with a final slash
    entries: Iterator[_Entry]
    members: Membership
    sage: ByIgnoreFiles


class Walk:
    """One walk below `root`, an absolute path with a final slash."""

    def __init__(
        self,
        root: bytes,
        rules: DiscoverRules,
        repository: Repository,
        explain_ignored: bool,
        stamps: Stamps | None = None,
    ) -> None:
        """`stamps` notes the change time of everything that the walk looks at."""
        self._root = root
        self._stamps = stamps
        self._rules = rules
        self._repository = repository
        self._explain = explain_ignored
        excludes = "\n".join(rules.extra_excludes).encode("utf-8", "surrogateescape")
        self._excludes = IgnoreFile(excludes, root, "exclude") if excludes else None
        self._ignore_bytes_left = MAX_IGNORE_BYTES_IN_ALL
        self._too_much: list[SkippedFile] = []  # ignore files that are only used in part
        self._note("the setting exclude", self._excludes)
        # A SAGE_HOME inside the project, under any name: it has the data of all projects, and secrets.
        self._home = os.fsencode(os.path.realpath(sage_home())).replace(os.fsencode(os.sep), b"/") + b"/"

    def files(self, members: Membership) -> Iterator[SourceFile | SkippedFile]:
        """Every file that belongs to the project, and skipped files with the reason."""
        stack: list[_Folder] = []
        found: _Folder | _Found = self._enter(b"", members, ByIgnoreFiles(SAGEIGNORE.decode()))
        while True:
            if isinstance(found, _Folder):
                stack.append(found)
            elif found:
                yield found
            while stack and (entry := next(stack[-1].entries, None)) is None:
                stack.pop()
            if not stack:
                yield from self._too_much
                return
            assert entry
            found = self._visit(entry, stack[-1])

    def _visit(self, found: _Entry, folder: _Folder) -> _Folder | _Found:
        """The file, the opened folder or the reason to skip it; None for an entry that is not mentioned."""
        name, entry = found
        is_folder = name.endswith(b"/")
        path = folder.path + name
        if entry.name.lower() in OWN_FOLDERS or self._root + path == self._home:
            return None
        if is_folder and entry.name in CACHE_FOLDERS:
            return self._ignored(path, "built-in")
        why = self._excluded(path, entry, folder)
        if why is None:
            why = folder.members.why_not(self._root, path, entry)
        if why is not None:
            if is_folder and self._stamps is not None:
                self._note_unlisted(path)
            return self._ignored(path, why)
        return self._enter(path, folder.members, folder.sage) if is_folder else self._file(path, entry)

    def _excluded(self, path: bytes, entry: os.DirEntry[bytes], folder: _Folder) -> str | None:
        """The line of the user's excludes or of a `.sageignore` that excludes this entry."""
        decision = self._excludes.decide(self._root + path, entry.name) if self._excludes else None
        if decision:
            return decision[1] if decision[0] else None
        return folder.sage.why_not(self._root, path, entry)

    def _note_unlisted(self, path: bytes) -> None:
        """Note the change times of a folder that is left out, and of the first folders in it.

        Git names no folder in which it ignores all files, such as what is left of a deleted package: a new file in it
        belongs to the project. What a rule ignores is mostly larger, and does not matter.
        """
        assert self._stamps is not None
        waiting = [path]
        for _ in range(_FEW_FOLDERS):
            if not waiting:
                return
            folder = waiting.pop(0)
            self._stamps.add_inside(self._root, folder)
            try:
                with os.scandir(self._root + folder) as scan:
                    waiting += [folder + entry.name + b"/" for entry in scan if _is_folder(entry)]
            except OSError:
                continue

    def _ignored(self, path: bytes, why: str) -> SkippedFile | None:
        return SkippedFile(_shown(path), SkipReason.IGNORED, why) if self._explain else None

    def _enter(self, path: bytes, members: Membership, sage: ByIgnoreFiles) -> _Folder | SkippedFile | None:
        """Open a folder and read its ignore files; caches and virtual environments are ignored."""
        absolute = self._root + path
        try:
            path.decode()
            if self._stamps is not None:  # before its entries are read: one that is added meanwhile is noticed
                self._stamps.add(path, os.lstat(absolute))
            with os.scandir(absolute) as scan:
                entries = [(entry.name + b"/" * _is_folder(entry), entry) for entry in scan]
        except UnicodeDecodeError:
            return SkippedFile(_shown(path), SkipReason.BAD_NAME)
        except OSError as error:
            return SkippedFile(_shown(path) or "./", SkipReason.UNREADABLE, error.strerror or str(error))
        entries.sort(key=itemgetter(0))  # in the order of whole paths: `a.py` before `a/b.py`
        names = {name for name, _ in entries}
        if self._stamps is not None:  # an ignore file that ignores itself is obeyed all the same
            for name in {GITIGNORE, SAGEIGNORE, VENV_MARKER, CACHE_MARKER} & names:
                self._stamps.add_inside(self._root, path + name)
        if path and VENV_MARKER in names:
            return self._ignored(path, VENV_MARKER.decode())
        if path and CACHE_MARKER in names and self._is_cache(path):
            return self._ignored(path, CACHE_MARKER.decode())
        if path and (b".git" in names or b".git/" in names) and members.end_at(path):
            members = self._repository(absolute, path)
        if GITIGNORE in names:
            members = members.with_rules(absolute, lambda: self._read(path + GITIGNORE))
            self._note(_shown(path + GITIGNORE), members.rules if isinstance(members, ByIgnoreFiles) else None)
        if SAGEIGNORE in names:
            sage = sage.with_rules(absolute, lambda: self._read(path + SAGEIGNORE))
            self._note(_shown(path + SAGEIGNORE), sage.rules)
        return _Folder(path, iter(entries), members, sage)

    def _read(self, path: bytes) -> bytes:
        """The content of an ignore file, up to the limits."""
        try:
            limit = min(MAX_IGNORE_BYTES, self._ignore_bytes_left)
            content = read_contained(self._root, path, limit + 1)
        except OSError:  # a link, a pipe or an unreadable file has no rules
            return b""
        self._ignore_bytes_left = max(0, self._ignore_bytes_left - len(content))
        if len(content) <= limit:
            return content
        detail = f"of this ignore file only the first {limit:,} bytes are obeyed"
        self._too_much.append(SkippedFile(_shown(path), SkipReason.TOO_LARGE, detail))
        return content[:limit].rpartition(b"\n")[0]  # without the last line, which may be cut

    def _is_cache(self, folder: bytes) -> bool:
        try:
            return read_contained(self._root, folder + CACHE_MARKER, len(CACHE_SIGNATURE)) == CACHE_SIGNATURE
        except OSError:
            return False

    def _note(self, name: str, rules: IgnoreFile | None) -> None:
        if rules is not None and rules.left_out:
            detail = f"{rules.left_out:,} patterns are not obeyed: too many or too long"
            self._too_much.append(SkippedFile(name, SkipReason.TOO_LARGE, detail))

    def _file(self, path: bytes, entry: os.DirEntry[bytes]) -> _Found:
        """The file with its size and times, or why it is skipped; None when it has vanished."""
        try:
            text = path.decode()
            status = entry.stat(follow_symlinks=False)
        except UnicodeDecodeError:
            return SkippedFile(_shown(path), SkipReason.BAD_NAME)
        except FileNotFoundError:
            return None
        except OSError as error:
            return SkippedFile(_shown(path), SkipReason.UNREADABLE, error.strerror or str(error))
        if self._stamps is not None:
            self._stamps.add(path, status)
        reason = self._reason(text, status)
        if reason:
            return SkippedFile(text, reason)
        return SourceFile(text, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def _reason(self, path: str, status: os.stat_result) -> SkipReason | None:
        """Why a file is skipped unread: by its kind, its size or its name."""
        if not stat.S_ISREG(status.st_mode):
            return SkipReason.SYMLINK if _is_link(status) else SkipReason.NOT_A_FILE
        if status.st_size == 0:
            return SkipReason.EMPTY
        if not self._rules.include_secrets and is_secret_path(path):
            return SkipReason.SECRET
        by_name = reason_by_name(path.rpartition("/")[2])
        if by_name and not (by_name is SkipReason.GENERATED and self._rules.include_generated):
            return by_name
        return SkipReason.TOO_LARGE if status.st_size > self._rules.max_file_bytes else None


def _is_folder(entry: os.DirEntry[bytes]) -> bool:
    try:
        if os.name == "nt" and _is_link(entry.stat(follow_symlinks=False)):
            return False
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False  # `_file` gets the same error and reports it


def _is_link(status: os.stat_result) -> bool:
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def _shown(path: bytes) -> str:
    """A path to print: bytes that are not Unicode become `\\xff`."""
    return path.decode("utf-8", "backslashreplace")
