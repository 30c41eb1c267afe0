"""Makes the project that `web_search.py` searches: real Python source, as much of it as is asked for, indexed once."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from sage_code import Project

# What a chunk of such code takes on average, in bytes; only how much is copied at first depends on it.
_BYTES_A_CHUNK = 560
_ROUNDS = 8


def make_project(folder: Path, size: int, sources: Sequence[str]) -> tuple[Path, int]:
    """A project of at least `size` chunks in a folder, indexed in the home that the environment names; its chunks.

    One that is there already is used again.
    """
    root = folder / "project"
    root.mkdir(parents=True, exist_ok=True)
    project = Project.open(root)
    chunks = project.status().chunks
    waiting = _files(sources or _own_sources(), root)
    for _ in range(_ROUNDS):
        if chunks >= size:
            return root, chunks
        _copy(waiting, (size - chunks) * _BYTES_A_CHUNK)
        print(f"  indexing, {chunks:,} of {size:,} chunks", file=sys.stderr, flush=True)
        project.index(apart=True)
        chunks = project.status().chunks
    raise SystemExit(f"only {chunks:,} chunks: give more --sources")


def _own_sources() -> list[str]:
    """The standard library and the packages beside this Python."""
    return [sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")]


def _files(sources: Sequence[str], root: Path) -> Iterator[tuple[Path, Path]]:
    """The files to copy that are not there yet, each with its place in the project."""
    for source in sources:
        for parent, folders, names in os.walk(source):
            folders[:] = sorted(one for one in folders if one not in ("__pycache__", "site-packages"))
            for name in sorted(names):
                file = Path(parent, name)
                place = root / Path(source).name / file.relative_to(source)
                if name.endswith(".py") and not place.exists():
                    yield file, place


def _copy(waiting: Iterator[tuple[Path, Path]], room: int) -> None:
    """Copy files until there is no more room."""
    for file, place in waiting:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
        room -= file.stat().st_size
        if room <= 0:
            return
