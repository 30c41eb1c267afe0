"""Writes a SCIP index, document by document, so that a large project needs little memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from sage_code.scip.reader import Occurrence, SymbolInfo, Tool
from sage_code.scip.wire import field_bytes, field_number, field_numbers, field_text

_UTF8_TEXT = 1


def write_head(file: BinaryIO, tool: Tool) -> None:
    """Write who wrote the index; it comes first."""
    info = field_text(1, tool.name) + field_text(2, tool.version)
    metadata = field_bytes(2, info) + field_text(3, tool.project_root) + field_number(4, _UTF8_TEXT)
    file.write(field_bytes(1, metadata))


def write_document(
    file: BinaryIO,
    path: str,
    language: str,
    encoding: int,
    occurrences: Iterable[Occurrence],
    symbols: Iterable[SymbolInfo],
) -> None:
    """Write one file's occurrences, which are sorted by position here, and its symbols."""
    parts = [field_text(1, path)]
    parts += [field_bytes(2, _occurrence(one)) for one in sorted(occurrences)]
    parts += [field_bytes(3, _symbol(one)) for one in symbols]
    parts += [field_text(4, language), field_number(6, encoding)]
    file.write(field_bytes(2, b"".join(parts)))


def _occurrence(one: Occurrence) -> bytes:
    start_line, start, end_line, end = one.range
    at = (start_line, start, end) if start_line == end_line else one.range
    return field_numbers(1, at) + field_text(2, one.symbol) + field_number(3, one.roles)


def _symbol(one: SymbolInfo) -> bytes:
    related = [
        field_bytes(4, field_text(1, other.symbol) + field_number(3, int(other.is_implementation)))
        for other in one.relationships
    ]
    return field_text(1, one.symbol) + b"".join(related) + field_number(5, one.kind)
