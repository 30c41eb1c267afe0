"""Collects files and writes them as a segment: chunks, vectors, the words of each field, references and symbols."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from sage_code.compiled.references import ReferenceBuilder
from sage_code.compiled.sections import pack_strings, pack_terms, ranked, write_sections
from sage_code.compiled.segment import FIELDS, FORMAT, KINDS
from sage_code.languages.kinds import HEAD_KINDS
from sage_code.text.lexemes import Lexicon
from sage_code.values import Chunk, Symbol, definition_line

if TYPE_CHECKING:
    from sage_code.store.rows import FileRows

_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
_MAX_TF = 255


def _outline(symbol: Symbol) -> tuple[object, ...]:
    return (
        symbol.kind, symbol.name, symbol.qualname, symbol.line, symbol.start_line, symbol.end_line, symbol.signature
    )  # fmt: skip


def _names(chunk: Chunk) -> str:
    """The names of a chunk: its own, and those of the symbols in it."""
    return " ".join(dict.fromkeys((chunk.qualname, *(symbol.name for symbol in chunk.symbols))))


def _docs(chunk: Chunk) -> str:
    return "\n".join(dict.fromkeys((chunk.docstring, *(symbol.docstring for symbol in chunk.symbols))))


class SegmentBuilder:
    """Collects files and writes them as one segment."""

    def __init__(self, model: str, dim: int) -> None:
        self._model, self._dim = model, dim
        self._lexicon = Lexicon()
        self._fields = {field: _Postings(self._lexicon) for field in FIELDS}
        self._words = array("I")
        self._word_ends = array("Q", [0])
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

    def add(self, file: FileRows) -> None:
        """Take the chunks of one file."""
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
        for chunk in file.chunks:  # one by one, to know where the words of each end
            self._fields["body"].add([chunk.text], self._words)
            self._word_ends.append(len(self._words))
        self._fields["name"].add([_names(chunk) for chunk in file.chunks])
        self._fields["doc"].add([_docs(chunk) for chunk in file.chunks])
        self._fields["path"].add([file.path])
        quantised, scales = quantise(file.vectors)
        self._vectors.append(quantised)
        self._scales.append(scales)
        self._references.add(file.references)
        outlines = orjson.dumps([_outline(symbol) for chunk in file.chunks for symbol in chunk.symbols])
        self._symbols.append(bytes(memoryview(outlines)))  # a copy: orjson's own bytes are far larger than they look

    def write(self, path: str) -> None:
        """Write the segment and forget the files."""
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
        terms, rank = ranked({term.encode("utf-8", "surrogatepass"): n for term, n in self._lexicon.numbers.items()})
        arrays.update(pack_terms(terms, "terms"))
        ends = np.zeros((len(terms) + 1, len(FIELDS)), np.uint32)
        for column, (field, postings) in enumerate(self._fields.items()):
            ends[1:, column], own = postings.arrays(rank)
            arrays.update({f"{field}_{name}": values for name, values in own.items()})
        arrays["posting_ends"] = ends
        arrays["words"] = rank.astype(np.uint32)[np.asarray(self._words)]
        arrays["words_at"] = np.asarray(self._word_ends)
        arrays.update(self._references.arrays())
        meta = {
            "format": FORMAT,
            "model": self._model,
            "dim": self._dim,
            "chunks": len(table),
            "files": len(self._paths),
            "languages": languages,
        }
        write_sections(path, meta, arrays)


class _Postings:
    """Term frequencies of one field, gathered document by document."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._numbers = array("I")
        self._counts = array("B")
        self._entries = array("I")

    def add(self, texts: list[str], order: array[int] | None = None) -> None:
        """One document a text; the numbers of its words, in their order, are appended to `order`."""
        numbers, counts, entries = self._lexicon.count(texts, order)
        self._numbers.extend(numbers)
        try:
            self._counts.frombytes(bytes(counts))
        except ValueError:  # a count above 255
            self._counts.extend([min(count, _MAX_TF) for count in counts])
        self._entries.extend(entries)

    def arrays(self, rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Where the postings of each term end; documents and counts, and the documents' lengths.

        `rank` sorts the terms; the postings of a term are in the order of the documents.
        """
        entries = np.asarray(self._entries, np.int64)
        documents = np.repeat(np.arange(len(entries), dtype=np.int64), entries)
        # Term, document and count in one number: one sort in place, and little memory. Eight bits hold a count.
        packed = rank[np.asarray(self._numbers, np.int64)]
        packed *= max(len(entries), 1)
        packed += documents
        packed <<= 8
        packed += np.asarray(self._counts)
        packed.sort()
        counts, pairs = packed & _MAX_TF, packed >> 8
        del packed, documents
        # A lexeme that several words of a document share is added up.
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        sums = np.add.reduceat(counts, first) if len(first) else counts
        term, document = np.divmod(pairs[first], max(len(entries), 1))
        lengths = np.bincount(document, weights=sums, minlength=len(entries)).astype(np.uint32)
        return np.cumsum(np.bincount(term, minlength=len(rank))), {
            "docs": document.astype(np.uint32),
            "tfs": np.minimum(sums, _MAX_TF).astype(np.uint8),
            "lengths": lengths,
        }


def quantise(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows as signed bytes with a scale each; the largest component becomes ±127."""
    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    # Below this a scale would lose its precision or become zero; so little is zero anyway.
    scales = np.maximum(peaks / 127.0, np.finfo(np.float32).tiny).astype(np.float32)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales
