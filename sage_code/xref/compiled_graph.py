"""The code graph of an indexed project, answered from its compiled files; nothing is read before it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from sage_code.compiled.published import Snapshot, needed_snapshot
from sage_code.compiled.segment import Segment
from sage_code.values import Reference, Symbol
from sage_code.xref.graph import Definition

# Names whose definitions are kept.
_KEPT_NAMES = 8_192


class CompiledGraph:
    """A `CodeGraph` over one published generation."""

    def __init__(self, root: str, snapshot: Snapshot | None = None) -> None:
        """The graph of what is published for `root`, or of a snapshot of it that is open already."""
        snapshot = snapshot or needed_snapshot(root)
        self._symbols = snapshot.symbols
        dead = (frozenset(ref.dead) for ref in snapshot.generation.segments)
        self._segments = list(zip(snapshot.segments, dead, strict=True))
        self._defined: dict[str, list[Definition]] = {}

    @cached_property
    def _places(self) -> dict[str, tuple[Segment, int]]:
        """Where each file alive is, by path: its segment and its number there."""
        places = {
            path: (segment, number)
            for segment, dead in self._segments
            for number, path in enumerate(segment.paths)
            if number not in dead
        }
        return dict(sorted(places.items(), key=lambda place: place[0]))

    def definitions(self, name: str) -> Sequence[Definition]:
        """The definitions called `name`; a question comes back to the same few names thousands of times."""
        if name not in self._defined:
            if len(self._defined) >= _KEPT_NAMES:
                self._defined.clear()
            fields = Symbol.__dataclass_fields__
            self._defined[name] = [
                Definition(match["file"], match["language"], Symbol(**{field: match[field] for field in fields}))
                for match in self._symbols.find(name)
            ]
        return self._defined[name]

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """Who refers to `name`: files, in the order of their paths, and references."""
        found = [
            (segment.paths[number], reference)
            for segment, dead in self._segments
            for number, reference in segment.references.named(name)
            if number not in dead and reference.kind != "bind"
        ]
        return sorted(found, key=lambda use: use[0])

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
