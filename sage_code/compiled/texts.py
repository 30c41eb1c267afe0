"""The text of every file of an imported index, for readers without a checkout.

An ordinary index reads the lines that it shows from the disk. An imported index may have no files beside it: its
generation has this file too, with one compressed block for each file and a list of the blocks' offsets.
"""

from __future__ import annotations

import mmap
import os
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from sage_code.compiled.inventory import TEXTS_FILE
from sage_code.files.contained import open_regular

if TYPE_CHECKING:
    from sage_code.store.rows import FileRows

_TAIL_BYTES = 8
# The largest text that is unpacked: as much as the setting for the largest file allows.
_MAX_TEXT_BYTES = 100_000_000
# The list of a million files.
_MAX_LIST_BYTES = 128 << 20
_KEPT_LISTS = 4


class TextWriter:
    """Writes the texts of files, one after the other."""

    def __init__(self, folder: str) -> None:
        self._file = open(os.path.join(folder, TEXTS_FILE), "wb")  # noqa: SIM115 - closed by `close`
        self._blocks: dict[str, tuple[int, int]] = {}

    def add(self, file: FileRows) -> None:
        """Take one file; its chunks are a partition of its lines."""
        block = zlib.compress("\n".join(chunk.text for chunk in file.chunks).encode())
        self._blocks[file.path] = (self._file.tell(), len(block))
        self._file.write(block)

    def finish(self) -> None:
        """Write the list of the blocks."""
        blocks = zlib.compress(orjson.dumps(self._blocks))
        self._file.write(blocks + len(blocks).to_bytes(_TAIL_BYTES, "little"))
        self.close()

    def close(self) -> None:
        """Let go of the file, finished or not."""
        self._file.close()


def stored_text(folder: str, path: str) -> str | None:
    """The text of a file as it was when the index was exported; None if the generation in `folder` has none."""
    try:
        data, blocks = _open(os.path.join(folder, TEXTS_FILE))
        start, length = blocks[path]
        return _unpack(data[start : start + length], _MAX_TEXT_BYTES).decode()
    except (OSError, ValueError, KeyError, TypeError, OverflowError, zlib.error):
        return None  # not there, or not written by us: the project's folder may come from anybody


@lru_cache(maxsize=_KEPT_LISTS)
def _open(path: str) -> tuple[mmap.mmap, dict[str, Any]]:
    """The mapped file, and by path the offset and length of each block."""
    with open_regular(path) as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(data[-_TAIL_BYTES:], "little")
    if size > len(data) - _TAIL_BYTES:
        raise ValueError("the list of texts is damaged")
    blocks = orjson.loads(_unpack(data[len(data) - _TAIL_BYTES - size : -_TAIL_BYTES], _MAX_LIST_BYTES))
    if not isinstance(blocks, dict):
        raise ValueError("the list of texts is damaged")
    return data, blocks


def _unpack(block: bytes, limit: int) -> bytes:
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(block, limit)
    if not unpacking.eof:
        raise ValueError("a text is damaged or too large")
    return data
