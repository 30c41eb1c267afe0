"""The container: one file of compressed frames, each of bounded size, with a checksum over all of them at its end.

    MAGIC  format (u16)   frame ...   end frame
    frame:  kind (1 byte)  stored bytes (u32)  raw bytes (u32)  the stored bytes, zstd
    end:    kind `E`, 32 stored bytes: SHA-256 of everything before it; nothing follows

This module does not know what a frame holds. `Archive.open` reads the whole file once and accepts it only when all
sizes are possible and the checksum is right; after that, frames are unpacked one at a time.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO, Self

import pyarrow as pa

from sage_code.errors import ArchiveError, FormatTooNew
from sage_code.files.contained import open_regular

# History of the format: 1: first version.
FORMAT = 1
HEAD, FILES, _END = b"H", b"F", b"E"
_MAGIC = b"SAGE-INDEX\n"
_FORMAT_FIELD = struct.Struct("<H")
_FRAME_FIELDS = struct.Struct("<cII")
_CODEC = "zstd"
# The largest unpacked frame: one file of the largest indexable size, with its vectors.
MAX_FRAME_BYTES = 1 << 30
# Code packs to a quarter and vectors hardly at all: a frame that grows more than this is an attack.
_MAX_GROWTH = 100
# Tiny frames of one repeated letter grow more and do no harm.
_ALWAYS_ALLOWED = 1 << 16
_READ_BYTES = 1 << 20
_AGAIN = "get the file again, or make a new one with `sage index export`; nothing was changed"


class ArchiveWriter:
    """Writes frames to a file that was opened for it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self._put(_MAGIC + _FORMAT_FIELD.pack(FORMAT))

    def add(self, kind: bytes, data: bytes) -> None:
        """Write one frame."""
        if len(data) > MAX_FRAME_BYTES:
            raise ArchiveError(
                f"a file of the index takes {len(data):,} bytes, more than an archive holds in one piece",
                "lower the setting `max_file_bytes` and index again",
            )
        packed = pa.compress(data, codec=_CODEC, asbytes=True)
        self._put(_FRAME_FIELDS.pack(kind, len(packed), len(data)) + packed)

    def finish(self) -> str:
        """Write the checksum; returns it in hexadecimal."""
        digest = self._sum.digest()
        self._put(_FRAME_FIELDS.pack(_END, len(digest), len(digest)) + digest)
        return digest.hex()

    def _put(self, data: bytes) -> None:
        self._sum.update(data)
        self._file.write(data)


class Archive:
    """A checked archive, which can be read more than once."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path, self._file = path, file
        self.size = os.fstat(file.fileno()).st_size
        self.sha256 = ""

    @classmethod
    def open(cls, path: str) -> Archive:
        """Open the file at `path` and check it without unpacking it."""
        try:
            file = open_regular(path, follow=True)
        except OSError as error:
            raise ArchiveError(
                f"cannot read {path}: {error.strerror}", "give the file that an export has made"
            ) from error
        archive = cls(path, file)
        try:
            archive._check()
        except BaseException:
            file.close()
            raise
        return archive

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def frames(self) -> Iterator[tuple[bytes, bytes]]:
        """Every frame but the last: its kind and its data."""
        self._file.seek(len(_MAGIC) + _FORMAT_FIELD.size)
        while True:
            kind, stored, raw = _FRAME_FIELDS.unpack(self._read(_FRAME_FIELDS.size))
            if kind == _END:
                return
            packed = self._read(stored)
            try:
                data = pa.decompress(packed, raw, codec=_CODEC, asbytes=True)
            except (OSError, ValueError) as error:  # `ArrowIOError` is an `OSError`
                raise self.damaged("a frame cannot be unpacked") from error
            if len(data) != raw:
                raise self.damaged("a frame is shorter than it says")
            yield kind, data

    def damaged(self, why: str) -> ArchiveError:
        """The error to raise about this file."""
        return ArchiveError(f"{self.path} is not a sound index archive: {why}", _AGAIN)

    def _check(self) -> None:
        """Check the format number, the sizes of all frames and the checksum."""
        head = self._file.read(len(_MAGIC) + _FORMAT_FIELD.size)
        if not head.startswith(_MAGIC) or len(head) < len(_MAGIC) + _FORMAT_FIELD.size:
            raise ArchiveError(
                f"{self.path} is not an index archive", "give the file that `sage index export` has made"
            )
        (found,) = _FORMAT_FIELD.unpack(head[len(_MAGIC) :])
        if found > FORMAT:
            raise FormatTooNew(
                f"{self.path} was written by a newer Sage (format {found}, this one reads {FORMAT})",
                "upgrade sage-code; nothing was changed",
            )
        if found < FORMAT:
            raise self.damaged(f"format {found} was never written")
        total = hashlib.sha256(head)
        while True:
            fields = self._read(_FRAME_FIELDS.size)
            kind, stored, raw = _FRAME_FIELDS.unpack(fields)
            if kind == _END:
                break
            if kind not in (HEAD, FILES):
                raise self.damaged("it holds a frame of an unknown kind")
            if raw > MAX_FRAME_BYTES or raw > max(stored * _MAX_GROWTH, _ALWAYS_ALLOWED):
                raise self.damaged(f"a frame of {stored:,} bytes claims to unpack to {raw:,}")
            total.update(fields)
            while stored:
                part = self._read(min(stored, _READ_BYTES))
                total.update(part)
                stored -= len(part)
        end = _FRAME_FIELDS.pack(_END, total.digest_size, total.digest_size) + total.digest()
        if fields + self._read(total.digest_size) != end or self._file.read(1):
            raise self.damaged("the checksum is wrong")
        self.sha256 = total.hexdigest()

    def _read(self, size: int) -> bytes:
        # Checked before reading: memory is taken only for bytes that the file has.
        if size > self.size - self._file.tell() or len(data := self._file.read(size)) < size:
            raise self.damaged("it ends too early")
        return data
