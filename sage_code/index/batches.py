"""Files with their chunks and vectors as the bytes of one frame, and back.

An archive may come from an attacker, so it is not trusted. Hashes of texts are computed from the texts; everything else
must have the shape that the indexer makes, and chunks and symbols must be within the lines of the text. The bytes of a
file are not in the archive, so the content hash that the archive claims is ignored: an imported file gets a hash of all
that was imported for it. A file on the disk never has such a hash: it is read, parsed and cut here.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from sage_code.chunk.embedded_text import embedded_text
from sage_code.compiled.segment import KINDS
from sage_code.index.manifest import FileState, file_key
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.parse.reference_codec import KINDS as REFERENCE_KINDS
from sage_code.parse.reference_codec import TEXTS, decode
from sage_code.store.layout import chunk_of, chunk_row
from sage_code.store.rows import FileRows, text_hash
from sage_code.values import Chunk, Symbol

_LENGTH = struct.Struct("<I")
_FLOAT = np.dtype("<f4")
_CONTENT_HASH = re.compile(r"[0-9a-f]{32}")
_LANGUAGE = re.compile(r"[a-z0-9_+#-]{1,40}")
_MAX_PATH = 4096
# Line numbers are stored in four bytes.
_MAX_LINE = (1 << 32) - 1
_CHUNK_TYPES = (str, str, str, int, int, str, str, int, list)
_SYMBOL_TYPES = (str, str, str, int, int, int, str, str)


@dataclass(frozen=True, slots=True)
class PortableFile:
    """One file of an archive: its rows and its state in the manifest."""

    rows: FileRows
    state: FileState


def pack(files: Sequence[PortableFile]) -> bytes:
    """The bytes of a frame, with each text once."""
    number: dict[str, int] = {}
    texts: list[str] = []
    vectors: list[NDArray[np.float32]] = []
    rows = []
    for file in files:
        uses = []
        for text, digest, vector in zip(file.rows.texts, file.rows.text_hashes, file.rows.vectors, strict=True):
            if digest not in number:
                number[digest] = len(texts)
                texts.append(text)
                vectors.append(vector)
            uses.append(number[digest])
        chunks = [chunk_row(chunk) for chunk in file.rows.chunks]
        state = file.state
        rows.append(
            [file.rows.path, state.language, state.content_hash, state.size, uses, chunks, file.rows.references]
        )
    head = orjson.dumps([rows, texts])
    return _LENGTH.pack(len(head)) + head + _shuffled(np.stack(vectors))


def unpack(data: bytes, dim: int, *, signed: bool = False) -> Iterator[PortableFile]:
    """The files of a frame; a `ValueError` says what is wrong with it. The content hashes of a `signed` frame count."""
    if len(data) < _LENGTH.size:
        raise ValueError("a frame is empty")
    (length,) = _LENGTH.unpack_from(data)
    head = orjson.loads(memoryview(data)[_LENGTH.size : _LENGTH.size + length])
    if not _is_list(head, 2) or not isinstance(head[0], list) or not _all_of(head[1], str):
        raise ValueError("a frame holds no files")
    rows, texts = head
    vectors = _unshuffled(data[_LENGTH.size + length :], len(texts), dim)
    hashes = [text_hash(text) for text in texts]
    for row in rows:
        yield _file(row, texts, hashes, vectors, signed)


def _file(row: Any, texts: list[str], hashes: list[str], vectors: NDArray[np.float32], signed: bool) -> PortableFile:
    """The file that a row describes, checked; a `ValueError` says what is wrong."""
    if not _is_list(row, 7):
        raise ValueError("a file is not described")
    path, language, content_hash, size, uses, chunks, references = row
    check_path(path)
    if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
        raise ValueError("a file is in no language")
    if not isinstance(content_hash, str) or not _CONTENT_HASH.fullmatch(content_hash) or not _is_count(size):
        raise ValueError("a file has no hash or no size")
    if not _all_of(uses, int) or not uses or not isinstance(chunks, list) or len(uses) != len(chunks):
        raise ValueError("a file has no chunks")
    if min(uses) < 0 or max(uses) >= len(texts):
        raise ValueError("a chunk has no text")
    made = tuple(_chunk(chunk, texts[use]) for chunk, use in zip(chunks, uses, strict=True))
    line = 0
    for chunk in made:
        if chunk.start_line != line + 1 or chunk.end_line != line + 1 + chunk.text.count("\n"):
            raise ValueError("the chunks of a file are not its lines")
        line = chunk.end_line
    for chunk in made:
        if not all(_is_in(symbol, chunk, line) for symbol in chunk.symbols):
            raise ValueError("a symbol is not in the text that it is said to be in")
    _check_references(references, line)
    own = tuple(texts[use] for use in uses)
    imported = content_hash if signed else _imported_hash(row, own)
    key = file_key(path, imported)
    rows = FileRows(key, path, language, made, own, tuple(hashes[use] for use in uses), vectors[uses], references)
    return PortableFile(rows, FileState(size, 0, imported, key, len(made), language))


def _is_in(symbol: Symbol, chunk: Chunk, lines: int) -> bool:
    """Whether a symbol is in its chunk. The name of a heading may differ from its text, so it is not compared."""
    named = symbol.kind in TEXT_KINDS or symbol.name in chunk.text
    return named and chunk.start_line <= symbol.line <= chunk.end_line and symbol.start_line <= symbol.end_line <= lines


def _imported_hash(row: list[Any], texts: Sequence[str]) -> str:
    """The content hash of an imported file: a cryptographic one, so that no archive can be made to match a file on the
    disk or a file of another archive."""
    return hashlib.blake2b(orjson.dumps([row, texts]), digest_size=16, person=b"sage import").hexdigest()


def with_own_hashes(file: PortableFile) -> PortableFile:
    """The same file with text hashes that no other file has, because its vectors were not compared with the model."""
    rows = file.rows
    hashes = tuple(
        hashlib.blake2b(f"{digest}\0".encode() + vector.tobytes(), digest_size=16, person=b"sage import").hexdigest()
        for digest, vector in zip(rows.text_hashes, rows.vectors, strict=True)
    )
    return replace(file, rows=replace(rows, text_hashes=hashes))


def check_path(path: Any) -> None:
    """Refuse a path that is not relative, inside the project and with forward slashes."""
    good = isinstance(path, str) and 0 < len(path) <= _MAX_PATH and "\0" not in path and "\\" not in path
    if not good or not {"", ".", ".."}.isdisjoint(path.split("/")) or re.match("[A-Za-z]:", path):
        raise ValueError("a path leads out of the project, or nowhere")


def _chunk(row: Any, text: str) -> Chunk:
    if not _is_row(row, _CHUNK_TYPES) or row[0] not in KINDS or not 0 <= row[7] <= len(text):
        raise ValueError("a chunk is not described")
    for symbol in row[8]:
        if not _is_row(symbol, _SYMBOL_TYPES) or not all(0 < line <= _MAX_LINE for line in symbol[3:6]):
            raise ValueError("a symbol is not described")
    chunk = chunk_of(row, text)
    if embedded_text(chunk) != text:
        raise ValueError("a chunk has another name than its text")
    return chunk


def _check_references(encoded: Any, lines: int) -> None:
    """Refuse references that cannot be decoded, or whose lines or texts do not exist."""
    if not isinstance(encoded, str):
        raise ValueError("the references of a file are missing")
    columns = decode(encoded)
    if not _is_list([*columns], 4):
        raise ValueError("the references of a file are damaged")
    texts, kinds, at, uses = columns
    good = _all_of(texts, str) and _all_of(kinds, int) and _all_of(at, int) and _is_list(uses, len(TEXTS))
    good = good and all(_all_of(column, int) and len(column) == len(kinds) == len(at) for column in uses)
    if not good:
        raise ValueError("the references of a file are damaged")
    limits = [(kinds, len(REFERENCE_KINDS)), (at, lines + 1), *((column, len(texts)) for column in uses)]
    if any(column and not 0 <= min(column) <= max(column) < limit for column, limit in limits):
        raise ValueError("the references of a file lead nowhere")


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _all_of(values: Any, kind: type) -> bool:
    return isinstance(values, list) and set(map(type, values)) <= {kind}


def _is_row(row: Any, types: Iterable[type]) -> bool:
    return isinstance(row, list) and tuple(map(type, row)) == tuple(types)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _shuffled(vectors: NDArray[np.float32]) -> bytes:
    """The first bytes of all numbers, then the second and so on: exponents are alike and compress well together."""
    planes = np.ascontiguousarray(vectors, _FLOAT).view(np.uint8).reshape(-1, _FLOAT.itemsize)
    return planes.T.tobytes()


def _unshuffled(data: bytes, count: int, dim: int) -> NDArray[np.float32]:
    if len(data) != count * dim * _FLOAT.itemsize:
        raise ValueError("a frame has more or fewer vectors than texts")
    planes = np.frombuffer(data, np.uint8).reshape(_FLOAT.itemsize, -1)
    vectors: NDArray[np.float32] = np.ascontiguousarray(planes.T).view(_FLOAT).reshape(count, dim).astype(np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("a vector is broken")
    return vectors
