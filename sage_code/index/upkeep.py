"""What the user asks for: verify and mend an index, embed it again, forget a project, compact the store.

`auto_compaction.py` holds what a run does by itself. A function that deletes rows takes the store's `use.lock` alone,
because an indexer that has added rows and not yet saved its manifest would lose them. The manifests of the registered
projects say which rows are in use.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.generation import check
from sage_code.compiled.published import current
from sage_code.embed.loading import load_embedder
from sage_code.errors import IndexCorrupt, NotIndexed, StoreError, UsageError
from sage_code.files import dot_sage, provenance
from sage_code.files.locks import locked
from sage_code.index import registry
from sage_code.index.auto_compaction import keys_in_use
from sage_code.index.manifest import Manifest, load_manifest, manifest_or_none
from sage_code.index.outcome import IndexStats
from sage_code.index.pipeline import explained, index_project
from sage_code.index.shared.fetching import shared_of
from sage_code.index.status import folder_bytes
from sage_code.paths import index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings, load_settings
from sage_code.settings.table import BUILT_IN_MODELS
from sage_code.store.checking import WrongVectors
from sage_code.store.lance import Store, damaged_tables, files_table, store_uri, table_name, use_lock

# How far a stored number may be from the one that the model computes; machines differ in the last digits.
_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What `verify` found; the shape of `sage admin verify --json`."""

    root: str
    files: int
    rows: int
    findings: list[str]
    clean: bool
    mended: bool


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What `forget_project` removed; the shape of `sage projects forget --json`."""

    root: str
    rows_deleted: int
    waits: bool  # unused rows stay in the store until `sage admin compact`
    left: list[str]  # folders behind a link, which were not touched


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What `compact_store` removed."""

    rows_deleted: int
    tables_dropped: list[str]
    bytes_before: int
    bytes_after: int


def verify_project(
    root: str, settings: Settings, *, mend: bool = True, progress: Progress | None = None
) -> VerifyReport:
    """Check rows, vectors and compiled files against the manifest; `mend` makes damaged parts again."""
    progress = progress or Silent()
    uri = store_uri(settings.store_uri)
    findings: list[str] = []
    try:
        manifest = load_manifest(root)
    except IndexCorrupt as error:
        manifest = None
        findings.append(error.message)
    if manifest is None and not findings:
        raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
    progress.stage("checking the store")
    with explained(uri):
        damaged = _set_aside(uri, damaged_tables, mend=mend)
    rows = 0
    if manifest is not None and (mend or not damaged):
        try:
            rows = _verify_rows(root, uri, manifest, settings, findings, progress, mend=mend)
        except StoreError as error:  # tables that open but cannot be read
            names = table_name(manifest.model, manifest.dim)
            findings.append(error.message)
            damaged += _set_aside(uri, lambda _: [names, files_table(names)], mend=mend)
    generation = current(root)
    findings += damaged + (check(generation) if generation else [provenance.complaint(root)])
    if findings and mend:
        index_project(root, settings, recompile=True, progress=progress)
    files = len(manifest.files) if manifest else 0
    return VerifyReport(root, files, rows, findings, clean=not findings, mended=bool(findings) and mend)


def _verify_rows(
    root: str,
    uri: str,
    manifest: Manifest,
    settings: Settings,
    findings: list[str],
    progress: Progress,
    *,
    mend: bool,
) -> int:
    """Check the rows of a project, also those that are in the shared index alone, and delete wrong ones; returns how
    many chunks it has."""
    store = Store(uri, manifest.model, manifest.dim)
    if shared := shared_of(root, settings, progress):
        with locked(use_lock(uri), shared=True):
            shared.bring(store, [state.key for state in manifest.files.values()], look=False)
    wrong_vectors = _wrong_vectors(store, manifest, settings)
    before = len(findings)
    rows, bad, texts = _check_rows(store, manifest, wrong_vectors, findings)
    if mend and len(findings) > before:
        _delete_rows(root, manifest, store, bad, texts, lambda: store.delete_damaged(wrong_vectors))
    return rows


def _set_aside(uri: str, damaged: Callable[[str], list[str]], *, mend: bool) -> list[str]:
    """Move unreadable tables away, never deleting them: the next index run makes them again."""
    findings = []
    with locked(use_lock(uri)):  # alone: a table that is just being made looks damaged
        for name in damaged(uri):
            findings.append(f"table {name} in {uri} is damaged")
            path = os.path.join(uri, f"{name}.lance")
            if mend and os.path.lexists(path):
                aside = os.path.join(uri, f"{name}.damaged-{time.time_ns()}")
                os.rename(path, aside)
                findings[-1] += f"; moved to {aside}"
    return findings


def _delete_rows(
    root: str,
    manifest: Manifest,
    store: Store,
    keys: list[str],
    texts: set[str],
    also: Callable[[], None] | None = None,
) -> None:
    """Delete files of a project and texts, for the next run to make again. The manifest gives up its generation first:
    if this process is killed, the next run compares with the store and adds what is missing."""
    with explained(f"the index of {root}"), locked(index_lock(root)), locked(use_lock(store.uri)):
        replace(manifest, generation=f"unpublished-{secrets.token_hex(provenance.NAME_BYTES)}").save(root)
        store.delete(keys, texts)
        if also is not None:
            also()


