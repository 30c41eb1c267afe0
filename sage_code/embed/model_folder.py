"""Checks a model's folder before it is loaded: is it complete, would it run code, would it be unpickled?

The folder may come from an attacker, and sentence-transformers imports any class that `modules.json` of a local folder
names. So the folder is first read here, as plain data.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator

from sage_code.errors import ModelError

# Parts of embedding models that import no class named in their configuration.
_KNOWN_MODULE = re.compile(
    r"sentence_transformers\.[\w.]+\."
    r"(Transformer|Pooling|Normalize|Dense|LayerNorm|Dropout|StaticEmbedding|WeightedLayerPooling)"
)
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_MAX_CONFIG_BYTES = 1_000_000


def require_model(folder: str, name: str) -> None:
    """Refuse a folder that is not a model, or whose weights would have to be unpickled."""
    # Before the folder is walked: the user may have named a whole disk.
    if not any(os.path.isfile(os.path.join(folder, name)) for name in ("config.json", "modules.json")):
        raise ModelError(
            f"{name} holds no embedding model",
            "a model's folder has a config.json or modules.json; save_pretrained makes one",
        )
    files = list(_files(folder))
    safe = {os.path.dirname(file) for file in files if file.endswith(".safetensors")}
    for file in files:
        if file.endswith(_PICKLED) and os.path.dirname(file) not in safe:
            raise ModelError(
                f"{name} has its weights as a pickle ({file}), which can run code when it is read",
                "choose a model that ships .safetensors, or convert it",
            )
    if not safe:
        raise ModelError(f"{name} has no weights (.safetensors)", "download or copy the folder again")


def foreign_code(folder: str) -> tuple[str, ...]:
    """The classes outside sentence-transformers and transformers that loading this folder would run."""
    found: set[str] = set()
    for file in _files(folder):
        if not file.endswith(".json"):
            continue
        data = _config(os.path.join(folder, file))
        if isinstance(data, dict):
            found.update(_strings(data.get("auto_map")))
        elif isinstance(data, list) and os.path.basename(file) == "modules.json":
            types = [str(part.get("type")) for part in data if isinstance(part, dict)]
            found.update(kind for kind in types if not _KNOWN_MODULE.fullmatch(kind))
    return tuple(sorted(found))


def code_fingerprint(folder: str) -> str:
    """Forty digits that change with any Python file in the folder: they pin it as a commit pins a hub model."""
    digest = hashlib.sha256()
    for file in sorted(file for file in _files(folder) if file.endswith(".py")):
        with open(os.path.join(folder, file), "rb") as stream:
            content = stream.read()
        digest.update(f"{file}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:40]


def weights_fingerprint(folder: str) -> str:
    """Twelve digits that change when the folder gets another model."""
    import xxhash

    digest = xxhash.xxh3_64()
    for file in sorted(file for file in _files(folder) if file.endswith((".safetensors", ".json"))):
        digest.update(file.encode())
        with open(os.path.join(folder, file), "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]


def _files(folder: str) -> Iterator[str]:
    """All files, relative; links to files too, because the hub's cache is made of them."""
    for base, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in names:
            yield os.path.relpath(os.path.join(base, name), folder)


def _config(path: str) -> object:
    if os.path.getsize(path) > _MAX_CONFIG_BYTES:
        return None  # a vocabulary
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (ValueError, RecursionError):
        return None  # loading the model reports it


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
