"""`sage index import`: an index from an archive, for any folder and any user, without embedding.

The archive is read three times: for its checksum; to check and compile every file, into a folder that is not published
yet; and to add its rows to the store. Then the new index is published. All checks are done before anything permanent
is written.

The rows join those of all the user's projects, so a row of an archive must not be taken for a file of theirs. Keys and
hashes are made here, and a file on the disk never matches an archive's row (`batches.py`): an index run after an import
parses and cuts the files of a checkout itself. It may use imported texts and vectors if they are right: every vector of
a built-in model is compared with what the model gives (0.16 ms a text, an eighth of an import). For other models this
would cost as much as embedding, so only a few vectors are compared, which finds an archive of another model or of
noise, and the texts get hashes that no file of a checkout has.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.compiled.generation import GenerationWriter
from sage_code.discover.roots import why_unusual
from sage_code.embed.loading import load_embedder
from sage_code.embed.naming import describe
from sage_code.errors import ArchiveError, UsageError
from sage_code.files import dot_sage, provenance
from sage_code.files.atomic import remove, sweep
from sage_code.files.locks import locked
from sage_code.files.private import close_home
from sage_code.index import batches, registry
from sage_code.index.batches import PortableFile
from sage_code.index.manifest import FileState, Manifest, entry_of, manifest_or_none
from sage_code.index.pipeline import explained
from sage_code.index.portable.archive import FILES, HEAD, Archive
from sage_code.index.portable.head import Head, unpack_head
from sage_code.paths import codebase_dir, dot_sage_dir, generations_dir, index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings
from sage_code.store.lance import Store, store_uri, use_lock

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

# How many vectors are compared with what a slow model gives, one a frame.
_SPOT_CHECKS = 32
# How far a vector may be from the model's: processors round differently, graphics cards even more; another model is
# much farther away.
_APART, _APART_SLOW = 0.02, 0.14


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported; the shape of `sage index import --json`."""

    project: str
    root: str
    archive: str
    files: int
    chunks: int
    chunks_added: int  # texts that the store did not have yet
    vectors_checked: int  # compared with what the model gives
    bytes_per_chunk: int
    model: str
    indexed_at: str
    checkout: bool  # whether files of the project are in the folder
    duration_ms: int


def import_index(
    root: str, settings: Settings, archive: str, *, name: str | None = None, progress: Progress | None = None
) -> ImportReport:
    """Make the index in `archive` that of the project at `root`; the folder need not exist yet."""
    progress, started = progress or Silent(), time.monotonic()
    if why := why_unusual(root):
        raise UsageError(f"{root} is {why}", "give an index a folder of its own; nothing was changed")
    with Archive.open(archive) as source:
        head = _head(source)
        embedder = load_embedder(settings.code_embedding_model, "code", settings, progress.note)
        _check_fit(head, embedder)
        uri = store_uri(settings.store_uri)
        with explained(f"the index of {root}"), _prepared(root), locked(index_lock(root)):
            sweep(codebase_dir(root))
            sweep(generations_dir(root))
            old = manifest_or_none(root)
            project = name or (old.project if old else head.project)
            with GenerationWriter(root, head.model, head.dim, None, set(), keep_texts=True) as writer:
                progress.stage("checking", head.files)
                check = _VectorCheck(embedder, fast=describe(settings.code_embedding_model).origin == "built-in")
                states = _compile(source, head, writer, check, progress)
                progress.stage("storing", head.files)
                with locked(use_lock(uri), shared=True):
                    store = Store(uri, head.model, head.dim)
                    added = 0
                    for batch in _files(source, head):
                        added += store.add([check.kept(file).rows for file in batch])
                        progress.advance(len(batch))
                    progress.stage("publishing")
                    writer.publish()
                    setting, remote = settings.code_embedding_model, settings.store_uri
                    new = Manifest(
                        project, setting, head.model, head.dim, remote, writer.name, head.indexed_at, states,
                        imported=True,
                    )  # fmt: skip
                    registry.record(entry_of(root, new))
                    new.save(root)
                    provenance.forget(root, writer.removed)
        per_chunk = round(source.size / max(head.chunks, 1))
    checkout = any(os.path.lexists(os.path.join(root, path)) for path in states)
    took = round((time.monotonic() - started) * 1000)
    return ImportReport(
        project, root, os.path.abspath(archive), head.files, head.chunks, added, check.checked, per_chunk, head.model,
        head.indexed_at, checkout, took,
    )  # fmt: skip


