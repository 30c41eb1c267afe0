"""Reads a SCIP index: its tool, and its documents one after the other.

The file is foreign and may be large, so it is mapped and one document is decoded at a time. What is malformed raises
`ScipError`, which names the file; what is merely absurd (a path that leads out of the project, a range of three
thousand numbers) is left out and counted by the reader of the documents.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sage_code.errors import UsageError
from sage_code.files.contained import open_regular
from sage_code.scip.wire import WireError, fields, message, number, numbers, text

# The largest index that is read: the one of a project with some ten million references.
MAX_BYTES = 4 << 30
# Bits of an occurrence's roles.
DEFINITION, IMPORT, WRITE, READ = 1, 2, 4, 8
# How positions in a line are counted.
UNSPECIFIED, UTF8, UTF16, UTF32 = 0, 1, 2, 3
# Start line, start column, end line, end column.
Range = tuple[int, int, int, int]
# Lines and columns beyond this are no positions.
_MAX_POSITION = 1 << 30
_METADATA, _DOCUMENT = 1, 2


class ScipError(UsageError):
    """A file is no SCIP index."""


class Tool(NamedTuple):
    """Who wrote an index, and of which folder."""

    name: str
    version: str
    project_root: str


class Occurrence(NamedTuple):
    """A symbol at a range of a document."""

    range: Range
    symbol: str
    roles: int


class Relationship(NamedTuple):
    """What a symbol is to another one."""

    symbol: str
    is_implementation: bool


class SymbolInfo(NamedTuple):
    """What an index says about a symbol."""

    symbol: str
    kind: int
    relationships: tuple[Relationship, ...] = ()


class Document(NamedTuple):
    """One file of an index."""

    path: str
    language: str
    encoding: int
    text: str | None
    occurrences: list[Occurrence]
    symbols: list[SymbolInfo]
    absurd: int  # occurrences whose range is none


class Index:
    """An open index."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    def tool(self) -> Tool:
        """Who wrote it. It may be written after the documents, so everything is looked at."""
        found = (_tool(message(value)) for field, value in fields(self._data) if field == _METADATA)
        return next(found, Tool("", "", ""))

    def documents(self) -> Iterator[Document]:
        """Its documents, each decoded when it is asked for."""
        return (_document(message(value)) for field, value in fields(self._data) if field == _DOCUMENT)


@contextmanager
def opened(path: str) -> Iterator[Index]:
    """The index in a file, for as long as the block runs."""
    try:
        file = open_regular(path, follow=True)
    except OSError as error:
        raise ScipError(f"{path} cannot be read: {error.strerror}", "give the index that a SCIP tool wrote") from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if not size or size > MAX_BYTES:
            raise ScipError(
                f"{path} is {'empty' if not size else 'larger than 4 GB'}", "give the index that a SCIP tool wrote"
            )
        # It is closed with the last view of it: an error on the way still holds some.
        try:
            yield Index(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        except WireError as error:
            raise ScipError(f"{path} is not a SCIP index: {error}", "write it again with its tool") from error


def _tool(data: memoryview) -> Tool:
    """The tool that the metadata name."""
    name = version = root = ""
    for field, value in fields(data):
        if field == 2:
            for inner, part in fields(message(value)):
                if inner == 1:
                    name = text(part)
                elif inner == 2:
                    version = text(part)
        elif field == 3:
            root = text(value)
    return Tool(name, version, root)


def _document(data: memoryview) -> Document:
    """A document; fields that are not needed are passed over."""
    path = language = ""
    encoding = absurd = 0
    written: str | None = None
    occurrences: list[Occurrence] = []
    symbols: list[SymbolInfo] = []
    for field, value in fields(data):
        if field == 1:
            path = text(value)
        elif field == 2:
            found = _occurrence(message(value))
            if found is None:
                absurd += 1
            else:
                occurrences.append(found)
        elif field == 3:
            symbols.append(_symbol(message(value)))
        elif field == 4:
            language = text(value)
        elif field == 5:
            written = text(value) or None
        elif field == 6:
            encoding = number(value)
    return Document(path, language, encoding, written, occurrences, symbols, absurd)


def _occurrence(data: memoryview) -> Occurrence | None:
    """An occurrence; None if its range is none."""
    at: list[int] = []
    symbol, roles = "", 0
    for field, value in fields(data):
        if field == 1:
            at += numbers(value, 8)
        elif field == 2:
            symbol = text(value)
        elif field == 3:
            roles = number(value)
    where = _range(at)
    return Occurrence(where, symbol, roles) if where is not None else None


def _range(at: list[int]) -> Range | None:
    """The four numbers of a range, which is written with three if it ends in its first line."""
    if len(at) not in (3, 4) or max(at) > _MAX_POSITION:
        return None
    start_line, start, end_line, end = at if len(at) == 4 else (at[0], at[1], at[0], at[2])
    return (start_line, start, end_line, end) if (start_line, start) <= (end_line, end) else None


def _symbol(data: memoryview) -> SymbolInfo:
    """What is said about a symbol."""
    symbol, kind = "", 0
    related: list[Relationship] = []
    for field, value in fields(data):
        if field == 1:
            symbol = text(value)
        elif field == 5:
            kind = number(value)
        elif field == 4:
            related.append(_relationship(message(value)))
    return SymbolInfo(symbol, kind, tuple(related))


def _relationship(data: memoryview) -> Relationship:
    symbol, is_implementation = "", False
    for field, value in fields(data):
        if field == 1:
            symbol = text(value)
        elif field == 3:
            is_implementation = bool(number(value))
    return Relationship(symbol, is_implementation)
