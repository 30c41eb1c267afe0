"""The state of one session of an agent in one project: how far its transcript was read, what was saved and answered.

The state is a small JSON file of the user's, replaced as a whole under a lock, so that hooks, the watcher and the MCP
server can use it at the same time and be killed at any moment. A damaged file counts as none: everything in it can be
found again in the transcript. A hook reads it at every turn: only small modules are imported.
"""

from __future__ import annotations

import os
import time

from sage_code.continuity.places import continuity_dir, project_file, session_file
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

# History of the format: 1: first version.
FORMAT = 1
_MAX_BYTES = 4 << 20
_PRIVATE_FOLDER = 0o700
# Claude Code keeps transcripts for 30 days by default; without its transcript a session cannot be resumed.
KEPT_DAYS = 30
# How a brief stands, for the compaction or the start that it answers.
PENDING, OFFERED, ANSWERED = "pending", "offered", "answered"


class _StateFile:
    """A JSON file that is locked from `with` to the end of its block, and written if it has changed."""

    def __init__(self, path: str, wait_s: float) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        self._wait_s = wait_s
        self._lock: AbstractContextManager[None] | None = None
        self._before = ""

    def load(self) -> None:
        """Read the file as it is now, without a lock."""
        try:
            data = loads(read_regular(self.path, _MAX_BYTES))
            self._before = dumps(data)
        except (OSError, ValueError, RecursionError):
            data = None
        self.data = data if isinstance(data, dict) and data.get("format") == FORMAT else {}

    def loaded(self) -> dict[str, Any]:
        """The state as it is now, to look at without a lock."""
        self.load()
        return self.data

    def save(self) -> None:
        """Replace the file now, if the state has changed."""
        text = dumps({**self.data, "format": FORMAT})
        if text != self._before:
            # Nothing is lost with the last change if the machine crashes: the transcript is read again.
            write_bytes(self.path, text.encode("utf-8", "surrogatepass"), mode=PRIVATE_FILE, sync=False)
            self._before = text

    def __enter__(self) -> Any:
        os.makedirs(os.path.dirname(self.path), _PRIVATE_FOLDER, exist_ok=True)
        self._lock = locked(f"{self.path}.lock", timeout_s=self._wait_s)
        self._lock.__enter__()
        self.load()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.save()
        finally:
            if self._lock is not None:
                self._lock.__exit__(None, None, None)

    def released(self) -> _Released:
        """A block in which other processes may use the file: `data` is written before it and read again after it."""
        return _Released(self)


class _Released:
    def __init__(self, file: _StateFile) -> None:
        self._file = file

    def __enter__(self) -> None:
        self._file.__exit__(None)

    def __exit__(self, *_: object) -> None:
        self._file.__enter__()


class Session(_StateFile):
    """The state of a session. `Busy` if another process holds it for longer than `wait_s`."""

    def __init__(self, session: str, root: str, wait_s: float = 2.0) -> None:
        super().__init__(session_file(session, root), wait_s)
        self.id, self.root = session, root

    def load(self) -> None:
        """Read the state; a new one names its session and project."""
        super().load()
        if self.data.get("session") != self.id or self.data.get("root") != self.root:
            self.forget()
        self.data["format"] = FORMAT

    def forget(self) -> None:
        """Begin with a new state, which follows the same transcript."""
        transcript = self.data.get("transcript")
        self.data = {"session": self.id, "root": self.root, "started": time.time(), "format": FORMAT}
        self.data |= {"transcript": transcript} if isinstance(transcript, str) else {}

    @property
    def transcript(self) -> str:
        """The path of the session's transcript; empty if it is not known."""
        return str(self.data.get("transcript") or "")


class ProjectState(_StateFile):
    """What the sessions of a project share."""

    def __init__(self, root: str, share_worktrees: bool = False, wait_s: float = 2.0) -> None:
        super().__init__(project_file(root, share_worktrees), wait_s)


def sessions_of(root: str | None = None) -> list[dict[str, Any]]:
    """The states of all sessions, or of those in one project, the one used last first. Takes no lock."""
    folder, found = continuity_dir("sessions"), []
    ending = ".json" if root is None else session_file("", root).rpartition(".json")[0].rpartition(".")[2] + ".json"
    try:
        names = [name for name in os.listdir(folder) if name.endswith(ending)]
    except OSError:
        return []
    for name in names:
        data = _StateFile(os.path.join(folder, name), 0).loaded()
        if data and root in (None, data.get("root")):
            found.append(data)
    return sorted(found, key=lambda data: -float(data.get("used") or 0))


def forget_old_sessions(now: float) -> None:
    """Delete the states that nobody used for so long that their transcripts are gone, and what killed writers left."""
    for entry in (*_entries("sessions"), *(one for one in _entries("projects") if one.name.endswith(".tmp"))):
        try:
            age = now - entry.stat(follow_symlinks=False).st_mtime
            # A lock is as old as its session; it goes after it, since a process may still hold it.
            is_lock = entry.name.endswith(".lock")
            is_left = os.path.exists(entry.path.removesuffix(".lock")) if is_lock else False
            if (age > KEPT_DAYS * 86_400 and not is_left) or (entry.name.endswith(".tmp") and age > 3_600):
                os.unlink(entry.path)
        except OSError:
            continue  # another process was faster


def _entries(name: str) -> list[os.DirEntry[str]]:
    """The files in a folder of continuity."""
    try:
        return list(os.scandir(continuity_dir(name)))
    except OSError:
        return []
