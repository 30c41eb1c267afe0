"""sentence-transformers models behind the `Embedder` protocol: CodeSage, BGE, MiniLM, or any local folder.

Needs the extra `sage-code[codesage]`. A model's own code runs only if the user has trusted exactly that code: a hub
model at a commit, a folder with the fingerprint of its Python files.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sage_code.embed import model_folder
from sage_code.embed.download import fetch, untrusted
from sage_code.embed.naming import ModelInfo
from sage_code.embed.protocol import Notify, Role
from sage_code.errors import ModelError

if TYPE_CHECKING:
    from sage_code.settings.table import Settings

# The English BGE models were trained with this prefix for queries.
_BGE_QUERY_PREFIX = "Represent this sentence for searching relevant passages: "
_BGE = re.compile(r"bge-(small|base|large)-en\b.*", re.IGNORECASE)
_CODESAGE = re.compile(r"codesage-\w+(?P<v2>-v2)?", re.IGNORECASE)
_CODESAGE_MAX_TOKENS = 1024
# For a model that does not say how much it reads; nearly all models read this much.
_USUAL_MAX_TOKENS = 512
# Small: a batch is padded to its longest text, and a chunk may have a thousand tokens.
_BATCH = 16


class HubEmbedder:
    """A loaded sentence-transformers model."""

    def __init__(self, model: Any, name: str, query_prefix: str = "") -> None:
        self._model = model
        self._query_prefix = query_prefix
        self.name = name
        self.max_tokens: int = model.max_seq_length or _USUAL_MAX_TOKENS
        # Measured: model cards and constants have been wrong about it.
        self.dim: int = self._encode(["x"]).shape[1]

    def embed_code(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of stored texts."""
        return self._encode(texts) if texts else np.zeros((0, self.dim), dtype=np.float32)

    def embed_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of queries, with the model's prefix for queries if it has one."""
        return self.embed_code([self._query_prefix + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._model.encode(
            list(texts), batch_size=_BATCH, convert_to_numpy=True, show_progress_bar=False
        ).astype(np.float32)
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.name} gave vectors that are not numbers", "its weights may be damaged")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return unit


def load_hub_model(
    info: ModelInfo, role: Role, settings: Settings | None = None, notify: Notify | None = None
) -> HubEmbedder:
    """Download the model if it is not in the cache, check its folder, load it. Every failure is a ModelError."""
    if importlib.util.find_spec("sentence_transformers") is None:
        raise ModelError(
            f"{info.name} needs sentence-transformers, which is not installed",
            "pip install 'sage-code[codesage]'",
        )
    dim = settings.code_embedding_dim if settings is not None and role == "code" else 0
    codesage = _CODESAGE.fullmatch(os.path.basename(info.name))
    if dim and not (codesage and codesage["v2"]):
        raise ModelError(f"the vectors of {info.name} cannot be shortened", "sage config reset code_embedding_dim")
    revision = settings.trusted_revision(info.name) if settings is not None else None
    folder, identity, trusted = _locate(info, revision, notify)
    model = _load(
        folder,
        info.name,
        trust_remote_code=trusted,
        truncate_dim=dim or None,
        processor_kwargs={"add_eos_token": True} if codesage and not codesage["v2"] else {},
    )
    if codesage:
        model.max_seq_length = _CODESAGE_MAX_TOKENS
    is_bge = _BGE.fullmatch(os.path.basename(info.name))
    prefix = _BGE_QUERY_PREFIX if role == "prose" and is_bge else ""
    return HubEmbedder(model, f"{identity}:{dim}" if dim else identity, prefix)


def _locate(info: ModelInfo, revision: str | None, notify: Notify | None) -> tuple[str, str, bool]:
    """The model's folder, the name of its vectors, and whether it runs its own code."""
    if info.origin == "hub":
        if info.needs_trust and revision is None:  # before anything is downloaded
            raise untrusted(info.name, "COMMIT", ())
        folder = fetch(info, revision, notify)
        model_folder.require_model(folder, info.name)
        pin, identity = revision, f"{info.name}@{os.path.basename(folder)[:12]}"
    else:
        folder = info.name
        if not os.path.isdir(folder):
            raise ModelError(f"there is no folder {folder}", "check the path of the embedding model")
        model_folder.require_model(folder, folder)
        pin = model_folder.code_fingerprint(folder)
        identity = f"{os.path.basename(folder)}@{model_folder.weights_fingerprint(folder)}"
    classes = model_folder.foreign_code(folder)
    if classes and (revision is None or revision != pin):
        raise untrusted(info.name, pin or os.path.basename(folder), classes)
    if elsewhere := [each for each in classes if "--" in each]:
        raise ModelError(
            f"{info.name} takes code from another repository ({elsewhere[0]}), which is not pinned",
            "choose another model",
        )
    return folder, identity, bool(classes)


def _load(folder: str, name: str, **options: Any) -> Any:
    """The model in `folder`; every error of its files or code is a ModelError."""
    from sentence_transformers import SentenceTransformer  # lazy: takes seconds, comes with the extra

    # Loading takes a second and needs no progress bar, least of all in log files.
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    try:
        return SentenceTransformer(folder, local_files_only=True, model_kwargs={"use_safetensors": True}, **options)
    except Exception as error:  # a model's files and code may fail in any way
        reason = (str(error).strip().splitlines() or [""])[0][:200]
        raise ModelError(
            f"the model {name} cannot be loaded: {type(error).__name__}: {reason}",
            f"its files, in {folder}, may be damaged or made for another version of transformers",
        ) from error
