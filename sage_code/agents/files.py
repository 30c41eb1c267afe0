"""Reads and replaces the configuration files of other programs, with a backup in Sage's home.

Files are replaced as a whole and keep their permissions. Configuration files are often links into a dotfiles folder:
then the target is replaced, never the link. Before the first change of a file, a copy is kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass

import xxhash

from sage_code.errors import Busy, ConfigError
from sage_code.files.atomic import PRIVATE_FILE, whole_file, write_bytes
from sage_code.files.contained import NotRegularError, TooLargeError, read_regular
from sage_code.paths import sage_home

# An agent's history of all projects, which may be in its configuration, has a few megabytes.
_MAX_BYTES = 64 << 20
_SHARED_FILE = 0o644


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file at the time of reading; `text` keeps its byte order mark and line ends."""

    path: str
    text: str
    exists: bool


def read(path: str) -> TextFile:
    """The file at `path`; ConfigError if it cannot be read."""
    try:
        return TextFile(path, read_regular(path, _MAX_BYTES, follow=True).decode(), exists=True)
    except FileNotFoundError:
        return TextFile(path, "", exists=False)
    except (NotRegularError, TooLargeError) as error:
        raise _cannot(path, "it is no ordinary file, or far too large") from error
    except OSError as error:
        raise _cannot(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _cannot(path, str(error)) from error


def read_inside(path: str, root: str | None) -> TextFile:
    """Read a file of a project (None: of the user); a link that leads out of the project is refused."""
    if root is not None and os.path.commonpath([os.path.realpath(root), os.path.realpath(path)]) != os.path.realpath(
        root
    ):
        raise _cannot(path, "it is a link that leads out of the project")
    return read(path)


def write(before: TextFile, text: str, *, private: bool) -> list[str]:
    """Replace the file and return the folders that had to be made; Busy if it was changed since it was read."""
    target = os.path.realpath(before.path)
    made = []
    folder = os.path.dirname(target)
    while not os.path.isdir(folder):
        made.append(folder)
        folder = os.path.dirname(folder)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        mode = stat.S_IMODE(os.stat(target).st_mode) if before.exists else PRIVATE_FILE if private else _SHARED_FILE
        if read(before.path) != before:
            raise Busy(f"{before.path} has been changed by another program just now", "run the command again")
        with whole_file(target, mode=mode) as file:
            if os.chmod in os.supports_fd:  # the exact old permissions, without the umask
                os.chmod(file.fileno(), mode)
            file.write(text.encode())
    except OSError as error:
        raise _cannot(before.path, error.strerror or str(error)) from error
    return made


def delete(path: str, folders: list[str]) -> list[str]:
    """Delete a file that Sage made, and the folders that it made for it; return those that are not empty."""
    os.unlink(path)
    for number, folder in enumerate(folders):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError:
            return folders[number:]
    return []


def backup_path(path: str) -> str:
    """The path of a file's backup."""
    digest = xxhash.xxh3_64_hexdigest(os.path.abspath(path).encode())[:12]
    return os.path.join(sage_home(), "agents", f"{os.path.basename(path).lstrip('.')}.{digest}.backup")


def keep_backup(file: TextFile, *, newest: bool = False) -> str:
    """Copy a file to its backup and return its path. Only the user can read it, since it may hold keys.

    The first copy is kept, as the file was before Sage; with `newest`, for files that are replaced whole, the last.
    """
    if not file.exists:
        return ""
    path = backup_path(file.path)
    if newest or not os.path.exists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_bytes(path, file.text.encode(), mode=PRIVATE_FILE)
    return path


def drop_backup(file: TextFile) -> None:
    """Delete the backup if the file is again the same."""
    path = backup_path(file.path)
    with contextlib.suppress(OSError):
        if read_regular(path, _MAX_BYTES) == file.text.encode():
            os.unlink(path)


def _cannot(path: str, why: str) -> ConfigError:
    return ConfigError(f"cannot change {path}: {why}", "it was not changed; `--print` shows what to add by hand")
