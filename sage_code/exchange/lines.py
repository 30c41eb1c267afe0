"""The text of indexed files, and where names are in their lines."""

from __future__ import annotations

import os
import re
from functools import lru_cache

import xxhash

from sage_code.discover.decoding import decode
from sage_code.files.contained import read_contained
from sage_code.index.manifest import file_key
from sage_code.xref.compiled_graph import CompiledGraph

# Files larger than this are data.
_MAX_BYTES = 32 << 20


def indexed_lines(root: str, graph: CompiledGraph, file: str) -> list[str] | None:
    """The lines of a file, without their ends; None if it has changed since it was indexed, or cannot be read."""
    try:
        data = read_contained(os.fsencode(root), os.fsencode(file), _MAX_BYTES)
    except OSError:
        return None
    if file_key(file, xxhash.xxh3_128_hexdigest(data)) != graph.file_key(file):
        return None
    decoded = decode(data)
    return [line.removesuffix("\r") for line in decoded.text.split("\n")] if decoded else None


def columns_of(line: str, name: str) -> list[int]:
    """Where a name is in a line as a word of its own, in characters from 0."""
    return [found.start() for found in _word(name).finditer(line)] if name in line else []


@lru_cache(4_096)
def _word(name: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if name[:1].isalnum() or name[:1] == "_" else ""
    after = r"(?!\w)" if name[-1:].isalnum() or name[-1:] == "_" else ""
    return re.compile(f"{before}{re.escape(name)}{after}")
