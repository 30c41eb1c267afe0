"""The whole lines of a file that another process is still writing, from where the last reading stopped.

A `Cursor` never moves past a line that has no end yet: its record comes whole with the next reading. Memory stays
at one line, whatever the size of the file; a line that is too long is passed over without being kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import xxhash

from sage_code.errors import UsageError

# The longest line that is kept (the format's documentation gives this figure): the rest is passed over.
MAX_LINE_BYTES = 10 << 20
_BLOCK_BYTES = 1 << 20
# What a file is recognised by: its beginning, and what stood just before the cursor.
_MARK_BYTES = 1024
# A link is never followed: a transcript is a file that an agent wrote, in the place where agents write.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a file has been read, and by what it is known to be the same file."""

    offset: int = 0
    skipping: bool = False  # in the middle of a line that is too long
    mark: str = ""  # hash of the file's beginning and of what stands before `offset`


@dataclass(slots=True)
class Reading:
    """What was met on the way."""

    lines: int = 0
    bytes: int = 0
    too_long: int = 0
    corrupt: int = 0  # counted by those who decode the lines
    restarted: bool = False  # the file is another one than the cursor's: read from its beginning


class LineReader:
    """Reads a file's complete lines; `cursor` says how far, after every line."""

    def __init__(self, path: str, cursor: Cursor | None = None, max_line: int = MAX_LINE_BYTES) -> None:
        self.path = path
        self.reading = Reading()
        self._max_line = max_line
        self._offset, self._skipping = 0, False
        self._given = cursor or Cursor()

    def __iter__(self) -> Iterator[bytes]:
        reading = self.reading
        with open_regular(self.path) as file:
            self._start(file)
            file.seek(self._offset)
            kept = b""
            while block := file.read(_BLOCK_BYTES):
                lines = block.split(b"\n")
                lines[0] = kept + lines[0]
                kept = lines.pop()
                for line in lines:
                    self._offset += len(line) + 1
                    reading.bytes += len(line) + 1
                    reading.lines += 1
                    if self._skipping or len(line) > self._max_line:
                        self._skipping = False
                        reading.too_long += 1
                    elif line:
                        yield line
                if len(kept) > self._max_line:
                    self._offset += len(kept)
                    self._skipping, kept = True, b""

    def _start(self, file: BinaryIO) -> None:
        given = self._given
        if given.offset and _mark(file, given.offset) != given.mark:
            self.reading.restarted = True
        else:
            self._offset, self._skipping = given.offset, given.skipping

    def cursor(self) -> Cursor:
        """Where the next reading starts."""
        if not self._offset:
            return Cursor()
        with open_regular(self.path) as file:
            return Cursor(self._offset, self._skipping, _mark(file, self._offset) or "")


def is_whole(line: bytes) -> bool:
    """Whether a line can be a record; told by its ends, because most lines are never decoded."""
    return line[:1] == b"{" and line.rstrip().endswith(b"}") and b"\0" not in line


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading; links, pipes and folders are refused."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise UsageError(f"the transcript {path} cannot be read: {error.strerror}", "give a regular file") from error
    if not os.path.isfile(descriptor):
        os.close(descriptor)
        raise UsageError(f"the transcript {path} is no regular file", "give the .jsonl file of a session")
    return os.fdopen(descriptor, "rb", buffering=0)


def _mark(file: BinaryIO, offset: int) -> str | None:
    """By what the first `offset` bytes are recognised; None when there are not so many."""
    if os.fstat(file.fileno()).st_size < offset:
        return None
    digest = xxhash.xxh3_64(file.read(min(offset, _MARK_BYTES)))
    file.seek(max(0, offset - _MARK_BYTES))
    digest.update(file.read(min(offset, _MARK_BYTES)))
    return digest.hexdigest()
