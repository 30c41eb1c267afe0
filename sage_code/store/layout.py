"""Everything about a file but its texts, packed: where its chunks are, what they are called, symbols, references.

A changed file stores this again whole, and its texts only where they changed. It is therefore kept small: JSON, which
compresses to a fifth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pyarrow as pa

from sage_code.store.rows import FileRows
from sage_code.values import Chunk, Symbol

_CODEC = "zstd"
_SIZE_BYTES = 4
# A layout that claims to be larger was not written by us: it takes a few times its file's size at most.
_MAX_BYTES = 256 << 20
_SYMBOL_FIELDS = tuple(Symbol.__dataclass_fields__)


def pack(file: FileRows) -> bytes:
    """The layout of a file."""
    data = orjson.dumps([[chunk_row(chunk) for chunk in file.chunks], file.references])
    packed: bytes = pa.compress(data, codec=_CODEC, asbytes=True)
    return len(data).to_bytes(_SIZE_BYTES, "little") + packed


def unpack(layout: bytes, texts: Sequence[str]) -> tuple[tuple[Chunk, ...], str]:
    """The chunks of a file and its references, from its layout and the texts that were embedded for its chunks."""
    size = int.from_bytes(layout[:_SIZE_BYTES], "little")
    if size > _MAX_BYTES:
        raise ValueError("a layout of the store is damaged")
    rows, references = orjson.loads(pa.decompress(layout[_SIZE_BYTES:], size, codec=_CODEC, asbytes=True))
    return tuple(chunk_of(row, text) for row, text in zip(rows, texts, strict=True)), references


def chunk_row(chunk: Chunk) -> list[object]:
    """All of a chunk but its text, for JSON."""
    symbols = [[getattr(symbol, name) for name in _SYMBOL_FIELDS] for symbol in chunk.symbols]
    return [
        chunk.kind, chunk.name, chunk.qualname, chunk.start_line, chunk.end_line, chunk.signature, chunk.docstring,
        len(chunk.text), symbols,
    ]  # fmt: skip


def chunk_of(row: list[Any], embedded: str) -> Chunk:
    """The chunk that `chunk_row` describes, from the text that was embedded for it."""
    kind, name, qualname, start_line, end_line, signature, docstring, length, symbols = row
    # What was embedded is a lead and then the text: its length says where it begins.
    text = embedded[len(embedded) - length :]
    parts = tuple(Symbol(*symbol) for symbol in symbols)
    return Chunk(kind, name, qualname, start_line, end_line, signature, docstring, text, parts)
