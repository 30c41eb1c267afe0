"""An archive that is cut short, changed or made to do harm is refused, and nothing is changed by it."""

from __future__ import annotations

import hashlib
import os
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from sage_code import Project
from sage_code.errors import ArchiveError, FormatTooNew, SageError
from sage_code.index import registry
from sage_code.index.portable.archive import FILES, FORMAT, HEAD, Archive, ArchiveWriter

_FLIPS = 250
_CUTS = 60


@pytest.fixture
def archive(sample: Path, tmp_path: Path) -> Path:
    Project.open(sample).index()
    file = tmp_path / "sample.sageindex"
    Project.open(sample).export_index(file)
    return file


@pytest.fixture
def refused(tmp_path: Path, archive: Path) -> Callable[..., SageError]:
    """Imports bytes, which must fail and leave everything as it was; gives back why."""
    bad, target = tmp_path / "bad.sageindex", tmp_path / "made" / "target"
    before = _everything(tmp_path, bad)

    def attempt(data: bytes, kind: type[SageError] = ArchiveError) -> SageError:
        bad.write_bytes(data)
        with pytest.raises(kind) as error:
            Project.import_index(bad, target)
        assert not target.parent.exists()
        assert str(target) not in {entry.root for entry in registry.projects()}
        assert error.value.hint
        return error.value

    def checked(data: bytes, kind: type[SageError] = ArchiveError) -> SageError:
        reason = attempt(data, kind)
        assert _everything(tmp_path, bad) == before
        return reason

    attempt.checked = checked  # type: ignore[attr-defined] - the same, and every file of the user is looked at
    return attempt


def _everything(folder: Path, *but: Path) -> dict[str, str]:
    """Every file of the project and of the user, by what is in it."""
    homes = [folder, Path(os.environ["SAGE_HOME"])]
    files = [path for home in homes for path in home.rglob("*") if path.is_file() and path not in but]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.suffix != ".lock"}


def _frames(path: Path) -> list[tuple[bytes, bytes]]:
    with Archive.open(str(path)) as archive:
        return list(archive.frames())


def _made_of(frames: list[tuple[bytes, bytes]], tmp_path: Path) -> bytes:
    """A whole archive, with a right checksum."""
    with open(tmp_path / "made.sageindex", "wb") as file:
        writer = ArchiveWriter(file)
        for kind, data in frames:
            writer.add(kind, data)
        writer.finish()
    data = (tmp_path / "made.sageindex").read_bytes()
    (tmp_path / "made.sageindex").unlink()
    return data


def test_any_flipped_byte(archive: Path, refused: Any, seed: int) -> None:
    data = archive.read_bytes()
    chosen = random.Random(seed).sample(range(len(data)), _FLIPS)
    for offset in [*range(40), *range(len(data) - 45, len(data)), *chosen]:
        flipped = bytearray(data)
        flipped[offset] ^= 1 << offset % 8
        refused(bytes(flipped), SageError)
    refused.checked(bytes(flipped))


def test_any_truncation_and_anything_behind_the_end(archive: Path, refused: Any, seed: int) -> None:
    data = archive.read_bytes()
    for length in [0, 1, 12, 13, 20, len(data) - 1, *random.Random(seed).sample(range(len(data)), _CUTS)]:
        refused(data[:length])
    refused.checked(data + b"\0")
    refused(data + data)


def test_other_files_and_newer_formats(archive: Path, refused: Any, tmp_path: Path) -> None:
    data = archive.read_bytes()
    magic = data.index(b"\n") + 1
    assert "not an index archive" in refused(b"PK\x03\x04" + data).message
    newer = data[:magic] + struct.pack("<H", FORMAT + 1) + data[magic + 2 :]
    assert "newer Sage" in refused.checked(newer, FormatTooNew).message
    with pytest.raises(ArchiveError, match="cannot read"):
        Project.import_index(tmp_path / "nothing", tmp_path / "target")
    with pytest.raises(ArchiveError, match="cannot read"):
        Project.import_index(tmp_path, tmp_path / "target")


def test_a_frame_that_grows_without_end(archive: Path, refused: Any) -> None:
    head = archive.read_bytes()[: archive.read_bytes().index(b"\n") + 3]
    packed = pa.compress(bytes(200 << 20), codec="zstd", asbytes=True)
    for claimed in (200 << 20, 0xFFFFFFFF, 1 << 20):
        body = head + struct.pack("<cII", FILES, len(packed), claimed) + packed
        bomb = body + struct.pack("<cII", b"E", 32, 32) + hashlib.sha256(body).digest()
        refused(bomb)
    long = head + struct.pack("<cII", FILES, 1 << 30, 1 << 30)
    assert "too early" in refused.checked(long).message


