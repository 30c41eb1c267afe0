"""Replaces files and folders as a whole: a reader sees the old one or the new one, never a part.

`write_bytes` and `whole_file` replace one file. `publish` points a link at a finished folder in one step, and `resolve`
follows it. Readers resolve once and then stay inside that folder, so they never mix two indexes.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

PRIVATE_FILE = 0o600
_TEMPORARY = ".tmp"
# The folder may come from anybody: nothing is written through a link or into a file that is already there.
_NEW_FILE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip


def write_bytes(path: str, data: bytes, *, mode: int = 0o644, sync: bool = True) -> None:
    """Replace `path` by a file with `data`; a crash leaves the old file or the new one.

    Without `sync` it does not wait for the disk, and a crash of the machine may also leave a part of the new one.
    """
    with whole_file(path, mode=mode, sync=sync) as file:
        file.write(data)


class whole_file:  # noqa: N801 - used like `open`
    """A file to write to. It replaces `path` when the block ends without an exception, and is deleted otherwise.

    A class, since importing `contextlib` takes longer than a look-up of `sage grep`.
    """

    def __init__(self, path: str, *, mode: int = 0o644, sync: bool = True) -> None:
        self._path, self._temporary, self._mode, self._sync = path, _beside(path), mode, sync

    def __enter__(self) -> BinaryIO:
        self._file = os.fdopen(os.open(self._temporary, _NEW_FILE, self._mode), "wb")
        return self._file

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            with self._file as file:
                if kind is None and self._sync:
                    file.flush()
                    os.fsync(file.fileno())
            if kind is None:
                os.replace(self._temporary, self._path)
        finally:
            remove(self._temporary)  # not there any more after a replace


def sweep(folder: str) -> None:
    """Remove the temporary files of killed writers in `folder`; the caller holds the lock that they held."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for name in names:
        if name.endswith(_TEMPORARY):
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    """Delete a file, a link or a whole folder, as far as it can be deleted."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            import shutil  # lazy: readers delete nothing

            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError:
        return


def publish(link: str, folder: str) -> None:
    """Point `link` at `folder`, which is beside it or below its folder, in one step.

    A relative symbolic link is replaced by rename, which POSIX makes atomic. Windows may forbid links, so there
    a small file holds the folder's name; `resolve` reads both.
    """
    name = os.path.relpath(folder, os.path.dirname(link))
    if sys.platform == "win32":
        write_bytes(link, name.encode())
        return
    temporary = _beside(link)
    os.symlink(name, temporary)
    try:
        if os.path.isdir(link) and not os.path.islink(link):
            remove(link)  # a folder restored from a backup that followed the link
        os.replace(temporary, link)
    except BaseException:
        remove(temporary)
        raise


def resolve(link: str) -> str | None:
    """The folder that `link` points at now; None if nothing was published or the folder is gone."""
    folder, before = _target(link), None
    while folder is not None and not os.path.isdir(folder):
        if folder == before:
            return None
        # Perhaps another folder was published meanwhile, and the old one deleted: look again.
        folder, before = _target(link), folder
    return folder


def _target(link: str) -> str | None:
    """The folder that `link` names; None if it cannot be read or names a folder outside of its own."""
    try:
        if os.path.islink(link):
            name = os.readlink(link)
        elif os.path.isfile(link):
            with open(link, encoding="utf-8") as file:
                name = file.read(4096)
        else:
            return link
    except OSError:
        return None
    # A link in a project may come from anybody.
    base = os.path.dirname(link)
    folder = os.path.normpath(os.path.join(base, name))
    inside = not os.path.isabs(name) and folder.startswith(base + os.sep)
    return folder if inside else None


def _beside(path: str) -> str:
    """The name of a temporary file in the same folder, which cannot be guessed."""
    return f"{path}.{os.urandom(8).hex()}{_TEMPORARY}"
