"""`segments.json`: which files the published generation consists of, and whether they are the ones that were written.

Each file is listed with its size, time and hashes. Damage that keeps size and time, such as a failing disk causes, is
found in a small file when it is opened (`check_symbols`, `check_segment`). In a large file it is found when reading
fails (`reading`), or by `sage index` and `sage admin verify`, which hash everything. Only small standard modules are
imported here: this is on the path of `sage grep`.
"""

from __future__ import annotations

import os
import zlib

from sage_code.errors import IndexCorrupt, NotIndexed, SageError
from sage_code.files.contained import open_regular, read_regular
from sage_code.files.provenance import complaint, is_known, published_folder
from sage_code.languages.kinds import TABLES
from sage_code.text.light_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# History of the format: 1: first version; 2: segments of format 3; 3: segments of format 4; 4: of format 5; 5: of 6;
# 6: of 7, with the centrality file, the time of every file, and a checksum of the list itself;
# 7: a second checksum of every file; 8: segments of format 8.
FORMAT = 8
INDEX_FILE = "segments.json"
# Written by `sage_code.compiled.centrality`.
CENTRALITY_FILE = "centrality.bin"
# Only of an imported index: see `sage_code.compiled.texts`.
TEXTS_FILE = "texts.bin"
MEND_HINT = "run `sage index`: it comes back from the store"
# A reader that resolves a generation just before it is replaced may find its files deleted; it looks again.
TRIES = 20
_MAX_INDEX_BYTES = 1 << 26
_SUM = b',"crc32":'
_MAX_KEPT_SUMS = 64
_kept_sums: dict[tuple[object, ...], Any] = {}
_READ_BYTES = 1 << 20
# Listed of each file: size, xxh3, time, crc32.
_MARKS = 4
# Files up to this size are hashed whenever they are opened: symbol files with `zlib` (1 ms a MB, at most 0.4 ms a
# `sage grep`), segments with xxh3, which a search has loaded (0.1 ms a MB).
_HASHED_SYMBOLS, _HASHED_SEGMENT = 1 << 17, 8 << 20


def encoded(index: bytes) -> bytes:
    """The JSON object `index` with its own checksum as the last member."""
    return index[:-1] + _SUM + b"%d}" % zlib.crc32(index)


def current_listing(root: str) -> tuple[str, dict[str, Any]] | None:
    """The published folder and its list; None if there is none that can be used."""
    folder = published_folder(root)
    for _ in range(TRIES):
        if folder is None:
            return None
        if (found := _read(folder)) is not None:
            return folder, found
        # Replaced and deleted while we read it, perhaps: look again.
        before, folder = folder, published_folder(root)
        if folder == before:
            return None
    return None


def missing(root: str) -> SageError:
    """Why a project has no generation that can be used."""
    if is_known(root):
        return IndexCorrupt(complaint(root), MEND_HINT)
    return NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")


def digest(path: str) -> str:
    """The xxh3 of a file's bytes."""
    import xxhash  # lazy: `sage grep` does without

    found = xxhash.xxh3_64()
    for part in _parts(path):
        found.update(part)
    return found.hexdigest()


def checksum(path: str) -> int:
    """The CRC-32 of a file's bytes."""
    found = 0
    for part in _parts(path):
        found = zlib.crc32(part, found)
    return found


def _parts(path: str) -> Iterator[bytes]:
    with open_regular(path) as file:
        while part := file.read(_READ_BYTES):
            yield part


def check_symbols(path: str, size: int, crc32: int) -> None:
    """Raise IndexCorrupt if a symbol file is small and not what was written."""
    if size <= _HASHED_SYMBOLS and _in_its_state(path, checksum) != crc32:
        raise IndexCorrupt(f"{path} is damaged", MEND_HINT)


def check_segment(path: str, size: int, hashed: str) -> None:
    """Raise IndexCorrupt if a segment or the centrality file is small and not what was written."""
    if size <= _HASHED_SEGMENT and _in_its_state(path, digest) != hashed:
        raise IndexCorrupt(f"{path} is damaged", MEND_HINT)


def damaged(folder: str, files: dict[str, Any]) -> list[str]:
    """The files of a generation that are not what was written; hashes all of them."""
    found = []
    for name, (size, hashed, *_) in files.items():
        path = os.path.join(folder, name)
        try:
            good = os.stat(path).st_size == size and digest(path) == hashed
        except OSError:
            good = False
        if not good:
            found.append(path)
    return found


class reading:  # noqa: N801 - used like `contextlib.suppress`
    """A block that reads the index of a project. An exception in it becomes IndexCorrupt if a file of the index is
    damaged, and is passed on otherwise."""

    def __init__(self, root: str) -> None:
        self._root = root

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        is_corrupt = isinstance(error, IndexCorrupt)
        if not isinstance(error, Exception) or (isinstance(error, SageError) and not is_corrupt):
            return
        message = _find_damage(self._root)
        if message and not is_corrupt:
            raise IndexCorrupt(message, MEND_HINT) from error


def _find_damage(root: str) -> str:
    """Name a damaged file, or return "" if there is none. Damaged files are touched: readers then see the damage
    without hashing, and the next `sage index` makes the files again from the store."""
    found = current_listing(root)
    if found is None:
        return missing(root).message
    paths = damaged(found[0], found[1]["files"])
    for path in paths:
        try:
            os.utime(path)
        except OSError:
            continue
    return f"{paths[0]} is damaged" if paths else ""


def _read(folder: str) -> dict[str, Any] | None:
    """The list in a generation's folder; None if it is damaged or of another format."""
    try:
        data = read_regular(os.path.join(folder, INDEX_FILE), _MAX_INDEX_BYTES)
        index, _, total = data.rpartition(_SUM)
        if int(total[:-1]) != zlib.crc32(index + b"}"):
            return None
        found = loads(index + b"}")
        return found if found["format"] == FORMAT and _is_well_formed(found) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_well_formed(found: dict[str, Any]) -> bool:
    """Whether this is a list as Sage writes it. `published_folder` has checked that its files are there, unchanged."""
    files = found["files"]
    names = {segment["file"] for segment in found["segments"]} | {f"{table}.json" for table in TABLES}
    # A name that leads to another folder was not written by Sage.
    return (
        _is_name(found["generation"])
        and names | {CENTRALITY_FILE} == files.keys() - {TEXTS_FILE}
        and all(os.path.basename(name) == name and len(mark) == _MARKS for name, mark in files.items())
    )


def _is_name(generation: str) -> bool:
    """Whether this can be the name of a generation: a number and random bytes."""
    number, _, random = generation.partition("-")
    # No regular expression: compiling one takes longer than `sage grep` takes to look a name up.
    return number.isdecimal() and number.isascii() and random.isalnum() and random.isascii() and len(generation) < 64


def _in_its_state(path: str, hashed: Callable[[str], Any]) -> Any:
    """`hashed(path)`, remembered until the file changes: a server asks before every answer."""
    facts = os.stat(path)
    state = (hashed, path, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)
    found = _kept_sums.get(state)
    if found is None:
        found = hashed(path)
        if len(_kept_sums) >= _MAX_KEPT_SUMS:
            _kept_sums.clear()
        _kept_sums[state] = found
    return found
