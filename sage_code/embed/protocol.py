"""What Sage asks of an embedding model, and nothing more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:  # NumPy costs more than everything else that describing a model needs
    import numpy as np
    from numpy.typing import NDArray

# What a model is loaded for. It decides between a model's ways to treat a query, so it is fixed at load time.
Role: TypeAlias = Literal["code", "prose"]
# Told about what takes long: a download and its size. One line, without an end-of-line.
Notify: TypeAlias = Callable[[str], None]


class Embedder(Protocol):
    """A model that is loaded and ready.

    Both methods give one float32 row a text, in order, of unit length (zero for a text that says nothing).
    What is stored goes through `embed_code`, be it code or, for a model loaded as `prose`, prose; what is
    asked goes through `embed_query`. Texts beyond `max_tokens` are cut, not refused.
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
        """The vectors of what is stored."""

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of what is asked."""
