"""The interface of an embedding model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:  # NumPy costs more than everything else that describing a model needs
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.chunk.word_arrays import WordArrays

# What a model is loaded for; some models treat queries for code and for prose differently.
Role: TypeAlias = Literal["code", "prose"]
# Called before a download, with one line that names it and its size.
Notify: TypeAlias = Callable[[str], None]


class Embedder(Protocol):
    """A model that is loaded and ready.

    Both methods give one float32 row for each text, in order, of unit length (zero for a text without words).
    `embed_code` is for stored texts, code or prose by the role; `embed_query` is for queries. Texts beyond
    `max_tokens` are cut, not refused.
    """

    @property
    def name(self) -> str:
        """Identifies the vectors: equal names mean comparable vectors. Hub models carry their revision."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def max_tokens(self) -> int:
        """How much of a text the model reads."""

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of stored texts."""

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of queries."""


@runtime_checkable
class WordEmbedder(Protocol):
    """A model that counts words, and so can use words that are split already."""

    def embed_words(self, words: WordArrays, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors that `embed_code` gives for the embedded `texts` of chunks, from the words of these chunks."""
