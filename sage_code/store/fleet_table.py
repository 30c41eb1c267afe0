"""The table that a search over all repositories asks: one row for each chunk of each file of each repository.

Unlike the tables of texts and files, which share what projects have in common, every row here belongs to one repository
and carries what filters and ranking need. It is derived: `sage fleet index` can make it again. The rows of a file are
beside each other, so a search that finds one of them finds the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import orjson
import pyarrow as pa

from sage_code.text.lexemes import split_word, words_of
from sage_code.text.stems import stem
from sage_code.values import Symbol

if TYPE_CHECKING:
    from sage_code.store.rows import FileRows
    from sage_code.values import Chunk

# History of the columns, part of the table's name: 1: first version.
FORMAT = 1
# How often a word is repeated in the column of words: full text counts more of them hardly higher.
_MAX_REPEATS = 3


def fleet_table(chunks: str) -> str:
    """The name of the fleet's table that belongs to a model's table of chunks (`store.lance.table_name`)."""
    return f"fleet{FORMAT}_{chunks.partition('_')[2]}"


def fleet_schema(dim: int) -> pa.Schema:
    """The columns.

    `text` is the embedded text of a chunk; its last `length` characters are the chunk itself. `number` is the chunk's
    number in its file, which has `siblings` chunks. `definitions` has what `pack_definitions` made. `words` is what
    full text looks in: see `search_words`.
    """
    text, number = pa.string(), pa.int32()
    return pa.schema(
        [
            ("repository", text), ("owner", text), ("file_key", text), ("path", text), ("language", text),
            ("kind", text), ("name", text), ("qualname", text), ("signature", text),
            ("start_line", number), ("end_line", number), ("length", number), ("text_hash", text), ("text", text),
            ("number", number), ("siblings", number), ("definitions", text), ("words", text),
            ("vector", pa.list_(pa.float32(), dim)),
        ]
    )  # fmt: skip


def fleet_rows(repository: str, owner: str, files: Iterable[FileRows], dim: int) -> pa.Table:
    """The rows of these files of one repository."""
    rows: list[tuple[object, ...]] = []
    vectors = [np.empty((0, dim), np.float32)]
    for file in files:
        vectors.append(file.vectors)
        above = [file.path, repository]
        parts = zip(file.chunks, file.texts, file.text_hashes, strict=True)
        for number, (chunk, text, digest) in enumerate(parts):
            names = (chunk.qualname, *(symbol.name for symbol in chunk.symbols))
            rows.append(
                (
                    repository, owner, file.key, file.path, file.language, chunk.kind, chunk.name, chunk.qualname,
                    chunk.signature, chunk.start_line, chunk.end_line, len(chunk.text), digest, text,
                    number, len(file.chunks), pack_definitions(chunk), search_words([*above, *names, chunk.text]),
                )
            )  # fmt: skip
    schema = fleet_schema(dim)
    columns: list[pa.Array] = [
        pa.array([row[at] for row in rows], schema.field(at).type) for at in range(len(schema.names) - 1)
    ]
    flat = np.concatenate(vectors).astype(np.float32, copy=False).ravel()
    columns.append(pa.FixedSizeListArray.from_arrays(pa.array(flat), dim))
    return pa.table(columns, schema=schema)


def search_words(texts: Sequence[str]) -> str:
    """The stems of all words of some texts, separated by blanks, each as often as it counts.

    Identifiers are split as everywhere in Sage, so full text needs no tokenizer of its own but the one for blanks.
    """
    counted: Counter[str] = Counter()
    for word, often in Counter(word for text in texts for word in words_of(text)).items():
        for lexeme in split_word(word):
            counted[stem(lexeme)] += often
    return " ".join(_repeated(counted))


def _repeated(counted: Counter[str]) -> Iterator[str]:
    for word, often in counted.items():
        yield from (word,) * min(often, _MAX_REPEATS)


def pack_definitions(chunk: Chunk) -> str:
    """The docstring and the symbols of a chunk as JSON."""
    return orjson.dumps([chunk.docstring, [symbol.row() for symbol in chunk.symbols]]).decode()


def unpack_definitions(packed: str) -> tuple[str, tuple[Symbol, ...]]:
    """What `pack_definitions` has packed; a ValueError for anything else: rows of a shared table are not trusted."""
    try:
        docstring, rows = orjson.loads(packed)
        symbols = tuple(Symbol(*fields) for fields in rows)
    except (TypeError, KeyError) as error:
        raise ValueError("the definitions of a chunk are damaged") from error
    for symbol in symbols:
        texts = (symbol.kind, symbol.name, symbol.qualname, symbol.signature, symbol.docstring, docstring)
        lines = (symbol.line, symbol.start_line, symbol.end_line)
        if not (all(isinstance(one, str) for one in texts) and all(isinstance(one, int) for one in lines)):
            raise ValueError("the definitions of a chunk are damaged")
    return str(docstring), symbols