def _with(frames: list[tuple[bytes, bytes]], change: Callable[[Any], None]) -> list[tuple[bytes, bytes]]:
    """The frames, with the description of the first file changed by `change`."""
    kind, data = frames[1]
    (length,) = struct.unpack_from("<I", data)
    head = orjson.loads(data[4 : 4 + length])
    change(head)
    changed = orjson.dumps(head)
    return [frames[0], (kind, struct.pack("<I", len(changed)) + changed + data[4 + length :]), *frames[2:]]


def _set(*steps: int | str, value: Any) -> Callable[[Any], None]:
    def change(head: Any) -> None:
        for step in steps[:-1]:
            head = head[step]
        head[steps[-1]] = value

    return change


_PATHS = ("../../.ssh/authorized_keys", "/etc/passwd", "a/../../b", "a//b", "./a", "..", "", "a\0b", "C:/x", "a\\b", 7)
_CHANGES = {
    **{f"path {number}": _set(0, 0, 0, value=path) for number, path in enumerate(_PATHS)},
    "language": _set(0, 0, 1, value="../x"),
    "content hash": _set(0, 0, 2, value="00"),
    "size": _set(0, 0, 3, value=-1),
    "no text": _set(0, 0, 4, 0, value=99_999),
    "negative text": _set(0, 0, 4, 0, value=-1),
    "kind": _set(0, 0, 5, 0, 0, value="no such kind"),
    "lines": _set(0, 0, 5, 0, 3, value=2),
    "length": _set(0, 0, 5, 0, 7, value=10**9),
    "symbols": _set(0, 0, 5, 0, 8, value=[["function"]]),
    "huge line": _set(0, 0, 5, 0, 8, value=[["function", "f", "f", 1 << 40, 1, 1, "", ""]]),
    "name": _set(0, 0, 5, 0, 2, value="another.name"),
    "references": _set(0, 0, 6, value="[[],[99],[1],[[0],[0],[0],[0]]]"),
    "no references": _set(0, 0, 6, value=None),
    "text": _set(1, 0, value="another text"),
    "fewer texts": lambda head: head[1].pop(),
    "nested": _set(0, value=[[[[]]]]),
    "twice": lambda head: head[0].append(head[0][0]),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_what_no_index_holds(archive: Path, refused: Any, tmp_path: Path, change: str) -> None:
    refused.checked(_made_of(_with(_frames(archive), _CHANGES[change]), tmp_path))


def test_a_changed_head_or_order(archive: Path, refused: Any, tmp_path: Path) -> None:
    frames = _frames(archive)
    head = orjson.loads(frames[0][1])
    for key, value in {"files": 1, "chunks": 10**9, "dim": 0, "project": "\x1b[31m", "indexed_at": 3, "new": 1}.items():
        refused(_made_of([(HEAD, orjson.dumps({**head, key: value})), *frames[1:]], tmp_path))
    for order in (frames[1:], frames[:1], [*frames, frames[0]], [*frames, frames[1]], [(HEAD, b"[]"), *frames[1:]], []):
        refused(_made_of(order, tmp_path))
    refused.checked(_made_of([frames[0], (FILES, b"\xff\xff\xff\xff")], tmp_path))


def test_vectors_of_another_model(archive: Path, refused: Any, tmp_path: Path) -> None:
    frames = _frames(archive)
    (length,) = struct.unpack_from("<I", frames[1][1])
    noise = random.Random(8).randbytes(len(frames[1][1]) - 4 - length)
    swapped = frames[1][1][: 4 + length] + bytes(byte & 0x3F for byte in noise)
    assert "vectors are not those" in refused.checked(_made_of([frames[0], (FILES, swapped)], tmp_path)).message
    broken = frames[1][1][: 4 + length] + b"\xff" * len(noise)
    assert "broken" in refused(_made_of([frames[0], (FILES, broken)], tmp_path)).message


def test_an_index_that_is_there_stays_when_an_import_fails(sample: Path, archive: Path) -> None:
    before = _everything(sample.parent)
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    bad = sample.parent / "bad.sageindex"
    bad.write_bytes(data)
    with pytest.raises(ArchiveError):
        Project.import_index(bad, sample)
    bad.unlink()
    assert _everything(sample.parent) == before
    assert Project.open(sample).search("reach a host").results
