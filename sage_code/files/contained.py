"""Opens and deletes files of a project and nothing else, even if links or pipes replace them meanwhile.

Where the system has `openat`, every step from the root downwards refuses links, which leaves no gap for a race.
Elsewhere (Windows) the resolved path is compared instead.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

# O_NONBLOCK: opening a pipe returns at once instead of waiting for a writer.
_READ = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
)  # fmt: skip
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# `os.read` allocates what it is asked for before it reads: no more than the file has, within these bounds.
_MIN_PART_BYTES, _MAX_PART_BYTES = 1 << 12, 1 << 20
# Far below the limit of 256 open files that some systems have.
_MAX_OPEN_FOLDERS = 64
_HAS_OPENAT = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")


class NotRegularError(OSError):
    """The path leads to a pipe, a socket, a device or a folder."""


class TooLargeError(OSError):
    """The file is larger than its reader accepts."""


def read_regular(path: str, limit: int, *, follow: bool = False) -> bytes:
    """The whole regular file at `path`, of at most `limit` bytes.

    OSError for anything else: a pipe or an endless device never blocks or fills the memory. If the last step is a link,
    it is refused; with `follow`, for folders in which the user may link files, it is followed.
    """
    with open_regular(path, follow=follow) as file:
        is_large = os.fstat(file.fileno()).st_size > limit
        data = b"" if is_large else _read(file.fileno(), limit + 1)
    if is_large or len(data) > limit:
        raise TooLargeError(errno.EFBIG, f"larger than {limit:,} bytes", path)
    return data


def open_regular(path: str, *, follow: bool = False) -> BinaryIO:
    """The regular file at `path`, open, for callers that map it or read it in parts; OSError for anything else."""
    descriptor = os.open(path, _READ & ~getattr(os, "O_NOFOLLOW", 0) if follow else _READ)
    if not _is_regular(descriptor):
        os.close(descriptor)
        raise NotRegularError(errno.EINVAL, "not a regular file", path)
    return os.fdopen(descriptor, "rb")


def read_contained(root: bytes, path: bytes, limit: int) -> bytes:
    """At most `limit` bytes of the regular file `path` below `root`; OSError for anything else."""
    descriptor = _open_by_steps(root, path) if _HAS_OPENAT else _open_resolved(root, path)
    try:
        if not _is_regular(descriptor):
            raise NotRegularError(errno.EINVAL, "not a regular file", os.fsdecode(path))
        return _read(descriptor, limit)
    finally:
        os.close(descriptor)


class ContainedReader:
    """Reads many files below one root, as `read_contained` does: a folder is opened once for all files in it."""

    def __init__(self, root: str) -> None:
        self._root = os.fsencode(root)
        self._folders: dict[bytes, int] = {}

    def read(self, path: str, limit: int) -> bytes:
        """At most `limit` bytes of the regular file `path`; OSError for anything else."""
        name = path.encode()
        if not _HAS_OPENAT:
            return read_contained(self._root, name, limit)
        folder, _, last = name.rpartition(b"/")
        here = self._folders.get(folder)
        if here is None:
            here = self._open(folder)
        _steps(last)
        descriptor = os.open(last, _READ, dir_fd=here)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NotRegularError(errno.EINVAL, "not a regular file", path)
            size = min(found.st_size + 1, limit)
            data = os.read(descriptor, size)
            # A file is read at once, unless it is huge or grows.
            return data if len(data) < size else data + _read(descriptor, limit - len(data))
        finally:
            os.close(descriptor)

    def _open(self, folder: bytes) -> int:
        """The opened folder; some others are closed if there are too many."""
        if len(self._folders) >= _MAX_OPEN_FOLDERS:
            self.close()
        steps = _steps(folder) if folder else []
        self._folders[folder] = _open_folders(self._root, steps)
        return self._folders[folder]

    def close(self) -> None:
        """Close the folders."""
        for descriptor in self._folders.values():
            os.close(descriptor)
        self._folders.clear()


def remove_contained(root: str, path: str) -> bool:
    """Delete the file, link or whole folder `path` below `root`, as far as it can be deleted.

    False if there was nothing, or if a folder on the way is a link: nothing is ever deleted through one.
    """
    *folders, name = _steps(os.fsencode(path))
    try:
        if not _HAS_OPENAT:
            return _remove_resolved(os.fsencode(root), b"/".join((*folders, name)))
        here = _open_folders(os.fsencode(root), folders)
    except OSError:
        return False
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            import shutil  # lazy: readers delete nothing

            shutil.rmtree(os.fsdecode(name), ignore_errors=True, dir_fd=here)  # itself follows no link below
        else:
            os.unlink(name, dir_fd=here)
    except OSError:
        return False
    finally:
        os.close(here)
    return True


def _remove_resolved(root: bytes, path: bytes) -> bool:
    """Delete on a system without `openat`; False if the resolved path of the folder is another one."""
    parent, _, name = path.rpartition(b"/")
    wanted = os.path.join(os.path.realpath(root), *parent.split(b"/")) if parent else os.path.realpath(root)
    if os.path.normcase(os.path.realpath(wanted)) != os.path.normcase(wanted):
        return False
    found = os.path.join(wanted, name)
    if os.path.isdir(found) and not os.path.islink(found):
        import shutil

        shutil.rmtree(found, ignore_errors=True)
    else:
        os.unlink(found)
    return True


def _read(descriptor: int, limit: int) -> bytes:
    """At most `limit` bytes from an open file."""
    parts: list[bytes] = []
    usual = max(_MIN_PART_BYTES, min(os.fstat(descriptor).st_size + 1, _MAX_PART_BYTES))
    while limit > 0 and (part := os.read(descriptor, min(limit, usual))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _is_regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _open_by_steps(root: bytes, path: bytes) -> int:
    *folders, name = _steps(path)
    here = _open_folders(root, folders)
    try:
        return os.open(name, _READ, dir_fd=here)
    finally:
        os.close(here)


def _open_folders(root: bytes, folders: list[bytes]) -> int:
    """The last of `folders`, each in the one before it and none of them a link."""
    here = os.open(root, _FOLDER)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
    except BaseException:
        os.close(here)
        raise
    return here


def _open_resolved(root: bytes, path: bytes) -> int:
    wanted = os.path.join(os.path.realpath(root), *_steps(path))
    if os.path.normcase(os.path.realpath(wanted)) != os.path.normcase(wanted):
        raise PermissionError("a link leads elsewhere")
    return os.open(wanted, _READ)


def _steps(path: bytes) -> list[bytes]:
    steps = path.split(b"/")
    forbidden = b"\0\\:" if os.name == "nt" else b"\0"
    if any(step in (b"", b".", b"..") or set(step) & set(forbidden) for step in steps):
        raise PermissionError("the path leaves the project")
    return steps
