"""The embedding model for memories, loaded once per process when the first text is embedded."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

_loaded: dict[str, Embedder] = {}
_loading = Lock()


def prose_embedder(settings: Settings) -> Embedder:
    """The embedder that the setting `embedding_model` names."""
    with _loading:
        name = settings.embedding_model
        if name not in _loaded:
            from sage_code.embed.loading import load_embedder  # lazy: NumPy, perhaps torch

            _loaded[name] = load_embedder(name, "prose", settings)
        return _loaded[name]
