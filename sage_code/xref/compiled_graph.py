"""The code graph of an indexed project, read from its compiled files on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.published import Snapshot, needed_snapshot
from sage_code.compiled.segment import Segment
from sage_code.scip.overlay import has_overlays, load_overlays
from sage_code.text.lexemes import split_word, words_of
from sage_code.values import Reference, Symbol
from sage_code.xref.graph import Definition
from sage_code.xref.known import Known

_NO_POSTINGS = (np.empty(0, np.uint32), np.empty(0, np.uint8))
# Names whose definitions are kept.
_KEPT_NAMES = 8_192


class CompiledGraph:
    """A `CodeGraph` over one published generation."""

    def __init__(self, root: str, snapshot: Snapshot | None = None) -> None:
        """The graph of the published index of `root`, or of an open snapshot of it."""
        snapshot = snapshot or needed_snapshot(root)
        self.root = root
        self.folder = snapshot.generation.folder
        self._symbols = snapshot.symbols
        dead = (frozenset(ref.dead) for ref in snapshot.generation.segments)
        self._segments = list(zip(snapshot.segments, dead, strict=True))
        self._defined: dict[str, list[Definition]] = {}

    @cached_property
    def known(self) -> Known | None:
        """What compilers know about the files in the version that is indexed."""
        if not has_overlays(self.root):
            return None
        overlays = load_overlays(self.root)
        return Known(self, overlays, self.file_key) if overlays else None

    @cached_property
    def _rows(self) -> dict[str, tuple[Segment, int]]:
        """By path, for each file that is not deleted: its segment and its number in it."""
        rows = {
            path: (segment, number)
            for segment, dead in self._segments
            for number, path in enumerate(segment.paths)
            if number not in dead
        }
        return dict(sorted(rows.items(), key=lambda row: row[0]))

    def definitions(self, name: str) -> Sequence[Definition]:
        """The definitions called `name`; cached, since one query asks for the same few names thousands of times."""
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
        """The references to `name`, each with its file, in the order of paths."""
        found = [
            (segment.paths[number], reference)
            for segment, dead in self._segments
            for number, reference in segment.references.named(name)
            if number not in dead and reference.kind != "bind"
        ]
        return sorted(found, key=lambda use: use[0])

    def file_references(self, file: str) -> Sequence[Reference]:
        """The references of a file, by line."""
        row = self._rows.get(file)
        return list(row[0].references.of_file(row[1])) if row else []

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """The symbols of a file."""
        row = self._rows.get(file)
        return row[0].symbols(row[1]) if row else []

    def file_language(self, file: str) -> str:
        """The language of a file."""
        row = self._rows.get(file)
        return row[0].file_language(row[1]) if row else ""

    def files(self) -> Iterable[str]:
        """Every file of the index."""
        return self._rows.keys()

    def files_with(self, name: str) -> list[str]:
        """The files whose text has the words of `name`, in whatever case, by path; none for a name without words."""
        words = words_of(name)
        lexemes = [split_word(word)[:1] for word in words]
        if not words:
            return []
        found: list[str] = []
        for segment, dead in self._segments:
            files = range(segment.meta["files"])
            if all(lexemes):  # a word that is too long is in no list
                files = reduce(np.intersect1d, [_files_with(segment, lexeme) for (lexeme,) in lexemes]).tolist()
            found += [segment.paths[file] for file in files if file not in dead]
        return sorted(found)

    def file_key(self, file: str) -> str:
        """The key of the indexed version of a file; empty if the index does not have it."""
        row = self._rows.get(file)
        return row[0].string("keys", row[1]) if row else ""


def _files_with(segment: Segment, lexeme: str) -> NDArray[np.uint32]:
    """The numbers of the files of a segment that have a lexeme in their text."""
    row = segment.terms.find(lexeme)
    chunks, _ = segment.postings(row).get("body", _NO_POSTINGS) if row is not None else _NO_POSTINGS
    return np.unique(segment.arrays["chunk_file"][chunks])
