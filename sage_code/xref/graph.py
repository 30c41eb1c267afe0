"""The interface through which names are resolved: definitions and references of a project, by name or by file.

`CompiledGraph` answers from the compiled index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

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
