"""Vectors for chunks: looked up by the hash of their text, and embedded only when nobody has before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sage_code.chunk.embedded_text import embedded_text
from sage_code.index.manifest import file_key
from sage_code.store.rows import FileRows, text_hash
from sage_code.values import Chunk

if TYPE_CHECKING:
    from sage_code.chunk.files import ChunkedFile
    from sage_code.embed.protocol import Embedder
    from sage_code.store.lance import Store


class VectorSource:
    """Turns chunked files into rows, reusing the vectors that the store has."""

    def __init__(self, store: Store, embedder: Embedder, *, trust_store: bool = True) -> None:
        self._store, self._embedder, self._trust_store = store, embedder, trust_store
        self.created = 0
        self.reused = 0

    def rows(self, files: Sequence[ChunkedFile]) -> list[FileRows]:
        """The rows of `files`, every chunk with its vector."""
        hashes = [tuple(text_hash(chunk) for chunk in file.chunks) for file in files]
        chunk_of = {
            digest: chunk
            for file, part in zip(files, hashes, strict=True)
            for digest, chunk in zip(part, file.chunks, strict=True)
        }
        known = self._store.vectors(list(chunk_of)) if self._trust_store else {}
        missing = [digest for digest in chunk_of if digest not in known]
        known.update(zip(missing, self._embed([chunk_of[digest] for digest in missing]), strict=True))
        self.created += len(missing)
        self.reused += sum(map(len, hashes)) - len(missing)
        return [
            FileRows(
                key=file_key(file.file.path, file.content_hash),
                path=file.file.path,
                language=file.language,
                chunks=file.chunks,
                text_hashes=part,
                vectors=np.stack([known[digest] for digest in part]),
                references=file.references,
            )
            for file, part in zip(files, hashes, strict=True)
        ]

    def _embed(self, chunks: Sequence[Chunk]) -> NDArray[np.float32]:
        return self._embedder.embed_code([embedded_text(chunk) for chunk in chunks])
