"""Reads the complete lines of a file that another process is still writing, starting at a cursor.

A `Cursor` never moves past a line without an end, so its record is read when it is complete. At most one block and one
line are in memory; a line that is too long is skipped. A hook reads transcripts here: only small modules are imported.
"""

from __future__ import annotations

import os
from collections import namedtuple

import xxhash

from sage_code.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, NamedTuple

    class Cursor(NamedTuple):
        """How far a file has been read, and a mark to recognise it."""

        offset: int = 0
        skipping: bool = False  # in the middle of a line that is too long
        mark: str = ""  # hash of the file's beginning and of the bytes before `offset`
else:  # `typing` takes a third of the time of a hook that has nothing to say
    Cursor = namedtuple("Cursor", "offset skipping mark", defaults=(0, False, ""))  # noqa: PYI024

# The longest line according to the documentation of the format; longer ones are skipped.
MAX_LINE_BYTES = 10 << 20
_BLOCK_BYTES = 1 << 20
# A long line is decoded only if it is mostly text.
_LONG_LINE = 1 << 20
_MAX_COMMAS = 400_000
# A file is recognised by its beginning and by the bytes just before the cursor.
_MARK_BYTES = 1024
# Links are not followed: a transcript is a regular file in the agent's folder.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ReadStats:
    """Counts of what was read."""

    def __init__(self) -> None:
        self.lines = self.bytes = self.too_long = 0
        self.corrupt = 0  # counted by the callers, which decode the lines
        self.restarted = False  # the file is not the cursor's, so it was read from its beginning


class LineReader:
    """Iterates over the complete lines of a file; `cursor` is valid after every line.

    With `end` it stops before the first line that begins at this offset or later.
    """

    def __init__(
        self, path: str, cursor: Cursor | None = None, max_line: int = MAX_LINE_BYTES, end: int | None = None
    ) -> None:
        self.path = path
        self.stats = ReadStats()
        self._max_line, self._end = max_line, end
        self._offset, self._skipping = 0, False
        self._given = cursor or Cursor()

    def __iter__(self) -> Iterator[bytes]:
        stats = self.stats
        with open_regular(self.path) as file:
            self._start(file)
            file.seek(self._offset)
            kept = b""
            while block := file.read(_BLOCK_BYTES):
                lines = block.split(b"\n")
                lines[0] = kept + lines[0]
                kept = lines.pop()
                for line in lines:
                    if self._end is not None and self._offset >= self._end:
                        return
                    self._offset += len(line) + 1
                    stats.bytes += len(line) + 1
                    stats.lines += 1
                    if self._skipping or len(line) > self._max_line:
                        self._skipping = False
                        stats.too_long += 1
                    elif line:
                        yield line
                if len(kept) > self._max_line:
                    self._offset += len(kept)
                    self._skipping, kept = True, b""

    def _start(self, file: BinaryIO) -> None:
        given = self._given
        if given.offset and _mark(file, given.offset) != given.mark:
            self.stats.restarted = True
        else:
            self._offset, self._skipping = given.offset, given.skipping

    @property
    def offset(self) -> int:
        """The offset behind the last line."""
        return self._offset

    def cursor(self) -> Cursor:
        """The cursor for the next reader."""
        if not self._offset:
            return Cursor()
        with open_regular(self.path) as file:
            return Cursor(self._offset, self._skipping, _mark(file, self._offset) or "")


def cursor_at(path: str, offset: int) -> Cursor:
    """A cursor at an offset that is the beginning of a line; the beginning of the file if that is shorter."""
    with open_regular(path) as file:
        mark = _mark(file, offset) if offset > 0 else None
    return Cursor(offset, False, mark) if mark else Cursor()


def cursor_near_end(path: str, cursor: Cursor | None, limit: int) -> Cursor:
    """The cursor, or one behind the first line of the last `limit` bytes if more than that is new."""
    cursor = cursor or Cursor()
    try:
        size = os.stat(path).st_size
        if size - cursor.offset <= limit:
            return cursor
        with open_regular(path) as file:
            file.seek(size - limit)
            # The rest of a line that began before: at most one block is read at a time.
            offset = size - limit
            while block := file.read(_BLOCK_BYTES):
                if (found := block.find(b"\n")) >= 0:
                    return cursor_at(path, offset + found + 1)
                offset += len(block)
    except OSError:
        return cursor  # it is gone; its reader says so
    return cursor_at(path, size)


def is_text(line: bytes) -> bool:
    """Whether a line may be decoded: a megabyte of `[[],[],` would take a hundred in memory."""
    return len(line) <= _LONG_LINE or line.count(b",") + line.count(b"[") <= _MAX_COMMAS


def is_whole(line: bytes) -> bool:
    """Whether a line can be a record, judged by its ends, because most lines are never decoded."""
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
    """The mark of the first `offset` bytes; None if the file is shorter."""
    if os.fstat(file.fileno()).st_size < offset:
        return None
    digest = xxhash.xxh3_64(file.read(min(offset, _MARK_BYTES)))
    file.seek(max(0, offset - _MARK_BYTES))
    digest.update(file.read(min(offset, _MARK_BYTES)))
    return digest.hexdigest()
