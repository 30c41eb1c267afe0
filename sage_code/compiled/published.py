"""Opens the published generation for readers, once and whole; one that is published meanwhile is not mixed in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sage_code.compiled.inventory import CENTRALITY_FILE, TRIES, check_segment, current_listing, missing
from sage_code.compiled.lookup import SymbolFiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sage_code.compiled.segment import Segment


class SegmentRef(NamedTuple):
    """A segment file, the numbers of its dead files, and how many chunks are alive."""

    file: str
    dead: tuple[int, ...]
    live_chunks: int


class Mark(NamedTuple):
    """Size, hashes and time of a file as it was written; they tell whether it is still that file."""

    size: int
    xxh3: str
    mtime_ns: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Generation:
    """A published generation: its folder and what is in it."""

    folder: str
    name: str
    model: str
    dim: int
    segments: tuple[SegmentRef, ...]
    files: Mapping[str, Mark]

    def open_segment(self, ref: SegmentRef) -> Segment:
        """Map one of its segments."""
        from sage_code.compiled.segment import Segment  # lazy: NumPy

        return Segment.open(self.checked(ref.file))

    def checked(self, name: str) -> str:
        """The path of a segment or of the centrality file; IndexCorrupt if it is small and not what was written."""
        path, mark = os.path.join(self.folder, name), self.files[name]
        check_segment(path, mark.size, mark.xxh3)
        return path

    def is_untouched(self) -> bool:
        """Whether sizes and times of its files are those that were published. Reading a mapped file that was cut short
        would end the process."""
        for name, mark in self.files.items():
            found = os.lstat(os.path.join(self.folder, name))
            if (found.st_size, found.st_mtime_ns) != (mark.size, mark.mtime_ns):
                return False
        return True

    @property
    def chunks(self) -> int:
        """How many chunks are alive."""
        return sum(ref.live_chunks for ref in self.segments)


class Snapshot(NamedTuple):
    """A generation with all its files mapped: what search, similar, map and references read from."""

    generation: Generation
    segments: list[Segment]
    symbols: SymbolFiles
    centrality: Mapping[str, NDArray[Any]]


def current(root: str) -> Generation | None:
    """The published generation, or None when there is none that can be used."""
    found = current_listing(root)
    if found is None:
        return None
    folder, data = found
    refs = tuple(SegmentRef(ref["file"], tuple(ref["dead"]), ref["live_chunks"]) for ref in data["segments"])
    files = {name: Mark(*mark) for name, mark in data["files"].items()}
    return Generation(folder, data["generation"], data["model"], data["dim"], refs, files)


def open_snapshot(root: str) -> Snapshot | None:
    """The published generation with its files mapped, or None when there is none that can be used."""
    from sage_code.compiled.sections import read_sections  # lazy: NumPy

    for _ in range(TRIES):
        generation = current(root)
        if generation is None:
            break
        try:
            return Snapshot(
                generation,
                [generation.open_segment(ref) for ref in generation.segments],
                SymbolFiles(generation.folder, generation.files),
                read_sections(generation.checked(CENTRALITY_FILE))[1],
            )
        except FileNotFoundError:  # two generations were published meanwhile; `current` gives None if there is none
            continue
    return None


def needed_snapshot(root: str) -> Snapshot:
    """The published generation with its files mapped; an error that says what to do when there is none."""
    found = open_snapshot(root)
    if found is None:
        raise missing(root)
    return found