def _wrong_vectors(store: Store, manifest: Manifest, settings: Settings) -> WrongVectors:
    """A check for vectors that do not belong to their text. A built-in model embeds the project's texts again; for
    other models only the length of a vector is checked."""
    own: set[str] = set()
    embedder = None
    if settings.code_embedding_model in BUILT_IN_MODELS:
        embedder = load_embedder(settings.code_embedding_model, "code", settings)
        if (embedder.name, embedder.dim) == (manifest.model, manifest.dim):
            own = store.texts_of([state.key for state in manifest.files.values()])

    def are_wrong(hashes: Sequence[str], texts: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        lengths = np.linalg.norm(vectors, axis=1)
        wrong: NDArray[np.bool_] = (np.abs(lengths - 1) > _TOLERANCE) & (lengths > _TOLERANCE)
        rows = [row for row, digest in enumerate(hashes) if digest in own]
        if embedder is not None and rows:
            again = embedder.embed_code([texts[row] for row in rows])
            wrong[rows] |= np.abs(again - vectors[rows]).max(axis=1) > _TOLERANCE
        return wrong

    return are_wrong


def _check_rows(
    store: Store, manifest: Manifest, wrong_vectors: WrongVectors, findings: list[str]
) -> tuple[int, list[str], set[str]]:
    """How many chunks of the project the store has, the keys of its damaged files, and the hashes of bad texts."""
    with locked(use_lock(store.uri), shared=True):  # nothing may be compacted during the scan
        checked = store.check(wrong_vectors)
    if checked.damaged:
        findings.append(f"{checked.damaged:,} rows of {store.uri} are not what was written")
    bad = []
    rows = 0
    for path, state in manifest.files.items():
        found = checked.texts.get(state.key, 0)
        rows += found
        if state.key in checked.bad_files:
            findings.append(f"{path}: duplicated or damaged rows")
        elif found != state.chunks:
            findings.append(f"{path}: {found} rows instead of {state.chunks}")
        else:
            continue
        bad.append(state.key)
    return rows, bad, checked.bad_texts


def rebuild_embeddings(root: str, settings: Settings, *, progress: Progress | None = None) -> IndexStats:
    """Embed every chunk of the project again, without the vectors in the store."""
    manifest = manifest_or_none(root)
    embedder = load_embedder(settings.code_embedding_model, "code", settings)
    uri = store_uri(settings.store_uri)
    if manifest is not None:
        keys = [state.key for state in manifest.files.values()]
        with locked(use_lock(uri), shared=True):
            store = Store(uri, embedder.name, embedder.dim)
            texts = store.texts_of(keys)
        _delete_rows(root, manifest, store, keys, texts)
    return index_project(root, settings, reembed=True, progress=progress)


def forget_project(which: str) -> ForgetReport:
    """Undo the indexing of a project, given by its folder or its name."""
    entry = _find(which)
    settings = load_settings(entry.root if os.path.isdir(entry.root) else None)
    uri = store_uri(settings.store_uri)
    manifest = manifest_or_none(entry.root)
    deleted, waits = 0, True
    with (
        explained(uri),
        locked(index_lock(entry.root)) if manifest else contextlib.nullcontext(),
        locked(use_lock(uri)),
    ):
        registry.forget(entry.root)
        if entry.store_uri == settings.store_uri:
            store = Store(uri, entry.model, entry.dim)
            used = keys_in_use(store.table)[0]
            store.delete(sorted({state.key for state in manifest.files.values()} - used) if manifest else [])
            deleted = store.sweep()
            store.compact()  # the old version of a table still holds what was deleted from it
            waits = not store.keys() <= used
        notes = provenance.noted(entry.root)
        left = dot_sage.clear(entry.root)
        provenance.forget(entry.root, notes)
    return ForgetReport(entry.root, deleted, waits, left)


def _find(which: str) -> registry.ProjectEntry:
    """The registered project with this name or folder."""
    known = registry.projects()
    found = [entry for entry in known if entry.name == which]
    if len(found) < 2:  # an ambiguous name is not taken for a folder: `./NAME` names the folder
        found = [entry for entry in known if entry.root == os.path.realpath(which)] or found
    if len(found) == 1:
        return found[0]
    if found:
        roots = ", ".join(entry.root for entry in found)
        raise UsageError(f"{len(found)} projects are called {which}", f"give the folder: {roots}")
    raise UsageError(f"no project {which} is indexed here", "`sage projects list` shows them")


def compact_store(settings: Settings) -> CompactReport:
    """Remove rows and tables that no registered project uses, and old versions of the tables."""
    uri = store_uri(settings.store_uri)
    before = _store_bytes(uri)
    embedder = load_embedder(settings.code_embedding_model, "code", settings)
    with explained(uri), locked(use_lock(uri)):
        used = {table_name(entry.model, entry.dim): (entry.model, entry.dim) for entry in registry.load()}
        store = Store(uri, embedder.name, embedder.dim)
        used[store.table] = (embedder.name, embedder.dim)  # kept, even when no project uses it
        dropped = [name for name in store.tables() if name not in used]
        for name in dropped:
            store.drop_table(name)
        deleted = 0
        for model, dim in used.values():
            table = Store(uri, model, dim)
            table.delete(sorted(table.keys() - keys_in_use(table.table)[0]))
            deleted += table.sweep()
            table.compact()
        provenance.sweep()
    return CompactReport(deleted, dropped, before, _store_bytes(uri))


def _store_bytes(uri: str) -> int:
    return 0 if "://" in uri else folder_bytes(uri)
