"""The folders that hold memories: the project's `.sage/` if it has one, the user's own, and what a team shares.

Files of a project are shared and get ordinary permissions, files of the user get private ones. Everything that can be
made again from the Markdown files is in `derived`. Ids are reduced to safe characters before they become part of a
path, and files are read without following a link.
"""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.files import atomic, dot_sage
from sage_code.files.contained import read_contained, remove_contained
from sage_code.files.locks import locked
from sage_code.files.private import private_name
from sage_code.paths import DOT_SAGE, dot_sage_dir, sage_home
from sage_code.serving import requester
from sage_code.values import Scope

# Far more than a person or an agent writes about one thing.
MAX_FILE_BYTES = 1_000_000
_MAX_ID_CHARS = 120
_LOCK_TIMEOUT_S = 30.0
_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]+")
_PRIVATE_FOLDER, _SHARED_FILE = 0o700, 0o644
_EMBEDDINGS = "embeddings"
_TEAM = "team"
# The map of attached memories of an older Sage.
_OLD_MAPS = ("attached.jsonl", "attached_rows.json")


@dataclass(frozen=True, slots=True)
class MemoryHome:
    """A folder with memories: the project's, the user's, or a team's in Sage's home."""

    scope: Scope
    root: str  # the project's root, or Sage's home; no path leads out of it
    base: str  # the folder below `root`: `.sage`, or empty for Sage's home

    @property
    def derived(self) -> str:
        """The folder for files that can be made again. In a project its name is secret, so no clone can bring one."""
        if self.scope == "project":
            return self.path("local", f"{_EMBEDDINGS}-{private_name()}")
        return self.path(_EMBEDDINGS)

    @property
    def is_about_project(self) -> bool:
        """Whether all memories here are about the project, not about many."""
        return self.scope == "project" or self.base.startswith(f"{_TEAM}/projects/")

    def locked(self, timeout_s: float = _LOCK_TIMEOUT_S) -> AbstractContextManager[None]:
        """Hold the lock of the writers; Busy if another process holds it for so long."""
        folders = ("local",) if self.scope == "project" else ()
        return locked(self.path(*folders, "memory.lock"), timeout_s=timeout_s)

    def path(self, *names: str) -> str:
        """A path in this home."""
        return os.path.join(self.root, self.base, *names) if self.base else os.path.join(self.root, *names)

    def prepare(self, *folders: str) -> None:
        """Create the folders and `derived`; links in a project are refused, since it may come from anybody."""
        if self.scope == "project":
            steps = [
                os.path.join(*folder.split("/")[: n + 1]) for folder in folders for n in range(folder.count("/") + 1)
            ]
            derived = os.path.join("local", os.path.basename(self.derived))
            dot_sage.prepare(self.root, "local", derived, *steps, shares=bool(steps))
            for old in (_EMBEDDINGS, *_OLD_MAPS):  # from an older Sage, or from a clone
                remove_contained(self.root, f"{self.base}/local/{old}")
            return
        for folder in (self.root, self.derived, *(self.path(folder) for folder in folders)):
            os.makedirs(folder, mode=_PRIVATE_FOLDER, exist_ok=True)

    def read(self, *names: str, max_bytes: int = MAX_FILE_BYTES) -> str:
        """The text of a file; FileNotFoundError if there is none, MemoryDamaged if it is no UTF-8 text or too large."""
        path = "/".join((self.base, *names) if self.base else names)
        shown = self.path(*names)
        try:
            data = read_contained(os.fsencode(self.root), os.fsencode(path), max_bytes + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise MemoryDamaged(
                f"{shown} cannot be read: {error.strerror or error}", "a link or a device is not followed: move it away"
            ) from error
        if len(data) > max_bytes:
            raise MemoryDamaged(f"{shown} is larger than {max_bytes:,} bytes", "shorten it or move it away")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MemoryDamaged(f"{shown} is not UTF-8", "save it as UTF-8") from error

    def write(self, text: str, *names: str) -> None:
        """Replace a file atomically."""
        mode = _SHARED_FILE if self.scope == "project" else atomic.PRIVATE_FILE
        atomic.write_bytes(self.path(*names), text.encode("utf-8"), mode=mode)

    def remove(self, path: str) -> None:
        """Delete the file at `path`, relative to this home; MemoryDamaged if a link is on the way."""
        inside = "/".join((self.base, path)) if self.base else path
        if not remove_contained(self.root, inside) and os.path.lexists(self.path(path)):
            raise MemoryDamaged(
                f"{self.path(path)} cannot be deleted",
                "Sage does not delete through a link: replace the link by a folder",
            )


def homes(project_root: str | None) -> tuple[MemoryHome, ...]:
    """The homes to read from, nearest first: the project's if it has a `.sage/`, the user's, and teams'."""
    found = [MemoryHome("user", sage_home(), "")]
    if project_root is not None:
        folder = os.path.join(project_root, DOT_SAGE)
        if os.path.isdir(folder) and not os.path.islink(folder) and dot_sage_dir(project_root) == folder:
            found.insert(0, MemoryHome("project", project_root, DOT_SAGE))
    # In a server for many users each one sees other memories of a team: only the database says which.
    if requester.current() is None and os.path.isdir(os.path.join(sage_home(), _TEAM)):
        teams = dict.fromkeys((team_home(project_root), team_home(None)))
        found += [home for home in teams if os.path.isdir(home.path())]
    return tuple(found)


def team_home(project_root: str | None) -> MemoryHome:
    """Where the memories of a team are that others wrote: about this project, or without one, about all projects."""
    if project_root is None:
        return MemoryHome("team", sage_home(), f"{_TEAM}/shared")
    name = hashlib.sha256(os.fsencode(os.path.realpath(project_root))).hexdigest()[:24]
    return MemoryHome("team", sage_home(), f"{_TEAM}/projects/{name}")


def home_to_write(project_root: str | None, scope: Scope | None = None) -> MemoryHome:
    """The home that a new memory goes into; with the scope `project`, also one whose `.sage/` does not exist yet."""
    found = homes(project_root)
    user = next(home for home in found if home.scope == "user")
    if scope == "team":
        raise UsageError("a memory that others shared is not replaced", "edit its file, then run `sage team sync`")
    if scope is None:
        return found[0]
    if scope == "user":
        return user
    if project_root is None:
        raise UsageError("there is no project to save into", "run it inside a project, or save for yourself")
    if dot_sage_dir(project_root) != os.path.join(project_root, DOT_SAGE):
        return user  # the project's `.sage/` is Sage's home, which is the user's
    return MemoryHome("project", project_root, DOT_SAGE)


def safe_id(name: str) -> str:
    """`name` reduced to the characters of a file name; UsageError if none is left."""
    safe = _NOT_IN_IDS.sub("-", name).strip("-")[:_MAX_ID_CHARS].strip("-")
    if not safe:
        raise UsageError(f"{name[:80]!r} is no id", "use letters, digits, - and _")
    return safe


def stamp_of(state: os.stat_result) -> str:
    """A text that changes with a file."""
    return f"{state.st_mtime_ns:x}-{state.st_size:x}"


def id_of(path: str) -> str:
    """The id of the memory in a file: the file's name without its suffix."""
    return os.path.splitext(os.path.basename(path))[0]
