"""Damaged compiled files are noticed, reported and made again from the store."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sage_code import Project
from sage_code.compiled.inventory import encoded
from sage_code.compiled.published import current
from sage_code.errors import IndexCorrupt, StoreError
from sage_code.files.private import _private_name as private_name
from sage_code.index.manifest import load_manifest
from sage_code.paths import manifest_path

# Without a refresh, which mends what is damaged before it answers.
ASK: dict[str, Callable[[Project], Any]] = {
    "grep": lambda project: project.grep("connect", refresh=False),
    "search": lambda project: [asdict(hit) for hit in project.search("reach a host", refresh=False).results],
    "by name": lambda project: [asdict(hit) for hit in project.search("Server", refresh=False, explain=True).results],
    "refs": lambda project: [
        asdict(use) for use in project.related("connect", "references", seconds=math.inf, refresh=False).uses
    ],
    "similar": lambda project: [asdict(one) for one in project.similar("server.py", 6, refresh=False)],
    "map": lambda project: asdict(project.map(refresh=False)),
}  # fmt: skip


def _all(root: Path) -> dict[str, Any]:
    return {name: ask(Project(str(root))) for name, ask in ASK.items()}


def _folder(root: Path) -> Path:
    generation = current(str(root))
    assert generation is not None
    return Path(generation.folder)


def _flip(path: Path, source: Random, *, keep_time: bool) -> None:
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[source.randrange(len(data))] ^= 1 << source.randrange(8)
    _write(path, data)
    if keep_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _write(path: Path, data: bytes) -> None:
    """Write a file at a later time than before, also within one tick of the clock of the file system."""
    before = path.stat()
    path.write_bytes(data)
    if path.stat().st_mtime_ns == before.st_mtime_ns:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10_000_000))


@pytest.mark.parametrize("keep_time", [False, True], ids=["written", "decayed"])
def test_a_flipped_byte_is_said_or_harmless_and_index_mends_it(sample: Path, keep_time: bool) -> None:
    Project(str(sample)).index()
    expected = _all(sample)
    random = Random(13)
    said = 0
    for name in sorted(path.name for path in _folder(sample).iterdir()):
        for _ in range(2):
            folder = _folder(sample)
            # Segments have other names in the generation that was made from the store.
            victim = next(path for path in folder.iterdir() if path.suffix == Path(name).suffix and (
                path.suffix == ".seg" or path.name == name))  # fmt: skip
            _flip(victim, random, keep_time=keep_time)
            for ask in ASK.values():
                try:
                    ask(Project(str(sample)))
                except IndexCorrupt as error:
                    said += "sage index" in error.hint
                else:
                    assert keep_time, f"{victim.name} was written over, and believed"
            Project(str(sample)).index()
            assert _all(sample) == expected
    assert said >= (len(ASK) * 2 if not keep_time else 1)


def test_a_search_brings_back_what_is_damaged(sample: Path) -> None:
    project = Project(str(sample))
    project.index()
    expected = [asdict(hit) for hit in project.search("reach a host").results]
    for victim in sorted(_folder(sample).iterdir()):
        if (_folder(sample) / victim.name).exists():
            (_folder(sample) / victim.name).write_bytes(b"\0" * 100)
        assert [asdict(hit) for hit in project.search("reach a host").results] == expected
        assert [asdict(hit) for hit in Project(str(sample)).search("reach a host").results] == expected


def test_a_bad_generation_in_the_list_blocks_neither_search_nor_index(sample: Path) -> None:
    Project(str(sample)).index()
    expected = _all(sample)
    for change in (
        {"generation": "x"},
        {"generation": "000001-abc/../.."},
        {"segments": 7},
        {"files": []},
        {"format": 9},
    ):
        path = _folder(sample) / "segments.json"
        document = json.loads(path.read_bytes())
        del document["crc32"]
        _write(path, encoded(json.dumps({**document, **change}).encode()))
        with pytest.raises(IndexCorrupt, match=r"segments\.json is damaged"):
            Project(str(sample)).grep("connect", refresh=False)
        Project(str(sample)).index()
        assert _all(sample) == expected


def test_a_fault_of_our_own_is_not_called_damage(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sage_code.search.engine import SearchEngine

    project = Project(str(sample))
    project.index()

    def fail(*_: object) -> None:
        raise IndexError("a fault")

    monkeypatch.setattr(SearchEngine, "rank", fail)
    with pytest.raises(IndexError, match="a fault"):
        project.search("connect")


def test_other_content_of_the_same_size_and_time_is_noticed(sample: Path) -> None:
    path = sample / "server.py"
    old = 1_600_000_000_000_000_000
    os.utime(path, ns=(old, old))
    project = Project(str(sample))
    project.index()
    assert project.index().files_indexed == 0
    text = path.read_text()
    assert "LIMIT" in text
    path.write_text(text.replace("LIMIT", "BOUND"))
    os.utime(path, ns=(old, old))  # as `cp -p`, `touch -r` and rsync do it
    assert path.stat().st_size == len(text.encode())
    assert project.status().changed == ["server.py"]
    assert project.index().files_indexed == 1
    assert [match["file"] for match in project.grep("BOUND")] == ["server.py"]
    assert project.index().files_indexed == 0


def test_decay_that_keeps_the_time_is_never_answered_from(sample: Path) -> None:
    Project(str(sample)).index()
    expected = _all(sample)
    source = Random(17)
    for _ in range(30):
        victim = source.choice(sorted(path for path in _folder(sample).iterdir() if path.name != "segments.json"))
        _flip(victim, source, keep_time=True)
        for name, ask in ASK.items():
            with contextlib.suppress(IndexCorrupt):
                assert ask(Project(str(sample))) == expected[name]
        Project(str(sample)).index()
        assert _all(sample) == expected


def test_a_folder_in_place_of_the_manifest_is_said_and_not_deleted(sample: Path) -> None:
    project = Project(str(sample))
    project.index()
    expected = _all(sample)
    path = Path(manifest_path(str(sample)))
    path.unlink()
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(IndexCorrupt) as damaged:
        load_manifest(str(sample))
    with pytest.raises(StoreError) as stopped:
        Project(str(sample)).index()
    assert "move it away" in damaged.value.hint
    assert "move it away" in stopped.value.hint
    assert (path / "inside").exists()
    path.rename(path.with_name("away"))
    Project(str(sample)).index()
    assert _all(sample) == expected


def test_pipes_and_folders_in_place_of_the_notes_never_block_and_come_back(sample: Path, sage_home: Path) -> None:
    Project(str(sample)).index()
    expected = _all(sample)
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)):
        for path in (*(sage_home / "codebase" / "made").iterdir(), sage_home / "codebase" / "private-name"):
            if path.is_file():
                path.unlink()
                make(path)
        private_name.cache_clear()
        assert private_name(str(sage_home)) != ""
        Project(str(sample)).index()
        assert _all(sample) == expected
        assert (sage_home / "codebase" / "private-name").is_file()
