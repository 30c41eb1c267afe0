"""The exceptions that Sage raises on purpose, in one tree.

    SageError                 everything that is reported to the user, with `code`, `message` and `hint`
    ├── UsageError            the call itself is wrong: a path, a name or an option that is not possible
    ├── ConfigError           a setting that is unknown, of the wrong type or out of range
    ├── NotIndexed            the project has no index yet
    ├── IndexCorrupt          an index file cannot be read; the hint says how to repair it
    ├── FormatTooNew          written by a newer Sage; never overwritten
    ├── StoreError            Lance or the file system refused: disk full, unreachable, damaged, not allowed
    ├── ModelError            an embedding model cannot be loaded
    ├── MemoryDamaged         a checkpoint, knowledge item or template cannot be read
    ├── Conflict              somebody else has changed it since it was read; nothing was changed
    ├── ArchiveError          a file is no index archive, or does not fit this project; nothing was changed
    ├── SummariserError       a service or a program did not write the summary that it was asked for
    ├── PostingError          a code host did not take the comment that it was sent
    ├── PluginError           a plugin cannot be loaded, or is not what a plugin has to be
    └── Busy                  another process holds the lock for longer than we wait

Every message says what happened and to which file; every hint says what to do next. Faces print both and exit 2.
"""

from __future__ import annotations

import errno

_NO_SPACE = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


class SageError(Exception):
    """Base of everything Sage raises on purpose."""

    code = "error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SageError):
    """The call itself is wrong."""

    code = "usage"


class ConfigError(SageError):
    """A setting is unknown, of the wrong type or out of range."""

    code = "config"


class NotIndexed(SageError):  # noqa: N818 - says what is wrong
    """The project has no index yet."""

    code = "not_indexed"


class IndexCorrupt(SageError):  # noqa: N818
    """An index file cannot be read."""

    code = "index_corrupt"


class FormatTooNew(SageError):  # noqa: N818
    """The index was written by a newer Sage; it is left alone."""

    code = "format_too_new"


class StoreError(SageError):
    """The vector store or the disk refused."""

    code = "store"


class ModelError(SageError):
    """An embedding model cannot be loaded or run."""

    code = "model"


class ArchiveError(SageError):
    """A file is no sound index archive, or does not fit here."""

    code = "archive"


class SummariserError(SageError):
    """A service or a program did not write the summary that it was asked for."""

    code = "summariser"


class PostingError(SageError):
    """A code host did not take the comment that it was sent."""

    code = "posting"


class PluginError(SageError):
    """A plugin cannot be loaded, or is not what a plugin has to be."""

    code = "plugin"


class MemoryDamaged(SageError):  # noqa: N818
    """A memory's file cannot be read; it is left as it is."""

    code = "memory_damaged"


class Conflict(SageError):  # noqa: N818
    """What was to be changed has been changed by somebody else since it was read."""

    code = "conflict"


class Busy(SageError):  # noqa: N818
    """Another process holds a lock for longer than we are willing to wait."""

    code = "busy"


def explain(error: OSError) -> SageError:
    """An error of the file system as a SageError: a full disk or a pipe instead of a file is no bug of Sage."""
    why = error.strerror or str(error) or type(error).__name__
    what = f"{error.filename}: {why}" if error.filename is not None else why
    if error.errno in _NO_SPACE:
        return StoreError(f"no space left on the disk: {what}", "free some space and run the command again")
    if error.errno in _NOT_ALLOWED:
        return StoreError(what, "check that you may read and write there, or work on a copy")
    return StoreError(what, "look at what is there and move it away if it is no ordinary file or folder")
