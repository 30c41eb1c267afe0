"""Watches the folders of a project, so that a question need not look at every file again (Linux only).

The kernel queues an event before the call that changes a file returns, so an empty queue proves that nothing was
written, added, moved or deleted since the watch began. Not seen are changes through another hard link, which
`files/stamps.py` looks at one by one, and stores into a file that was mapped before. File systems that others may
change without this kernel (network, shared folders of a virtual machine) are not watched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from threading import Lock

from sage_code.files.stamps import Notes

_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "bcachefs"})
# From <sys/inotify.h>: modify, attributes, close after writing, moved from, moved to, create, delete, delete self,
# move self; only folders, no links.
_EVENTS = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_FLAGS = 0x01000000 | 0x02000000
# Those of a file that stays where it is: without a meaning if it does not belong to the project, like a log.
_INSIDE_A_FILE = 0x2 | 0x4 | 0x8
_EVENT_BYTES, _HEAD_BYTES = 1 << 16, 16
_MOUNT_POINT, _AFTER_OPTIONS = 4, " - "


class Watch:
    """Watches what the notes of a comparison are about; an OSError if it cannot, or if something has changed."""

    _descriptor = -1

    def __init__(self, notes: Notes) -> None:
        if not sys.platform.startswith("linux") or not _is_local(notes.root):
            raise OSError("this folder cannot be watched")
        import ctypes  # lazy: takes longer than a question

        libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "no watch is left")
        self._identity, self._is_over, self._lock = notes.identity, False, Lock()
        paths = notes.paths()
        self._names = frozenset(path.rpartition(b"/")[2] for path in paths)  # a folder's is empty
        for folder in (path for path in paths if path.endswith(b"/")):
            if libc.inotify_add_watch(self._descriptor, folder, _EVENTS | _FLAGS) < 0:
                raise OSError(ctypes.get_errno(), "cannot be watched", folder)
        if not notes.are_same():  # what has changed before the watch began
            raise OSError("changed meanwhile")

    def fileno(self) -> int:
        """The descriptor that becomes readable when something changes."""
        return self._descriptor

    def knows(self, notes: Notes) -> bool:
        """Whether these notes are the watched ones, and nothing has changed since."""
        return notes.identity == self._identity and self.is_quiet()

    def is_quiet(self) -> bool:
        """Whether nothing has changed since the watch began."""
        with self._lock:  # an event that another thread has taken counts here too
            while not self._is_over:
                try:
                    events = os.read(self._descriptor, _EVENT_BYTES)
                except BlockingIOError:
                    return True
                self._is_over = any(self._counts(mask, name) for mask, name in _events(events))
        return False

    def _counts(self, mask: int, name: bytes) -> bool:
        return bool(mask & ~_INSIDE_A_FILE) or name in self._names

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The kind and the file's name of each event; the name is empty for the folder itself."""
    while data:
        mask = int.from_bytes(data[4:8], sys.byteorder)
        end = _HEAD_BYTES + int.from_bytes(data[12:_HEAD_BYTES], sys.byteorder)
        yield mask, data[_HEAD_BYTES:end].rstrip(b"\0")
        data = data[end:]


def _is_local(root: str) -> bool:
    """Whether the folder is on one file system that only this kernel changes."""
    inside, best, kind = os.path.join(root, ""), "", ""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            head, _, tail = line.partition(_AFTER_OPTIONS)
            point = os.path.join(head.split(" ")[_MOUNT_POINT].replace("\\040", " "), "")
            if point.startswith(inside) and point != inside:
                return False
            if inside.startswith(point) and len(point) >= len(best):
                best, kind = point, tail.split(" ")[0]
    return kind in _FILE_SYSTEMS
