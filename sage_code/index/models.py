"""Lists embedding models, describes them without loading them, and switches a project to another model.

Every model has its own tables in the store, so switching back embeds nothing.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from sage_code.embed.loading import load_embedder
from sage_code.embed.naming import describe, stable_name
from sage_code.embed.packed import MODEL_FOLDER, PackedFacts, packed_facts
from sage_code.files.provenance import is_known
from sage_code.index import registry
from sage_code.index.outcome import IndexStats
from sage_code.index.pipeline import index_project
from sage_code.index.status import folder_bytes
from sage_code.paths import sage_home
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings, load_settings, set_value
from sage_code.settings.table import BUILT_IN_MODELS
from sage_code.values import Scope

_TABLE = re.compile(r"[a-z]+\d+_(?P<slug>.+)_(?P<dim>\d+)\.lance")
_HASHING_DIM = 256


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be used here; one of `sage models list --json`, and `sage models info --json`."""

    name: str  # what the setting takes
    vectors: str | None  # the name of its vectors; None when only the loaded model knows it
    origin: str  # built-in folder hub
    source: str  # where it comes from, in words
    dim: int | None  # None when only the loaded model knows it
    size_bytes: int | None  # None when it is not on this machine
    here: bool  # can be used without a download
    used_for: list[str]  # code prose: the settings that name it
    card: str | None  # the file that describes how it was made
    projects: list[str]  # roots that are indexed with it


@dataclass(frozen=True, slots=True)
class Table:
    """Vectors of one model in the store."""

    name: str
    dim: int
    bytes: int


def list_models(settings: Settings) -> list[Model]:
    """The built-in models, those that settings name, and those that projects are indexed with."""
    names = [*BUILT_IN_MODELS, settings.code_embedding_model, settings.embedding_model]
    names += [entry.model.partition("@")[0] for entry in registry.projects()]
    return [model_info(name, settings) for name in dict.fromkeys(names)]


def model_info(name: str, settings: Settings) -> Model:
    """What can be said about a model without loading it; a name that cannot be a model is a ModelError."""
    info = describe(name)
    roles = {"code": settings.code_embedding_model, "prose": settings.embedding_model}
    used_for = [role for role, used in roles.items() if name == used or info.name == used]
    vectors = stable_name(name)
    entries = [entry for entry in registry.projects() if entry.model == vectors or _is_of(entry.model, info.name)]
    packed = packed_facts() if name == "bundled" else None
    dim: int | None
    size: int | None
    if info.origin == "built-in":
        dim, size, here = (packed.dim, packed.size_bytes, True) if packed else (_HASHING_DIM, 0, True)
    else:
        folder = info.name if info.origin == "folder" else _hub_cache(info.name)
        here = os.path.isdir(folder)
        dim, size = next((entry.dim for entry in entries), None), folder_bytes(folder) if here else None
    return Model(
        name=info.name,
        vectors=vectors,
        origin=info.origin,
        source=_source(info.origin, info.name, packed),
        dim=dim,
        size_bytes=size,
        here=here,
        used_for=used_for,
        card=os.path.join(MODEL_FOLDER, "CARD.md") if packed else None,
        projects=[entry.root for entry in entries],
    )


def list_tables(settings: Settings) -> list[Table]:
    """The tables of vectors in a local store; none for a remote one."""
    folder = settings.store_uri or os.path.join(sage_home(), "codebase", "lancedb")
    found: dict[tuple[str, int], int] = {}
    if "://" not in folder and os.path.isdir(folder):
        for name in sorted(os.listdir(folder)):
            if table := _TABLE.fullmatch(name):
                key = (table["slug"], int(table["dim"]))
                found[key] = found.get(key, 0) + folder_bytes(os.path.join(folder, name))
    return [Table(slug, dim, size) for (slug, dim), size in found.items()]


def use_model(
    root: str, name: str, scope: Scope, *, index: bool = True, progress: Progress | None = None
) -> IndexStats | None:
    """Make `name` the model for code of the user or of one project, and index that project with it.

    The model is loaded before anything is written: a model that cannot be loaded changes nothing. Returns None without
    `index`, and for a project that is not indexed yet.
    """
    progress = progress or Silent()
    wanted = describe(name).name
    load_embedder(wanted, "code", load_settings(root, {"code_embedding_model": wanted}), progress.note)
    set_value("code_embedding_model", wanted, scope, root)
    if not index or not is_known(root):
        return None
    return index_project(root, load_settings(root), progress=progress)


def _is_of(vectors: str, name: str) -> bool:
    """Whether vectors called `vectors` are of the model `name`; a revision or a length may follow the name."""
    return re.split(r"[@:]", vectors, maxsplit=1)[0] == name


def _hub_cache(name: str) -> str:
    """Where the hub's client keeps a model."""
    home = os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface")
    cache = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    return os.path.join(cache, f"models--{name.replace('/', '--')}")


def _source(origin: str, name: str, packed: PackedFacts | None) -> str:
    if packed:
        return f"trained for Sage, part of the installation: {packed.words:,} words, {packed.buckets:,} buckets"
    if origin == "built-in":
        return "no weights: words and their trigrams, hashed" + ("; stands in for bundled" * (name == "bundled"))
    return f"the folder {name}" if origin == "folder" else f"the Hugging Face hub, {name}"
