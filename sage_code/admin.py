"""Looking after what indexing has stored: verify and mend, embed anew, forget a project, give space back.

Whoever deletes rows holds the store's `use.lock` alone: an indexer that has just added rows and not yet written its
manifest would lose them otherwise. Which rows are in use, the manifests of the registered projects say.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace

from sage_code import dot_sage, manifest, ours, registry
from sage_code.changes import index_lock
from sage_code.compiled.generation import check
from sage_code.compiled.published import current, open_snapshot
from sage_code.embed.registry import load_embedder
from sage_code.errors import IndexCorrupt, NotIndexed, UsageError
from sage_code.files.locks import locked
from sage_code.indexer import IndexStats, explained, index_project
from sage_code.manifest import Manifest
from sage_code.progress import Progress, Silent
from sage_code.settings import Settings, load_settings
from sage_code.status import folder_bytes
from sage_code.store.lance import Store, damaged_tables, store_uri, table_name, use_lock


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
    waits: bool  # rows of it, or of earlier versions of its files, are in the store until `sage admin compact`
    left: list[str]  # folders behind a link, which were left alone


@dataclass(frozen=True, slots=True)
class CompactReport:
    """What `compact_store` gave back."""

    rows_deleted: int
    tables_dropped: list[str]
    bytes_before: int
    bytes_after: int


def verify_project(
    root: str, settings: Settings, *, mend: bool = True, progress: Progress | None = None
) -> VerifyReport:
    """Check rows, vectors and compiled files against the manifest; with `mend` bring back what is wrong."""
    progress = progress or Silent()
    uri = store_uri(settings.store_uri)
    findings: list[str] = []
    try:
        meta = manifest.load(root)
    except IndexCorrupt as error:
        meta = None
        findings.append(error.message)
    if meta is None and not findings:
        raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
    progress.stage("checking the store")
    with explained(uri):
        damaged = _set_damaged_aside(uri, mend=mend)
    rows, bad, texts = _check_rows(uri, meta, findings) if meta and (mend or not damaged) else (0, [], set())
    generation = current(root)
    findings += damaged + (check(generation) if generation else [ours.complaint(root)])
    if findings and mend:
        if bad and meta is not None:
            _delete_rows(root, meta, Store(uri, meta.model, meta.dim), bad, texts)
        index_project(root, settings, recompile=True, progress=progress)
    files = len(meta.files) if meta else 0
    return VerifyReport(root, files, rows, findings, clean=not findings, mended=bool(findings) and mend)


def _set_damaged_aside(uri: str, *, mend: bool) -> list[str]:
    """Tables that cannot be read are moved away (never deleted): the next index makes them anew."""
    findings = []
    with locked(use_lock(uri)):  # alone: a table that is just being made looks damaged
        for name in damaged_tables(uri):
            findings.append(f"table {name} in {uri} is damaged")
            if mend:
                aside = os.path.join(uri, f"{name}.damaged-{time.time_ns()}")
                os.rename(os.path.join(uri, f"{name}.lance"), aside)
                findings[-1] += f"; moved to {aside}"
    return findings


def _delete_rows(root: str, meta: Manifest, store: Store, keys: list[str], texts: set[str]) -> None:
    """Delete files of a project and texts that are to be made anew. The manifest lets go of its compiled files first:
    killed from here on, the next run looks at the store and brings back what it lacks."""
    with explained(f"the index of {root}"), locked(index_lock(root)), locked(use_lock(store.uri)):
        replace(meta, generation=f"unpublished-{secrets.token_hex(ours.NAME_BYTES)}").save(root)
        store.delete(keys, texts)


def _check_rows(uri: str, meta: Manifest, findings: list[str]) -> tuple[int, list[str], set[str]]:
    """How many chunks the project has in the store, the keys of its files that are wrong there, and bad texts."""
    checked = Store(uri, meta.model, meta.dim).check()
    bad = []
    rows = 0
    for path, state in meta.files.items():
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
    """Embed every chunk of the project anew, whatever the store has."""
    meta = _manifest_or_none(root)
    embedder = load_embedder(settings.code_embedding_model, "code", settings)
    uri = store_uri(settings.store_uri)
    if meta is not None:
        store = Store(uri, embedder.name, embedder.dim)
        keys = [state.key for state in meta.files.values()]
        _delete_rows(root, meta, store, keys, store.texts_of(keys))
    return index_project(root, settings, reembed=True, progress=progress)


def forget_project(which: str) -> ForgetReport:
    """Undo the indexing of a project, given by its folder or its name."""
    entry = _find(which)
    settings = load_settings(entry.root if os.path.isdir(entry.root) else None)
    uri = store_uri(settings.store_uri)
    meta = _manifest_or_none(entry.root)
    deleted, waits = 0, True
    with explained(uri), locked(index_lock(entry.root)) if meta else contextlib.nullcontext(), locked(use_lock(uri)):
        registry.forget(entry.root)
        if entry.store_uri == settings.store_uri:
            store = Store(uri, entry.model, entry.dim)
            used = _keys_in_use(store.table)
            store.delete(sorted({state.key for state in meta.files.values()} - used) if meta else [])
            deleted = store.sweep()
            store.compact()  # until then the old version of a table still holds what was deleted from it
            waits = not store.keys() <= used
        notes = ours.noted(entry.root)
        left = dot_sage.clear(entry.root)
        ours.forget(entry.root, notes)
    return ForgetReport(entry.root, deleted, waits, left)


def _find(which: str) -> registry.ProjectEntry:
    known = registry.projects()
    found = [entry for entry in known if entry.name == which]
    if len(found) < 2:  # a name that two have is no folder either, though one of them be here: `./NAME` says which
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
        used[store.table] = (embedder.name, embedder.dim)  # kept, and emptied when no project is left
        dropped = [name for name in store.tables() if name not in used]
        for name in dropped:
            store.drop_table(name)
        deleted = 0
        for model, dim in used.values():
            table = Store(uri, model, dim)
            table.delete(sorted(table.keys() - _keys_in_use(table.table)))
            deleted += table.sweep()
            table.compact()
        ours.sweep()
    return CompactReport(deleted, dropped, before, _store_bytes(uri))


def _keys_in_use(table: str) -> set[str]:
    """Keys that registered projects use: their manifests name them, and so do their compiled files, which speak for a
    project whose manifest is damaged."""
    keys: set[str] = set()
    for entry in registry.projects():
        meta = _manifest_or_none(entry.root)
        if meta is not None and table_name(meta.model, meta.dim) == table:
            keys.update(state.key for state in meta.files.values())
        elif meta is None and (snapshot := open_snapshot(entry.root)) is not None:
            keys.update(key for segment in snapshot[1] for key in segment.keys)
    return keys


def _manifest_or_none(root: str) -> Manifest | None:
    try:
        return manifest.load(root)
    except IndexCorrupt:
        return None


def _store_bytes(uri: str) -> int:
    return 0 if "://" in uri else folder_bytes(uri)
