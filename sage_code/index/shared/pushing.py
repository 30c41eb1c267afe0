"""The publisher's side, `sage share push`: upload what is new of the project's index, then the signed list of it.

Only what is committed may be published: an index with other files than HEAD's is refused. Rows that an older published
index has are listed again, not sent again, so a push after a small change is small. A killed push is repeated: pieces
that are there stay, and the list comes last. Two pushes of one commit: the first one's list counts.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from sage_code.compiled.published import Generation, current
from sage_code.discover.gitstate import GitState
from sage_code.errors import IndexCorrupt, NotIndexed, SageError, UsageError
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.index.batches import PortableFile, pack
from sage_code.index.manifest import Manifest, is_of_this_chunker, load_manifest
from sage_code.index.shared.fetching import SharedIndex, shared_name, verified, wanted_flavour
from sage_code.index.shared.published import Piece, PublishedIndex, named, pieces_of, place_of, upload
from sage_code.index.shared.signing import own_key, signed
from sage_code.paths import index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.table import Settings
from sage_code.store.lance import Store, store_uri, use_lock
from sage_code.store.remote.address import address_of
from sage_code.store.remote.objects import Objects

# Chunks in a frame of rows: an edit of one file fetches one frame.
_FRAME_CHUNKS = 1_024
# A frame of which less is alive is written again.
_ALIVE_SHARE = 0.5
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class PushReport:
    """What was published; the shape of `sage share push --json`."""

    project: str
    root: str
    shared_index: str
    commit: str
    published: bool  # False: it was published before
    files: int
    chunks: int
    pieces: int
    bytes_sent: int
    key: str
    duration_ms: int


def push_index(root: str, settings: Settings, *, anyway: bool = False, progress: Progress | None = None) -> PushReport:
    """Publish the index of the project at `root` for the commit that is checked out."""
    progress, started = progress or Silent(), time.monotonic()
    if not settings.shared_index:
        raise UsageError("no shared index is set", "`sage config set shared_index s3://BUCKET/FOLDER`, or a folder")
    git = GitState.of(root)
    commit = git.head() if git else ""
    if git is None or not commit:
        raise UsageError(f"{root} has no commit", "an index is published for a commit of git")
    key = own_key()
    signed(b"")  # without a key nothing is uploaded
    with locked(index_lock(root)):
        manifest = load_manifest(root)
        generation = current(root)
        if manifest is None or generation is None:
            raise NotIndexed(f"{root} is not indexed yet", f"run `sage index {root}` first")
        _check(root, manifest, generation, settings)
        if not anyway:
            _check_committed(root, git, manifest)
        name, flavour = shared_name(settings, git), wanted_flavour(settings)
        place = place_of(name, flavour)
        objects = Objects(address_of(settings.shared_index, settings))
        chunks = sum(state.chunks for state in manifest.files.values())

        def report(published: bool, pieces: int, sent: int) -> PushReport:
            took = round((time.monotonic() - started) * 1000)
            files = len(manifest.files)
            return PushReport(
                name, root, settings.shared_index, commit, published, files, chunks, pieces, sent, key, took
            )

        there = objects.get(f"{place}/{commit}")
        is_good = there is not None and _is_good(there.data, settings, place, commit)
        if is_good:
            return report(False, 0, 0)
        push = _Push(objects, progress)
        files = {file: push.file(os.path.join(generation.folder, file)) for file in generation.files}
        states = push.data(_packed_states(manifest))
        rows, row_keys = push.rows(manifest, settings, SharedIndex(root, settings, progress))
        listed = PublishedIndex(
            name, flavour, commit, manifest.model, manifest.dim, datetime.now(UTC).isoformat(timespec="seconds"),
            chunks, generation.segments, files, states, rows, row_keys,
        )  # fmt: skip
        data = signed(listed.encoded())
        if there is not None:  # not signed by a trusted key: it is of no use for any reader
            progress.note(f"the list of {commit[:12]} was not signed by a trusted key: replaced")
            objects.put(f"{place}/{commit}", data)
        published = there is not None or objects.create(f"{place}/{commit}", data)
    return report(published, push.pieces, push.sent)


class _Push:
    """Uploads pieces and counts them."""

    def __init__(self, objects: Objects, progress: Progress) -> None:
        self._objects, self._progress = objects, progress
        self.pieces = self.sent = 0

    def file(self, path: str) -> tuple[Piece, ...]:
        """The pieces of a file."""
        found = []
        with open(path, "rb") as file:
            for _, length in pieces_of(os.path.getsize(path)):
                found.append(self._put(file.read(length)))
        return tuple(found)

    def data(self, data: bytes) -> tuple[Piece, ...]:
        """The pieces of some bytes."""
        return tuple(self._put(data[begin : begin + length]) for begin, length in pieces_of(len(data)))

    def rows(
        self, manifest: Manifest, settings: Settings, reader: SharedIndex
    ) -> tuple[tuple[Piece, ...], tuple[tuple[str, ...], ...]]:
        """The frames of rows: those of the last published index that are mostly in use, and new ones."""
        last = reader.kept()
        wanted = {state.key: state for state in manifest.files.values()}
        frames: list[Piece] = []
        keys: list[tuple[str, ...]] = []
        for piece, held in zip(last.rows, last.row_keys, strict=True) if last else ():
            alive = [key for key in held if key in wanted]
            if len(alive) >= len(held) * _ALIVE_SHARE and alive and self._objects.has(piece.key):
                frames.append(piece)
                keys.append(held)
                for key in alive:
                    del wanted[key]
        uri = store_uri(settings.store_uri)
        with locked(use_lock(uri), shared=True):
            store = Store(uri, manifest.model, manifest.dim)
            if last is not None:
                reader.bring_from(store, last, set(wanted))
            self._progress.stage("publishing rows", len(wanted))
            batch: list[PortableFile] = []
            chunks = found = 0
            for rows in store.read(list(wanted)):
                found += 1
                batch.append(PortableFile(rows, wanted[rows.key]))
                chunks += len(rows.chunks)
                if chunks >= _FRAME_CHUNKS:
                    frames.append(self._put(pack(batch)))
                    keys.append(tuple(file.rows.key for file in batch))
                    batch, chunks = [], 0
                self._progress.advance()
            if batch:
                frames.append(self._put(pack(batch)))
                keys.append(tuple(file.rows.key for file in batch))
        if found < len(wanted):
            raise IndexCorrupt(
                f"the store has lost {len(wanted) - found} files of this project",
                "run `sage admin verify`, then push again; nothing was published",
            )
        return tuple(frames), tuple(keys)

    def _put(self, data: bytes) -> Piece:
        piece = named(data)
        self.sent += upload(self._objects, piece, data)
        self.pieces += 1
        return piece


def _is_good(data: bytes, settings: Settings, place: str, commit: str) -> bool:
    try:
        verified(data, settings, place, commit)
    except SageError:
        return False
    return True


def _check(root: str, manifest: Manifest, generation: Generation, settings: Settings) -> None:
    """Refuse an index that is incomplete, imported or made in another way than the settings say."""
    if manifest.imported or manifest.generation != generation.name or not is_of_this_chunker(manifest):
        raise IndexCorrupt(
            f"the index of {root} is imported, incomplete or of another version", "run `sage index`, then push again"
        )
    if manifest.model_setting != settings.code_embedding_model or manifest.store_uri != settings.store_uri:
        raise UsageError(f"{root} was indexed with other settings", "run `sage index`, then push again")


def _check_committed(root: str, git: GitState, manifest: Manifest) -> None:
    """Refuse an index that holds what is not committed: it would be published for all readers."""
    committed = git.committed()
    other = []
    for path, state in manifest.files.items():
        blob = committed.get(path)
        try:
            data = read_regular(os.path.join(root, path), state.size)
        except (OSError, ValueError):
            data = b""
        kind = "sha1" if blob is None or len(blob) == 40 else "sha256"
        head = b"blob %d\0" % len(data)
        if blob is None or hashlib.new(kind, head + data, usedforsecurity=False).hexdigest() != blob:
            other.append(path)
    if other:
        shown = ", ".join(sorted(other)[:_SHOWN])
        raise UsageError(
            f"{len(other):,} indexed files are not as they are committed: {shown}",
            "commit or remove them and run `sage index`; --anyway publishes them too",
        )


def _packed_states(manifest: Manifest) -> bytes:
    """What was indexed and skipped, file by file, without the times of this machine's files."""
    return orjson.dumps(
        {
            "files": [
                (path, state.size, state.content_hash, state.key, state.chunks, state.language)
                for path, state in sorted(manifest.files.items())
            ],
            "skipped": [
                (path, state.size, state.reason, state.detail) for path, state in sorted(manifest.skipped.items())
            ],
        }
    )
