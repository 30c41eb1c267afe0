"""Outlines a file as it is now: its definitions with their signatures and the first lines of their docstrings."""

from __future__ import annotations

import os
from dataclasses import dataclass

from sage_code.chunk.workers import chunk_here
from sage_code.discover.rules import discover_rules
from sage_code.errors import UsageError
from sage_code.files.inside import relative_path
from sage_code.settings.loading import Settings
from sage_code.values import SkippedFile, SourceFile, Symbol


@dataclass(frozen=True, slots=True)
class OutlineItem:
    """One definition of a file, and how deep it is nested."""

    symbol: Symbol
    depth: int

    def text(self) -> str:
        """Its signature and the first line of its docstring, indented."""
        indent = "    " * self.depth
        head = f"{indent}{self.symbol.signature or f'{self.symbol.kind} {self.symbol.name}'}"
        first = self.symbol.docstring.strip().partition("\n")[0]
        return f"{head}\n{indent}    {first}" if first else head


@dataclass(frozen=True, slots=True)
class Outline:
    """A file's language and its definitions in order."""

    file: str
    language: str
    lines: int
    items: tuple[OutlineItem, ...]


def outline(root: str, settings: Settings, path: str) -> Outline:
    """The outline of the file at `path` (relative to the root, or absolute inside it)."""
    relative = relative_path(root, path)
    facts = os.lstat(os.path.join(root, relative))
    file = SourceFile(relative, facts.st_size, facts.st_mtime_ns)
    chunked = chunk_here(root, file, discover_rules(settings))
    if isinstance(chunked, SkippedFile):
        raise UsageError(f"{relative} is not indexed: {chunked.reason} {chunked.detail}".rstrip())
    symbols = sorted(
        (symbol for chunk in chunked.chunks for symbol in chunk.symbols), key=lambda s: (s.start_line, -s.end_line)
    )
    items, open_symbols = [], list[Symbol]()
    for symbol in symbols:
        while open_symbols and open_symbols[-1].end_line < symbol.line:
            open_symbols.pop()
        items.append(OutlineItem(symbol, len(open_symbols)))
        if symbol.end_line > symbol.line:
            open_symbols.append(symbol)
    lines = chunked.chunks[-1].end_line if chunked.chunks else 0
    return Outline(relative, chunked.language, lines, tuple(items))
