"""Which parts of the last index a run may build on: its manifest and its published generation.

A part that is damaged or made in another way (model, chunker, store) is left aside; a note says so, and the run makes
it again from the store.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sage_code.compiled.inventory import damaged
from sage_code.compiled.published import Generation, current
from sage_code.errors import IndexCorrupt
from sage_code.files import provenance
from sage_code.index.diff import model_changed
from sage_code.index.manifest import Manifest, is_of_this_chunker, load_manifest
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from sage_code.progress import Progress
    from sage_code.store.lance import Store

# A run that finds no changes hashes compiled files of up to so many bytes: 20 ms.
_CHECKED_BYTES = 1 << 26


def old_manifest(root: str, progress: Progress) -> Manifest | None:
    """The manifest of the last run; None without one, or with a damaged one."""
    try:
        return load_manifest(root)
    except IndexCorrupt as error:
        progress.note(f"{error.message}; making it again")
        return None


def usable_base(root: str, old: Manifest | None, settings: Settings, progress: Progress) -> Generation | None:
    """The published generation, when the manifest names it and its vectors are of the configured model."""
    if old is None:
        return None
    if model_changed(old, settings):
        now = settings.code_embedding_model
        progress.note(f"the embedding model was {old.model}, now it is {now}: making its vectors")
        return None
    if not is_of_this_chunker(old):
        progress.note("this version of Sage cuts files in another way: cutting them again")
        return None
    base = current(root)
    if base is None and provenance.is_known(root):
        progress.note(f"{provenance.complaint(root)}; making it again")
    if base is None or old.store_uri != settings.store_uri:
        return None
    return base if (base.name, base.model, base.dim) == (old.generation, old.model, old.dim) else None


def seems_damaged(base: Generation) -> bool:
    """Whether a compiled file is damaged, as far as a quick check shows."""
    size = sum(mark.size for mark in base.files.values())
    return size <= _CHECKED_BYTES and bool(damaged(base.folder, dict(base.files)))


def sound_base(base: Generation | None, store: Store, files: int, progress: Progress) -> Generation | None:
    """The base, unless one of its files is damaged or the store has lost rows of its `files` files."""
    from sage_code.compiled.generation import check  # lazy: NumPy

    if base is None:
        return None
    damage = check(base)
    if files and (store.count_files() < files or not store.count()):
        damage.append(f"{store.uri} has lost rows of this project")
    for finding in damage:
        progress.note(f"{finding}; making it again")
    return None if damage else base
