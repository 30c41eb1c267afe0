"""The published generation as a search for exact text reads it: segments without NumPy, files by number and by path."""

from __future__ import annotations

import os

from sage_code.compiled.inventory import CENTRALITY_FILE, TRIES, check_segment, current_listing, missing
from sage_code.compiled.plain_segment import PlainSections, PlainSegment
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.exact.needs import files_with
from sage_code.text.light_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sage_code.search.exact.matching import Matcher


class IndexedFile:
    """A file of the index."""

    __slots__ = ("number", "path", "segment", "users_at")

    def __init__(self, path: str, segment: PlainSegment, number: int, users_at: int) -> None:
        self.path, self.segment, self.number = path, segment, number
        self.users_at = users_at  # its number over all segments

    @property
    def language(self) -> str:
        """Its language."""
        return self.segment.language(self.number)

    def symbols(self) -> list[list[Any]]:
        """Its definitions: kind, name, qualified name, line, first and last line, signature."""
        found: list[list[Any]] = loads(self.segment.string("symbols", self.number))
        return found

    def place(self, line: int) -> tuple[str, str, str]:
        """What a line lies in: the kind, qualified name and signature of its chunk."""
        segment = self.segment
        chunk = segment.chunk_at(self.number, line)
        if chunk is None:
            return "fallback", "", ""
        texts = (segment.string(name, chunk).decode("utf-8", "replace") for name in ("names", "signatures"))
        return segment.kind(chunk), *texts  # type: ignore[return-value]

    def is_of_kind(self, line: int, wanted: frozenset[str]) -> bool:
        """Whether a line lies in a definition of a wanted kind."""
        if self.place(line)[0] in wanted:
            return True
        return any(
            first <= line <= last and (kind in wanted or CHUNK_KIND.get(kind) in wanted)
            for kind, _, _, _, first, last, _ in self.symbols()
        )


class OpenedIndex:
    """One published generation; it does not change when another is published."""

    def __init__(self, root: str) -> None:
        for _ in range(TRIES):
            found = current_listing(root)
            if found is None:
                break
            self.folder, listing = found
            self.generation: str = listing["generation"]
            self._marks: dict[str, list[Any]] = listing["files"]
            try:
                self._open(listing)
                return
            except FileNotFoundError:  # replaced by two others meanwhile
                continue
        raise missing(root)

    def _open(self, listing: dict[str, Any]) -> None:
        self._segments = [
            (PlainSegment(self._checked(one["file"])), frozenset(one["dead"])) for one in listing["segments"]
        ]
        self._users = PlainSections(self._checked(CENTRALITY_FILE))

    def _checked(self, name: str) -> str:
        path, (size, hashed, *_) = os.path.join(self.folder, name), self._marks[name]
        check_segment(path, size, hashed)
        return path

    def is_untouched(self) -> bool:
        """Whether its files have the sizes and times that were published: a mapped file that was cut short would end
        the process."""
        try:
            found = [(os.lstat(os.path.join(self.folder, name)), mark) for name, mark in self._marks.items()]
        except OSError:
            return False
        return all((stat.st_size, stat.st_mtime_ns) == (mark[0], mark[2]) for stat, mark in found)

    @property
    def languages(self) -> set[str]:
        """The languages of its files."""
        return set[str]().union(*(segment.meta["languages"] for segment, _ in self._segments))

    def users(self, file: IndexedFile) -> int:
        """How many files use what a file defines."""
        return int(self._users.column("file_users")[file.users_at])

    def named(self, paths: set[str]) -> dict[str, IndexedFile]:
        """The files with these paths."""
        found: dict[str, IndexedFile] = {}
        before = 0
        for segment, dead in self._segments if paths else ():
            for number, path in enumerate(segment.paths()):
                if path in paths and number not in dead:
                    found[path] = IndexedFile(path, segment, number, before + number)
            before += int(segment.meta["files"])
        return found

    def candidates(self, matcher: Matcher) -> Iterator[IndexedFile]:
        """The files that may have a match, by what the index knows of their words."""
        before = 0
        for segment, dead in self._segments:
            numbers = files_with(segment, matcher.need, ignore_case=matcher.ignore_case)
            if numbers is None:
                for number, path in enumerate(segment.paths()):
                    if number not in dead:
                        yield IndexedFile(path, segment, number, before + number)
            else:
                for number in numbers - dead:
                    path = segment.string("paths", number).decode()
                    yield IndexedFile(path, segment, number, before + number)
            before += int(segment.meta["files"])
