"""Which compiled generation is published, seen without anything heavy: a run with nothing to do stops here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from sage_code.atomic import resolve
from sage_code.kinds import TABLES
from sage_code.paths import compiled_dir

if TYPE_CHECKING:
    from sage_code.compiled.segment import Segment

# History of the format: 1: first version.
FORMAT = 1
INDEX_FILE = "segments.json"


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """A segment file, the numbers of its dead files, and how many chunks are alive."""

    file: str
    dead: tuple[int, ...]
    live_chunks: int


@dataclass(frozen=True, slots=True)
class Generation:
    """A published generation, as a reader sees it."""

    folder: str
    name: str
    model: str
    dim: int
    segments: tuple[SegmentRef, ...]

    def open_segment(self, ref: SegmentRef) -> Segment:
        """Map one of its segments."""
        from sage_code.compiled.segment import Segment  # lazy: NumPy

        return Segment.open(os.path.join(self.folder, ref.file))

    @property
    def chunks(self) -> int:
        """Chunks alive."""
        return sum(ref.live_chunks for ref in self.segments)


def current(root: str) -> Generation | None:
    """The published generation, or None when there is none that can be used."""
    folder = resolve(compiled_dir(root))
    if folder is None:
        return None
    path = os.path.join(folder, INDEX_FILE)
    try:
        with open(path, "rb") as file:
            data = orjson.loads(file.read())
        if data["format"] != FORMAT:
            return None
        refs = tuple(SegmentRef(ref["file"], tuple(ref["dead"]), ref["live_chunks"]) for ref in data["segments"])
        generation = Generation(folder, data["generation"], data["model"], data["dim"], refs)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return generation if _complete(generation) else None


def _complete(generation: Generation) -> bool:
    names = [ref.file for ref in generation.segments] + [f"{table}.json" for table in TABLES]
    # A file name from the index that points elsewhere was not written by us.
    return all(
        os.path.basename(name) == name and os.path.isfile(os.path.join(generation.folder, name)) for name in names
    )
