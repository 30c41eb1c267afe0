"""What an archive claims about files and vectors never reaches the user's own projects."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from sage_code import Project
from sage_code.chunk.embedded_text import embedded_text
from sage_code.embed.bundled import BundledEmbedder
from sage_code.errors import ArchiveError
from sage_code.index.batches import _shuffled, _unshuffled, unpack
from sage_code.index.manifest import file_key, load_manifest
from sage_code.index.portable import importing
from sage_code.index.portable.archive import FILES, Archive, ArchiveWriter
from sage_code.store.lance import Store, store_uri

_VICTIM = '"""Pays."""\n\n\ndef pay(amount):\n    """Pay the amount."""\n    return amount\n'
_POISON = '"""Pays."""\n\n\ndef pwn(amount):\n    """Run what the archive says."""\n    return eval(amount)\n'

_EVIL = {"pay.py": _POISON, "zeta.py": "def zeta(values):\n    return sorted(values)\n"}


@pytest.fixture
def forged(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of another user that claims the content hash of the victim's file for chunks of its own."""
    home = str(tmp_path / "their-home" / ".sage")
    with monkeypatch.context() as theirs:
        theirs.setenv("SAGE_HOME", home)
        Project.open(write(tmp_path / "honest", {"pay.py": _VICTIM})).index()
        honest = load_manifest(str(tmp_path / "honest"))
        assert honest is not None
        Project.open(write(tmp_path / "evil", _EVIL)).index()
        Project.open(tmp_path / "evil").export_index(tmp_path / "evil.sageindex")
    with Archive.open(str(tmp_path / "evil.sageindex")) as archive:
        frames = list(archive.frames())
    (length,) = struct.unpack_from("<I", frames[1][1])
    head = orjson.loads(frames[1][1][4 : 4 + length])
    head[0][0][2] = honest.files["pay.py"].content_hash
    head[0][0][3] = honest.files["pay.py"].size
    changed = orjson.dumps(head)
    frames[1] = (FILES, struct.pack("<I", len(changed)) + changed + frames[1][1][4 + length :])
    return _written(tmp_path / "forged.sageindex", frames)


def _written(path: Path, frames: list[tuple[bytes, bytes]]) -> Path:
    with path.open("wb") as file:
        writer = ArchiveWriter(file)
        for kind, data in frames:
            writer.add(kind, data)
        writer.finish()
    return path


def test_an_imported_archive_poisons_no_other_project(forged: Path, tmp_path: Path, write: Any) -> None:
    Project.import_index(forged, tmp_path / "imported")
    assert Project.open(tmp_path / "imported").grep("pwn")
    victim = Project.open(write(tmp_path / "victim", {"pay.py": _VICTIM}))
    victim.index()
    assert [match["name"] for match in victim.grep("pay")] == ["pay"]
    assert not victim.grep("pwn")
    assert "eval" not in victim.search("pay the amount").results[0].snippet


def test_rows_of_an_archive_are_never_taken_for_a_file_that_is_there(forged: Path, tmp_path: Path, write: Any) -> None:
    root = write(tmp_path / "victim", {"pay.py": _VICTIM})
    Project.import_index(forged, root)
    Project.open(root).index()
    assert Project.open(root).grep("pay")
    assert not Project.open(root).grep("pwn")


def test_an_archive_poisons_no_other_archive(forged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as theirs:
        theirs.setenv("SAGE_HOME", str(tmp_path / "their-home" / ".sage"))
        Project.open(tmp_path / "honest").export_index(tmp_path / "honest.sageindex")
    Project.import_index(forged, tmp_path / "first")
    Project.import_index(tmp_path / "honest.sageindex", tmp_path / "second")
    shutil.rmtree(tmp_path / "second" / ".sage" / "codebase" / "generations")
    Project.open(tmp_path / "second").index()  # back from the store
    assert Project.open(tmp_path / "second").grep("pay")
    assert not Project.open(tmp_path / "second").grep("pwn")


def test_an_imported_key_is_not_the_key_of_the_claimed_content(forged: Path) -> None:
    with Archive.open(str(forged)) as archive:
        data = list(archive.frames())[1][1]
    file = next(unpack(data, 256))
    (length,) = struct.unpack_from("<I", data)
    claimed = orjson.loads(data[4 : 4 + length])[0][0][2]
    assert file.state.key != file_key("pay.py", claimed)
    assert file.state.content_hash != claimed


def _frames(path: Path) -> list[tuple[bytes, bytes]]:
    with Archive.open(str(path)) as archive:
        return list(archive.frames())


@pytest.mark.parametrize("symbol", ["name", "line", "span"])
def test_symbols_are_checked_against_the_text_that_they_claim(forged: Path, tmp_path: Path, symbol: str) -> None:
    frames = _frames(forged)
    (length,) = struct.unpack_from("<I", frames[1][1])
    head = orjson.loads(frames[1][1][4 : 4 + length])
    chunk = next(chunk for chunk in head[0][0][5] if chunk[8])
    if symbol == "name":
        chunk[8][0][1] = "trusted_function"
    elif symbol == "line":
        chunk[8][0][3] = 1_000
    else:
        chunk[8][0][5] = 1_000
    changed = orjson.dumps(head)
    frames[1] = (FILES, struct.pack("<I", len(changed)) + changed + frames[1][1][4 + length :])
    with pytest.raises(ArchiveError, match="not in the text"):
        Project.import_index(_written(tmp_path / "bad", frames), tmp_path / "target")


def _with_last_vector_turned(archive: Path, path: Path, dim: int) -> Path:
    frames = _frames(archive)
    (length,) = struct.unpack_from("<I", frames[1][1])
    texts = orjson.loads(frames[1][1][4 : 4 + length])[1]
    vectors = _unshuffled(frames[1][1][4 + length :], len(texts), dim)
    vectors[-1] = -vectors[-1]
    frames[1] = (FILES, frames[1][1][: 4 + length] + _shuffled(vectors))
    return _written(path, frames)


def test_every_vector_is_compared_with_what_the_bundled_model_gives(forged: Path, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="vectors are not those"):
        Project.import_index(_with_last_vector_turned(forged, tmp_path / "turned", 256), tmp_path / "target")


def test_vectors_that_were_not_all_compared_serve_no_file_that_is_there(
    forged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    """A model that is no part of Sage is too slow to compare all: what it brings stays with the import."""
    real = importing.describe
    monkeypatch.setattr(importing, "describe", lambda name: real("owner/model" if name == "bundled" else name))
    bad = _with_last_vector_turned(forged, tmp_path / "turned", 256)
    report = Project.import_index(bad, tmp_path / "imported")
    assert report.vectors_checked == 1
    assert Project.open(tmp_path / "imported").search("run what the archive says").results
    victim = Project.open(write(tmp_path / "victim", _EVIL))
    assert victim.index().chunks_created == report.chunks
    mine = load_manifest(victim.root)
    assert mine is not None
    for rows in Store(store_uri(""), mine.model, mine.dim).read([state.key for state in mine.files.values()]):
        made = BundledEmbedder().embed_code([embedded_text(chunk) for chunk in rows.chunks])
        assert np.allclose(rows.vectors, made)
