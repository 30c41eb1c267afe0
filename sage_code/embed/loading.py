"""From a model's name, as a setting holds it, to an embedder. Only the module that the model needs is imported."""

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
    """The model `name`, ready to embed. `notify` hears of a download before it starts."""
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
    """The embedder that needs no setting, no download and no extra."""
    return load_embedder("bundled")
