"""Which compiled generation is published, seen without anything heavy: a run with nothing to do stops here."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import orjson

from sage_code.files.contained import read_regular
from sage_code.kinds import TABLES
from sage_code.ours import published_folder

if TYPE_CHECKING:
    from sage_code.compiled.segment import Segment

# History of the format: 1: first version; 2: segments of format 3; 3: segments of format 4; 4: of format 5; 5: of 6.
FORMAT = 5
INDEX_FILE = "segments.json"
# Dead files take a few bytes each, segments a hundred: far more than a generation of a million files needs.
_MAX_INDEX_BYTES = 64 << 20
# Only of an imported index: see `sage_code.compiled.texts`.
TEXTS_FILE = "texts.bin"


class SegmentRef(NamedTuple):
    """A segment file, the numbers of its dead files, and how many chunks are alive."""

    file: str
    dead: tuple[int, ...]
    live_chunks: int


class Mark(NamedTuple):
    """By what a file is known to be the one that was written."""

    size: int
    xxh3: str


@dataclass(frozen=True, slots=True)
class Generation:
    """A published generation, as a reader sees it."""

    folder: str
    name: str
    model: str
    dim: int
    segments: tuple[SegmentRef, ...]
    files: Mapping[str, Mark]

    def open_segment(self, ref: SegmentRef) -> Segment:
        """Map one of its segments."""
        from sage_code.compiled.segment import Segment  # lazy: NumPy

        return Segment.open(os.path.join(self.folder, ref.file))

    @property
    def chunks(self) -> int:
        """Chunks alive."""
        return sum(ref.live_chunks for ref in self.segments)


def current(root: str) -> Generation | None:
    """The published generation, or None when there is none that can be used: whole, and made by this user's Sage."""
    folder = published_folder(root)
    while folder is not None and (generation := _read(folder)) is None:
        # Replaced and deleted while we read it, perhaps: look again.
        before, folder = folder, published_folder(root)
        if folder == before:
            return None
    return generation if folder is not None else None


def open_snapshot(root: str) -> tuple[Generation, list[Segment]] | None:
    """The published generation with all its segments mapped: whole, whatever is published meanwhile."""
    while (generation := current(root)) is not None:
        try:
            return generation, [generation.open_segment(ref) for ref in generation.segments]
        except FileNotFoundError:  # two were published since; `current` says None when it is really gone
            continue
    return None


def _read(folder: str) -> Generation | None:
    try:
        data = orjson.loads(read_regular(os.path.join(folder, INDEX_FILE), _MAX_INDEX_BYTES))
        if data["format"] != FORMAT:
            return None
        refs = tuple(SegmentRef(ref["file"], tuple(ref["dead"]), ref["live_chunks"]) for ref in data["segments"])
        files = {name: Mark(*mark) for name, mark in data["files"].items()}
        generation = Generation(folder, data["generation"], data["model"], data["dim"], refs, files)
        return generation if _complete(generation) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _complete(generation: Generation) -> bool:
    """Whether every file is there, none of them cut short."""
    names = {ref.file for ref in generation.segments} | {f"{table}.json" for table in TABLES}
    # A file name from the index that points elsewhere was not written by us.
    return names == generation.files.keys() - {TEXTS_FILE} and all(
        os.path.basename(name) == name and _is_file_of(os.path.join(generation.folder, name), mark.size)
        for name, mark in generation.files.items()
    )


def _is_file_of(path: str, size: int) -> bool:
    found = os.lstat(path)
    return stat.S_ISREG(found.st_mode) and found.st_size == size