def _head(source: Archive) -> Head:
    kind, data = next(source.frames(), (b"", b""))
    if kind != HEAD:
        raise source.damaged("it has no head")
    with _damage_explained(source):
        return unpack_head(data)


def _check_fit(head: Head, embedder: Embedder) -> None:
    """Refuse an archive of another chunker version or another model."""
    if head.chunker != CHUNKER_VERSION:
        raise ArchiveError(
            f"the archive was made by a Sage that cuts files in another way "
            f"(version {head.chunker}, here {CHUNKER_VERSION})",
            "export it again with the version of Sage that is installed here; nothing was changed",
        )
    if (head.model, head.dim) != (embedder.name, embedder.dim):
        raise ArchiveError(
            f"the archive was embedded with {head.model} ({head.dim}-d), here the model is "
            f"{embedder.name} ({embedder.dim}-d)",
            "choose the same model with `sage models use`, or index from the files; nothing was changed",
        )


def _files(source: Archive, head: Head) -> Iterator[list[PortableFile]]:
    """The files of the archive, frame by frame."""
    frames = source.frames()
    next(frames)
    for kind, data in frames:
        if kind != FILES:
            raise source.damaged("it has two heads")
        with _damage_explained(source):
            yield list(batches.unpack(data, head.dim))


@contextlib.contextmanager
def _damage_explained(source: Archive) -> Iterator[None]:
    """Report errors that come from the archive's content as damage of the archive."""
    try:
        yield
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise source.damaged(str(error)) from error


def _compile(
    source: Archive, head: Head, writer: GenerationWriter, check: _VectorCheck, progress: Progress
) -> dict[str, FileState]:
    """Check and compile every file; returns the states by path."""
    states: dict[str, FileState] = {}
    chunks = 0
    for batch in _files(source, head):
        with _damage_explained(source):
            for file in batch:
                if file.rows.path in states:
                    raise ValueError("a file is there twice")
                writer.add(check.kept(file).rows)
                states[file.rows.path] = file.state
                chunks += file.state.chunks
            check.compare(batch)
        progress.advance(len(batch))
    if (len(states), chunks) != (head.files, head.chunks):
        raise source.damaged("it holds more or less than its head says")
    return states


class _VectorCheck:
    """Compares vectors with what the model gives: all of a fast model, some of a slow one."""

    def __init__(self, embedder: Embedder, *, fast: bool) -> None:
        self._embedder, self._fast = embedder, fast
        self.checked = 0

    def compare(self, files: list[PortableFile]) -> None:
        """Compare the vectors of a frame; a `ValueError` when one is not the model's."""
        vectors = {
            digest: (text, vector)
            for file in files
            for text, digest, vector in zip(file.rows.texts, file.rows.text_hashes, file.rows.vectors, strict=True)
        }
        wanted = list(vectors.values())
        if not self._fast:
            wanted = wanted[:1] if self.checked < _SPOT_CHECKS else []
        if not wanted:
            return
        made = self._embedder.embed_code([text for text, _ in wanted])
        apart = np.linalg.norm(made - np.stack([vector for _, vector in wanted]), axis=1)
        if not (apart <= (_APART if self._fast else _APART_SLOW)).all():
            raise ValueError(f"its vectors are not those of {self._embedder.name}")
        self.checked += len(wanted)

    def kept(self, file: PortableFile) -> PortableFile:
        """The file as it goes into the store."""
        return file if self._fast else batches.with_own_hashes(file)


@contextlib.contextmanager
def _prepared(root: str) -> Iterator[None]:
    """Make the project's folder if it does not exist; remove it again when the import fails."""
    folders = [codebase_dir(root)]
    while not os.path.lexists(folders[-1]):
        folders.append(os.path.dirname(folders[-1]))
    os.makedirs(root, exist_ok=True)
    try:
        close_home()
        dot_sage.prepare(root, "codebase", os.path.join("codebase", "generations"))
        yield
    except BaseException:
        made = folders[:-1]
        if dot_sage_dir(root) in made:
            dot_sage.clear(root)
        elif made:
            remove(codebase_dir(root))
        with contextlib.suppress(OSError):  # another process has written something there
            for folder in made:
                if os.path.lexists(folder):
                    os.rmdir(folder)
        raise
