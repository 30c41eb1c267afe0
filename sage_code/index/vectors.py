"""Vectors for chunks: found in the store by the hash of the embedded text, and embedded only when they are not there.

The embedded text of a chunk is made here, once; rows carry it to the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sage_code.chunk.embedded_text import embedded_text
from sage_code.chunk.word_arrays import join
from sage_code.embed.protocol import WordEmbedder
from sage_code.index.manifest import file_key
from sage_code.store.rows import FileRows, text_hash

if TYPE_CHECKING:
    from sage_code.chunk.files import ChunkedFile
    from sage_code.embed.protocol import Embedder
    from sage_code.store.lance import Store


class VectorSource:
    """Turns chunked files into rows, reusing the vectors that the store has."""

    def __init__(self, store: Store | None, embedder: Embedder, *, trust_store: bool = True) -> None:
        self._store, self._embedder, self._trust_store = store, embedder, trust_store
        self.model, self.dim = embedder.name, embedder.dim
        self.created = 0
        self.reused = 0

    def rows(self, files: Sequence[ChunkedFile]) -> list[FileRows]:
        """The rows of `files`, every chunk with its vector."""
        texts = [embedded_text(chunk) for file in files for chunk in file.chunks]
        hashes = list(map(text_hash, texts))
        vectors = self._vectors(files, texts, hashes)
        rows, end = [], 0
        for file in files:
            start, end = end, end + len(file.chunks)
            rows.append(
                FileRows(
                    key=file_key(file.file.path, file.content_hash),
                    path=file.file.path,
                    language=file.language,
                    chunks=file.chunks,
                    texts=tuple(texts[start:end]),
                    text_hashes=tuple(hashes[start:end]),
                    vectors=vectors[start:end],
                    references=file.references,
                )
            )
        return rows

    def _vectors(self, files: Sequence[ChunkedFile], texts: list[str], hashes: list[str]) -> NDArray[np.float32]:
        """A vector a chunk: from the store, or embedded, each text once."""
        place_of = {digest: place for place, digest in enumerate(hashes)}
        known = self._store.vectors(list(place_of)) if self._store is not None and self._trust_store else {}
        missing = sorted(place for digest, place in place_of.items() if digest not in known)
        self.created += len(missing)
        self.reused += len(texts) - len(missing)
        made = np.empty((len(texts), self.dim), np.float32)
        made[missing] = self._embed(files, texts, missing)
        repeated = [place for place, digest in enumerate(hashes) if place_of[digest] != place]
        made[repeated] = made[[place_of[hashes[place]] for place in repeated]]
        for place, digest in enumerate(hashes) if known else ():
            if digest in known:
                made[place] = known[digest]
        return made

    def _embed(self, files: Sequence[ChunkedFile], texts: list[str], chosen: list[int]) -> NDArray[np.float32]:
        """The vectors of the chunks at the places `chosen`."""
        wanted = [texts[place] for place in chosen]
        if not isinstance(self._embedder, WordEmbedder):
            return self._embedder.embed_code(wanted)
        words = join([file.words for file in files])
        return self._embedder.embed_words(words if len(chosen) == len(texts) else words.of_chunks(chosen), wanted)
