"""The code graph of an indexed project, answered from its compiled files; nothing is read before it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sage_code.compiled.lookup import SymbolFiles
from sage_code.compiled.published import Generation, current
from sage_code.compiled.segment import Segment
from sage_code.errors import NotIndexed
from sage_code.values import Reference, Symbol
from sage_code.xref.graph import Definition

# Names whose definitions are kept.
_KEPT_NAMES = 8_192


class DiskGraph:
    """A `CodeGraph` over one published generation."""

    def __init__(self, root: str) -> None:
        generation = current(root)
        if generation is None:
            raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
        self._generation: Generation = generation
        self._symbols = SymbolFiles(root)
        self._defined: dict[str, list[Definition]] = {}

    @cached_property
    def _segments(self) -> list[tuple[Segment, frozenset[int]]]:
        return [(self._generation.open_segment(ref), frozenset(ref.dead)) for ref in self._generation.segments]

    @cached_property
    def _places(self) -> dict[str, tuple[Segment, int]]:
        """Where each file alive is: its segment and its number there."""
        return {
            path: (segment, number)
            for segment, dead in self._segments
            for number, path in enumerate(segment.paths)
            if number not in dead
        }

    def definitions(self, name: str) -> Sequence[Definition]:
        """The definitions called `name`; a question comes back to the same few names thousands of times."""
        if name not in self._defined:
            if len(self._defined) >= _KEPT_NAMES:
                self._defined.clear()
            self._defined[name] = [
                Definition(
                    match["file"],
                    match["language"],
                    Symbol(**{field: match[field] for field in Symbol.__dataclass_fields__}),
                )
                for match in self._symbols.find(name)
            ]
        return self._defined[name]

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """Who refers to `name`: files and references."""
        return [
            (segment.paths[number], reference)
            for segment, dead in self._segments
            for number, reference in segment.references.named(name)
            if number not in dead and reference.kind != "bind"
        ]

    def file_references(self, file: str) -> Sequence[Reference]:
        """What a file refers to, by line."""
        place = self._places.get(file)
        return list(place[0].references.of_file(place[1])) if place else []

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """What a file defines."""
        place = self._places.get(file)
        return place[0].symbols(place[1]) if place else []

    def file_language(self, file: str) -> str:
        """The language of a file."""
        place = self._places.get(file)
        return place[0].file_language(place[1]) if place else ""

    def files(self) -> Iterable[str]:
        """Every file of the index."""
        return self._places.keys()
