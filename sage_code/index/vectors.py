"""Vectors for chunks: found in the store by the hash of the embedded text, and embedded only when they are not there.

The embedded text of a chunk is made here, once; rows carry it to the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sage_code.chunk.embedded_text import embedded_text
from sage_code.index.manifest import file_key
from sage_code.store.rows import FileRows, text_hash

if TYPE_CHECKING:
    from sage_code.chunk.files import ChunkedFile
    from sage_code.embed.protocol import Embedder
    from sage_code.store.lance import Store


class VectorSource:
    """Turns chunked files into rows, reusing the vectors that the store has."""

    def __init__(self, store: Store, embedder: Embedder, *, trust_store: bool = True) -> None:
        self._store, self._embedder, self._trust_store = store, embedder, trust_store
        self.model, self.dim = embedder.name, embedder.dim
        self.created = 0
        self.reused = 0

    def rows(self, files: Sequence[ChunkedFile]) -> list[FileRows]:
        """The rows of `files`, every chunk with its vector."""
        texts = [tuple(map(embedded_text, file.chunks)) for file in files]
        hashes = [tuple(map(text_hash, part)) for part in texts]
        text_of = {
            digest: text
            for digests, part in zip(hashes, texts, strict=True)
            for digest, text in zip(digests, part, strict=True)
        }
        vectors = self._store.vectors(list(text_of)) if self._trust_store else {}
        missing = [digest for digest in text_of if digest not in vectors]
        vectors.update(zip(missing, self._embedder.embed_code([text_of[digest] for digest in missing]), strict=True))
        self.created += len(missing)
        self.reused += sum(map(len, hashes)) - len(missing)
        return [
            FileRows(
                key=file_key(file.file.path, file.content_hash),
                path=file.file.path,
                language=file.language,
                chunks=file.chunks,
                texts=part,
                text_hashes=digests,
                vectors=np.stack([vectors[digest] for digest in digests]),
                references=file.references,
            )
            for file, part, digests in zip(files, texts, hashes, strict=True)
        ]
