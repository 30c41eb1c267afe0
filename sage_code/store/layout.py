"""The layout of a file: the lines and names of its chunks, symbols and references, packed; everything but its texts.

Every version of a file stores its whole layout, but only the texts that changed. So the layout is small: compressed
JSON, a fifth of its size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
import xxhash

from sage_code.store.rows import FileRows
from sage_code.values import Chunk, Symbol

_CODEC = "zstd"
_SIZE_BYTES, _SUM_BYTES = 4, 8
# Set in the size of a layout with a checksum; older layouts have none and are accepted if they can be unpacked.
_WITH_SUM = 1 << 31
# A layout takes a few times its file's size at most; a larger one is damaged.
_MAX_BYTES = 256 << 20


def pack(file: FileRows) -> bytes:
    """The layout of a file, with a checksum over its whole row."""
    data = orjson.dumps([[chunk_row(chunk) for chunk in file.chunks], file.references])
    packed: bytes = pa.compress(data, codec=_CODEC, asbytes=True)
    texts = bytes.fromhex("".join(file.text_hashes))
    sum_ = _sum(file.key, file.path, file.language, texts, data)
    return (len(data) | _WITH_SUM).to_bytes(_SIZE_BYTES, "little") + sum_ + packed


def unpack_row(row: Mapping[str, Any], texts: Sequence[str]) -> tuple[tuple[Chunk, ...], str]:
    """The chunks and the references of a file, from its row and its embedded texts; a ValueError when the row is
    damaged."""
    layout = row["layout"]
    head = int.from_bytes(layout[:_SIZE_BYTES], "little")
    size, start = head & ~_WITH_SUM, _SIZE_BYTES + (_SUM_BYTES if head & _WITH_SUM else 0)
    if size > _MAX_BYTES:
        raise ValueError("a layout of the store is damaged")
    try:
        data = pa.decompress(layout[start:], size, codec=_CODEC, asbytes=True)
        if head & _WITH_SUM and layout[_SIZE_BYTES:start] != _sum(
            row["file_key"], row["path"], row["language"], row["texts"], data
        ):
            raise ValueError("a layout of the store is damaged")
        rows, references = orjson.loads(data)
        chunks = tuple(chunk_of(part, text) for part, text in zip(rows, texts, strict=True))
    except (OSError, TypeError, AttributeError, pa.ArrowException) as error:
        raise ValueError("a layout of the store is damaged") from error
    return chunks, references


def _sum(key: str, path: str, language: str, texts: bytes, data: bytes) -> bytes:
    digest = xxhash.xxh3_64(f"{key}\0{path}\0{language}\0".encode("utf-8", "surrogatepass"))
    digest.update(texts)
    digest.update(data)
    return digest.digest()


def chunk_row(chunk: Chunk) -> list[object]:
    """All of a chunk but its text, for JSON."""
    return [
        chunk.kind, chunk.name, chunk.qualname, chunk.start_line, chunk.end_line, chunk.signature, chunk.docstring,
        len(chunk.text), [symbol.row() for symbol in chunk.symbols],
    ]  # fmt: skip


def chunk_of(row: list[Any], embedded: str) -> Chunk:
    """The chunk that `chunk_row` describes, from its embedded text."""
    kind, name, qualname, start_line, end_line, signature, docstring, length, symbols = row
    # The embedded text ends with the chunk's own text, whose length is known.
    text = embedded[len(embedded) - length :]
    parts = tuple(Symbol(*symbol) for symbol in symbols)
    return Chunk(kind, name, qualname, start_line, end_line, signature, docstring, text, parts)
