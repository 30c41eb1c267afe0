"""From a model's name, as a setting holds it, to an embedder.

A name is `bundled`, `hashing`, a folder (whatever looks like a path), or a model of the Hugging Face hub.
Describing a model loads nothing; loading imports only the module that the model needs.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from sage_code.embed.packed import packed_facts
from sage_code.embed.protocol import Notify, Role
from sage_code.errors import ModelError
from sage_code.settings.table import BUILT_IN_MODELS

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.settings.table import Settings

Origin: TypeAlias = Literal["built-in", "folder", "hub"]

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
# MB to download, from the model cards; only for the notice, so being a little off harms nobody.
_SIZES_MB = {
    "codesage/codesage-small": 520,
    "codesage/codesage-base": 1_420,
    "codesage/codesage-large": 5_200,
    "codesage/codesage-small-v2": 520,
    "codesage/codesage-base-v2": 1_420,
    "codesage/codesage-large-v2": 5_200,
    "BAAI/bge-small-en-v1.5": 135,
    "BAAI/bge-base-en-v1.5": 440,
    "BAAI/bge-large-en-v1.5": 1_340,
    "sentence-transformers/all-MiniLM-L6-v2": 90,
    "sentence-transformers/all-mpnet-base-v2": 440,
}


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What can be said about a model without loading it. Not its dimension: only the model knows that."""

    name: str  # canonical: hub models with their owner, folders as absolute paths
    origin: Origin
    download_mb: int | None = None  # None when unknown; 0 when there is nothing to download
    needs_trust: bool = False  # runs its own code, so the user has to list it in `trusted_models`


def describe(name: str) -> ModelInfo:
    """What `name` stands for; a name that cannot be a model is a ModelError."""
    if name in BUILT_IN_MODELS:
        return ModelInfo(name, "built-in", download_mb=0)
    if name.startswith(("/", "./", "../", "~", ".\\")) or os.path.isabs(name):
        return ModelInfo(os.path.abspath(os.path.expanduser(name)), "folder", download_mb=0)
    if not _HUB_NAME.fullmatch(name):
        raise ModelError(
            f"{name[:80]!r} names no embedding model",
            "use bundled, hashing, OWNER/NAME from the Hugging Face hub, or a folder as ./FOLDER",
        )
    full = name if "/" in name else f"sentence-transformers/{name}"
    return ModelInfo(full, "hub", _SIZES_MB.get(full), needs_trust=full.startswith("codesage/"))


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


def stable_name(name: str) -> str | None:
    """How the embedder behind a built-in name calls itself, without loading it; None when only loading tells."""
    if name not in BUILT_IN_MODELS:
        return None
    # A checkout in which no weights have been packed yet works all the same, without meaning.
    facts = packed_facts() if name == "bundled" else None
    return facts.name if facts is not None else "hashing"


def default_embedder() -> Embedder:
    """The embedder that needs no setting, no download and no extra."""
    return load_embedder("bundled")
