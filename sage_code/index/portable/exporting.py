"""`sage index export`: the index of a project, as it was last made, in one file.

Files are written in the order of the compiled index, so that an imported index breaks ties in the same way. They are
read in batches; memory does not grow with the project.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.compiled.published import open_snapshot
from sage_code.errors import IndexCorrupt, NotIndexed
from sage_code.files.atomic import PRIVATE_FILE, whole_file
from sage_code.files.locks import locked
from sage_code.index.batches import PortableFile, pack
from sage_code.index.manifest import Manifest, is_of_this_chunker, load_manifest
from sage_code.index.pipeline import explained
from sage_code.index.portable.archive import FILES, HEAD, ArchiveWriter
from sage_code.index.portable.head import Head
from sage_code.index.shared.fetching import shared_of
from sage_code.paths import index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings
from sage_code.store.lance import Store, store_uri, use_lock

# Chunks in a frame: enough for a good compression, few enough to be in memory twice.
_FRAME_CHUNKS = 2_048
# Files that are read from the store together.
_READ_FILES = 256


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was written; the shape of `sage index export --json`."""

    project: str
    root: str
    archive: str
    files: int
    chunks: int
    bytes: int
    bytes_per_chunk: int
    sha256: str
    duration_ms: int


def export_index(root: str, settings: Settings, archive: str, *, progress: Progress | None = None) -> ExportReport:
    """Write the project's index to the file `archive`, which appears whole or not at all."""
    progress, started = progress or Silent(), time.monotonic()
    manifest = load_manifest(root)
    if manifest is None:
        raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
    if manifest.store_uri != settings.store_uri:
        # The manifest may come from an attacker: only the user's settings say which store is opened.
        raise _unsound(f"{root} was indexed into another store than the one that is set")
    uri = store_uri(settings.store_uri)
    path = os.path.abspath(archive)
    with explained(path), locked(index_lock(root)), locked(use_lock(uri), shared=True):
        manifest = load_manifest(root) or manifest  # again, now that the lock keeps it from changing
        keys = _ordered_keys(root, manifest)
        chunks = sum(state.chunks for state in manifest.files.values())
        files, made_at = len(manifest.files), manifest.indexed_at
        head = Head(manifest.project, manifest.model, manifest.dim, CHUNKER_VERSION, files, chunks, made_at)
        progress.stage("exporting", len(keys))
        with whole_file(path, mode=PRIVATE_FILE) as file:
            writer = ArchiveWriter(file)
            writer.add(HEAD, head.pack())
            store = Store(uri, manifest.model, manifest.dim)
            if shared := shared_of(root, settings, progress):
                shared.bring(store, keys, look=False)
            for batch in _batches(store, manifest, keys):
                writer.add(FILES, pack(batch))
                progress.advance(len(batch))
            digest = writer.finish()
            size = file.tell()
    took = round((time.monotonic() - started) * 1000)
    per_chunk = round(size / max(chunks, 1))
    return ExportReport(manifest.project, root, path, files, chunks, size, per_chunk, digest, took)


def _ordered_keys(root: str, manifest: Manifest) -> list[str]:
    """The keys of the project's files, in the order of its compiled index."""
    if not is_of_this_chunker(manifest):
        raise _unsound(f"{root} was indexed by another version of Sage")
    snapshot = open_snapshot(root)
    if snapshot is None:
        raise _unsound(f"the compiled index of {root} is missing")
    generation, segments = snapshot.generation, snapshot.segments
    keys: list[str] = []
    for ref, segment in zip(generation.segments, segments, strict=True):
        dead = set(ref.dead)
        keys += [key for number, key in enumerate(segment.keys) if number not in dead]
    if generation.name != manifest.generation or set(keys) != {state.key for state in manifest.files.values()}:
        raise _unsound(f"the compiled index of {root} is not the one that its manifest names")
    return keys


def _batches(store: Store, manifest: Manifest, keys: list[str]) -> Iterator[list[PortableFile]]:
    """The files of the project in batches of about `_FRAME_CHUNKS`."""
    states = {state.key: state for state in manifest.files.values()}
    batch: list[PortableFile] = []
    chunks = 0
    for start in range(0, len(keys), _READ_FILES):
        part = keys[start : start + _READ_FILES]
        found = {rows.key: rows for rows in store.read(part)}
        if len(found) < len(part):
            raise _unsound(f"the store has lost {len(part) - len(found)} files of this project")
        for key in part:
            batch.append(PortableFile(found.pop(key), states[key]))
            chunks += states[key].chunks
            if chunks >= _FRAME_CHUNKS:
                yield batch
                batch, chunks = [], 0
    if batch:
        yield batch


def _unsound(why: str) -> IndexCorrupt:
    return IndexCorrupt(why, "run `sage index`, then export again; nothing was written")
