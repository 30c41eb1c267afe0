"""Ranks by words alone, for an index whose model is not at hand: every vector is zero."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class WordsOnly:
    """An `Embedder` that gives zero vectors."""

    name = "words-only"
    max_tokens = 0

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Zeros."""
        return np.zeros((len(texts), self.dim), np.float32)

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Zeros."""
        return self.embed_code(texts)
