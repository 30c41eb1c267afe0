"""The interface through which names are resolved: definitions and references of a project, by name or by file.

`CompiledGraph` answers from the compiled index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sage_code.values import Reference, Symbol


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol and the file that defines it."""

    file: str
    language: str
    symbol: Symbol

    @property
    def key(self) -> tuple[str, str]:
        """What identifies it; overloads and redefinitions in one file are one."""
        return self.file, self.symbol.qualname


class KnownUse(NamedTuple):
    """A use that a compiler has seen."""

    file: str
    line: int
    scope: str
    kind: str
    confidence: float
    why: str


class Knowledge(Protocol):
    """What compilers know about one state of a project."""

    def covers(self, file: str) -> bool:
        """Whether a compiler has read the indexed version of a file."""

    def knows(self, definition: Definition) -> bool:
        """Whether a compiler has seen this definition."""

    def uses(self, definition: Definition) -> Iterator[KnownUse]:
        """The uses of a definition in the files that are fresh."""

    def meant(self, file: str, line: int, name: str) -> list[tuple[Definition, float, str]] | None:
        """The definitions that `name` in a line means, with confidence and source; None if no compiler says so."""

    def definitions(self, name: str) -> list[Definition]:
        """The definitions called `name` that only compilers know."""


class CodeGraph(Protocol):
    """One state of a project. Each method reads the rows of one name or of one file."""

    def definitions(self, name: str) -> Sequence[Definition]:
        """The definitions called `name` (bare, not qualified)."""

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """The references to `name`, each with its file; imports too, but no bindings."""

    def file_references(self, file: str) -> Sequence[Reference]:
        """Every reference of a file, by line."""

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """Every symbol of a file, by start_line, then the longer first."""

    def file_language(self, file: str) -> str:
        """The language of a file; empty if it is unknown."""

    def files(self) -> Iterable[str]:
        """Every file; the resolver reads this once, to find the modules that imports mean."""

    @property
    def known(self) -> Knowledge | None:
        """What compilers know about this state, if an index of one was imported."""
