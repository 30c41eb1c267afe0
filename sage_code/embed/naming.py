"""What a model's name in a setting means: `bundled`, `hashing`, a folder, or a model of the Hugging Face hub.

A name that looks like a path is a folder. Describing a model loads nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sage_code.embed.packed import packed_facts
from sage_code.errors import ModelError
from sage_code.settings.table import BUILT_IN_MODELS

Origin: TypeAlias = Literal["built-in", "folder", "hub"]

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
# MB to download, from the model cards; only for the notice, so they may be a little off.
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
    """What is known about a model without loading it; the dimension is not."""

    name: str  # canonical: hub models with their owner, folders as absolute paths
    origin: Origin
    download_mb: int | None = None  # None when unknown; 0 when there is nothing to download
    needs_trust: bool = False  # runs its own code, so the user has to list it in `trusted_models`


def describe(name: str) -> ModelInfo:
    """The model that `name` means; a name that cannot be a model is a ModelError."""
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


def stable_name(name: str) -> str | None:
    """The name of a built-in model's vectors, without loading it; None for other models, which must be loaded."""
    if name not in BUILT_IN_MODELS:
        return None
    # In a checkout without packed weights, hashing replaces the bundled model.
    facts = packed_facts() if name == "bundled" else None
    return facts.name if facts is not None else "hashing"
