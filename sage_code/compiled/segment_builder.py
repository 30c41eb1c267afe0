"""Collects files and writes them as a segment: chunks, vectors, the words of each field, references and symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from sage_code.chunk.words import FileWords, count_words
from sage_code.compiled.references import ReferenceBuilder
from sage_code.compiled.sections import pack_strings, write_sections
from sage_code.compiled.segment import FORMAT, KINDS, Segment
from sage_code.compiled.segment_words import SegmentWords
from sage_code.languages.kinds import HEAD_KINDS
from sage_code.values import Symbol, definition_line

if TYPE_CHECKING:
    from sage_code.store.rows import FileRows

_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def _outline(symbol: Symbol) -> tuple[object, ...]:
    return (
        symbol.kind, symbol.name, symbol.qualname, symbol.line, symbol.start_line, symbol.end_line, symbol.signature
    )  # fmt: skip


class SegmentBuilder:
    """Collects files and writes them as one segment."""

    def __init__(self, model: str, dim: int) -> None:
        self._model, self._dim = model, dim
        self._words = SegmentWords()
        self._vectors: list[NDArray[np.int8]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._table: list[tuple[int, int, int, int, int]] = []
        self._names: list[bytes] = []
        self._signatures: list[bytes] = []
        self._paths: list[tuple[str, str, str]] = []
        self._references = ReferenceBuilder()
        self._symbols: list[bytes] = []

    def __len__(self) -> int:
        return len(self._table)

    def add(self, file: FileRows, words: FileWords | None = None) -> None:
        """Take the chunks of one file; their `words` are split here, if they were not before."""
        number = len(self._paths)
        self._paths.append((file.path, file.key, file.language))
        for chunk in file.chunks:
            for symbol in chunk.symbols:
                if symbol.kind in HEAD_KINDS:
                    self._references.define(symbol.name, len(self._table))
            first, last = chunk.start_line, chunk.end_line
            line = definition_line(chunk.symbols, chunk.qualname, first, last)
            self._table.append((number, first, last, _KIND_NUMBER[chunk.kind], line))
            self._names.append(chunk.qualname.encode())
            self._signatures.append(chunk.signature.encode())
        self._words.add(file.path, count_words(file.chunks) if words is None else words)
        quantised, scales = quantise(file.vectors)
        self._vectors.append(quantised)
        self._scales.append(scales)
        self._references.add(file.references)
        outlines = orjson.dumps([_outline(symbol) for chunk in file.chunks for symbol in chunk.symbols])
        self._symbols.append(bytes(memoryview(outlines)))  # a copy: orjson's own bytes are far larger than they look

    def write(self, path: str) -> None:
        """Write the segment."""
        write_sections(path, *self._sections())

    def build(self) -> Segment:
        """The segment in memory."""
        return Segment(*self._sections())

    def _sections(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What the file of a segment has: its header and its arrays."""
        table = np.array(self._table, dtype=np.uint32).reshape(-1, 5)
        languages = sorted({language for _, _, language in self._paths})
        arrays: dict[str, NDArray[Any]] = {
            "chunk_file": table[:, 0],
            "chunk_start": table[:, 1],
            "chunk_end": table[:, 2],
            "chunk_kind": table[:, 3].astype(np.uint8),
            "chunk_line": table[:, 4],
            "file_language": np.array([languages.index(language) for _, _, language in self._paths], np.uint16),
            "file_hash": np.array([xxhash.xxh3_64_intdigest(path.encode()) for path, _, _ in self._paths], np.uint64),
            "vectors": np.concatenate([np.empty((0, self._dim), np.int8), *self._vectors]),
            "scales": np.concatenate([np.empty(0, np.float32), *self._scales]),
        }
        strings = {
            "names": self._names,
            "signatures": self._signatures,
            "paths": [path.encode() for path, _, _ in self._paths],
            "keys": [key.encode() for _, key, _ in self._paths],
            "symbols": self._symbols,
        }
        for name, values in strings.items():
            arrays[f"{name}_at"], arrays[name] = pack_strings(values)
        arrays.update(self._words.arrays())
        arrays.update(self._references.arrays())
        meta: dict[str, Any] = {
            "format": FORMAT,
            "model": self._model,
            "dim": self._dim,
            "chunks": len(table),
            "files": len(self._paths),
            "languages": languages,
        }
        return meta, arrays


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as signed bytes with a scale each; the largest component becomes ±127."""
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    # Below this a scale would lose its precision or become zero; so little is zero anyway.
    scales = np.maximum(peaks / 127.0, np.finfo(np.float32).tiny).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales
