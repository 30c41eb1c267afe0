"""Downloads a model from the Hugging Face hub into the hub's cache: once, announced, at a pinned commit.

A model in the cache needs no network. The small files are downloaded and checked before the weights. Weights must be
safetensors; Python files are downloaded only for a model that the user trusts.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from sage_code.embed import model_folder
from sage_code.embed.naming import ModelInfo
from sage_code.embed.protocol import Notify
from sage_code.errors import ModelError

# How long one try to reach the hub may take; its own client would retry for minutes.
_REACH_TIMEOUT_S = 5.0
_SMALL = ["*.json", "*.txt", "*.model"]
_WEIGHTS = ["*.safetensors"]
# Exports for other runtimes, which Sage does not use.
_NOT_NEEDED = ["onnx/*", "openvino/*"]


def fetch(info: ModelInfo, revision: str | None, notify: Notify | None) -> str:
    """The folder with the model, downloaded if need be; `revision` is the commit that the user trusts."""
    small = _SMALL + (["*.py"] if revision else [])
    try:
        folder = _snapshot(info.name, revision, small + _WEIGHTS, offline=True)
        model_folder.require_model(folder, info.name)
        return folder
    except (OSError, ModelError):
        pass  # not in the cache, or incomplete
    try:
        return _download(info, revision, small, notify)
    except ModelError:
        raise
    except Exception as error:  # the client's own and its HTTP library's have no common base
        raise _explain(info.name, error) from error


def _download(info: ModelInfo, revision: str | None, small: list[str], notify: Notify | None) -> str:
    """Download the small files, check them, then download the weights; returns the folder."""
    listing = (
        _library("huggingface_hub")
        .HfApi(endpoint=_endpoint())
        .model_info(info.name, revision=revision, timeout=_REACH_TIMEOUT_S, files_metadata=True)
    )
    sizes = {file.rfilename: file.size or 0 for file in listing.siblings or ()}
    if not any(name.endswith(".safetensors") for name in sizes):
        raise ModelError(
            f"{info.name} does not ship its weights as .safetensors",
            "choose another model; Sage never unpickles one",
        )
    folder = _snapshot(info.name, listing.sha, small)
    if not revision and (classes := model_folder.foreign_code(folder)):
        raise untrusted(info.name, str(listing.sha), classes)
    if notify is not None:
        weights = sum(size for name, size in sizes.items() if name.endswith(".safetensors"))
        megabytes = round(weights / 1e6) or info.download_mb
        size = f"{megabytes} MB" if megabytes else "size unknown"
        notify(f"Downloading the embedding model {info.name} ({size}); this happens only once.")
    if not sys.stderr.isatty():
        _library("huggingface_hub.utils").disable_progress_bars()
    # By branch, not by commit, so that the cache remembers the commit of the branch.
    return _snapshot(info.name, revision, small + _WEIGHTS)


def untrusted(name: str, revision: str, classes: tuple[str, ...]) -> ModelError:
    """The error for a model with code that the user has not trusted."""
    what = f" ({', '.join(classes[:3])})" if classes else ""
    return ModelError(
        f"{name} runs Python code of its own{what}, and you have not said that you trust it",
        f"look at that code, then: sage config set trusted_models '{name}@{revision}'",
    )


def _snapshot(name: str, revision: str | None, patterns: list[str], offline: bool = False) -> str:
    folder = _library("huggingface_hub").snapshot_download(
        name,
        revision=revision,
        local_files_only=offline,
        endpoint=_endpoint(),
        allow_patterns=patterns,
        ignore_patterns=_NOT_NEEDED,
    )
    return str(folder)


def _library(name: str) -> Any:
    """The hub's client; imported late, because it is slow and comes with the extra."""
    return importlib.import_module(name)


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _explain(name: str, error: Exception) -> ModelError:
    """A `ModelError` that says what to do about an error of the hub's client."""
    errors = _library("huggingface_hub.errors")
    if isinstance(error, errors.GatedRepoError):
        return ModelError(f"{name} is a gated model", "ask for access on its page and log in with `hf auth login`")
    if isinstance(error, errors.RevisionNotFoundError):
        return ModelError(f"{name} has no such revision", "correct it in the setting trusted_models")
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelError(f"there is no model {name} on the hub", "check its spelling; a folder is ./FOLDER")
    reason = (str(error).strip().splitlines() or [""])[0][:200]
    return ModelError(
        f"the model {name} is not on this machine and cannot be downloaded: {type(error).__name__}: {reason}",
        "check the network, or go back to the bundled model with `sage config`",
    )
