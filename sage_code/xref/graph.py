"""What the resolver asks about a project: definitions and references, by name or by file.

Everything that resolves names goes through this interface, so that the compiled index, which finds rows by name and
by file, can stand behind it. `ParsedGraph` is the same over parsed files, for tests and measurements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sage_code.values import Reference, Symbol


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol and where it is defined."""

    file: str
    language: str
    symbol: Symbol


class CodeGraph(Protocol):
    """One state of a project. Each question is answered from the rows of one name or of one file."""

    def definitions(self, name: str) -> Sequence[Definition]:
        """The definitions called `name` (bare, not qualified)."""

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """The references whose `name` is this one, each with its file; imports among them, bindings not."""

    def file_references(self, file: str) -> Sequence[Reference]:
        """Every reference of a file, by line."""

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """Every symbol of a file, by start_line, then the longer first."""

    def file_language(self, file: str) -> str:
        """The language of a file; empty when it is unknown."""

    def files(self) -> Iterable[str]:
        """Every file. The resolver reads this once, for the paths that imports may mean."""


class ParsedGraph:
    """A graph of parsed files: {file: (language, symbols, references)}."""

    def __init__(self, files: Mapping[str, tuple[str, Sequence[Symbol], Sequence[Reference]]]) -> None:
        self._files = files
        self._definitions: dict[str, list[Definition]] = defaultdict(list)
        self._references: dict[str, list[tuple[str, Reference]]] = defaultdict(list)
        for file, (language, symbols, references) in files.items():
            for symbol in symbols:
                self._definitions[symbol.name].append(Definition(file, language, symbol))
            for reference in references:
                if reference.kind != "bind":
                    self._references[reference.name].append((file, reference))

    def definitions(self, name: str) -> Sequence[Definition]:
        """By name."""
        return self._definitions.get(name, ())

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """By name."""
        return self._references.get(name, ())

    def file_references(self, file: str) -> Sequence[Reference]:
        """By file."""
        return self._files[file][2] if file in self._files else ()

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """By file."""
        return self._files[file][1] if file in self._files else ()

    def file_language(self, file: str) -> str:
        """By file."""
        return self._files[file][0] if file in self._files else ""

    def files(self) -> Iterable[str]:
        """All of them."""
        return self._files
