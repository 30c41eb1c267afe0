"""Loads the embedder that a setting names. Only the module that the model needs is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sage_code.embed.naming import describe
from sage_code.embed.packed import packed_facts
from sage_code.embed.protocol import Notify, Role

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.settings.table import Settings


def load_embedder(
    name: str, role: Role = "code", settings: Settings | None = None, notify: Notify | None = None
) -> Embedder:
    """The model `name`, loaded. `notify` is called before a download starts."""
    info = describe(name)
    if info.origin == "built-in":
        if name == "bundled" and packed_facts() is not None:
            from sage_code.embed.bundled import BundledEmbedder  # lazy: NumPy

            return BundledEmbedder()
        from sage_code.embed.hashing import HashingEmbedder  # lazy: NumPy

        return HashingEmbedder()
    from sage_code.embed.hub import load_hub_model  # lazy: torch and sentence-transformers take seconds

    return load_hub_model(info, role, settings, notify)


def default_embedder() -> Embedder:
    """The bundled model, which needs no setting, download or extra."""
    return load_embedder("bundled")
