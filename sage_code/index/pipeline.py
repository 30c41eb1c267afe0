"""The pipeline: discover → diff → chunk → embed → store → compile → meta.

A run takes the project's lock, does only what has changed, and replaces the manifest last. Killed at any moment it
leaves the old index whole; whatever reached the store by then is found there by the next run and not embedded again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sage_code.compiled.inventory import damaged
from sage_code.compiled.lookup import SymbolFiles
from sage_code.compiled.published import Generation, current
from sage_code.discover import discover_rules, list_files, read_source
from sage_code.discover.roots import why_unusual
from sage_code.embed.loading import load_embedder
from sage_code.errors import IndexCorrupt, StoreError, UsageError, explain
from sage_code.files import dot_sage, provenance
from sage_code.files.atomic import sweep
from sage_code.files.locks import locked
from sage_code.files.private import close, close_home
from sage_code.index import manifest, registry
from sage_code.index.allocator import return_freed_memory
from sage_code.index.diff import Diff, diff, look_for_changes, model_changed, stands_alone, trusted_mtime
from sage_code.index.manifest import FileState, Manifest, SkipState, cut_as_now, entry_of, file_key
from sage_code.paths import codebase_dir, generations_dir, index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings
from sage_code.values import SkippedFile, SkipReason, SourceFile

if TYPE_CHECKING:
    from sage_code.chunk.files import ChunkedFile
    from sage_code.compiled.generation import GenerationWriter
    from sage_code.index.vectors import VectorSource
    from sage_code.store.lance import Store

# Compiled files of up to so many bytes are hashed by a run that finds nothing to do: 20 ms.
_CHECKED_BYTES = 1 << 26
# Chunks that are embedded and committed together: the memory of a run, and what a killed run loses at most.
_BATCH_CHUNKS = 2048


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What a run did; the shape of `sage index --json`."""

    project: str
    root: str
    files_indexed: int  # new or changed: cut and stored, or found in the store
    files_unchanged: int
    files_removed: int
    files_skipped: int
    chunks_created: int  # embedded in this run
    chunks_reused: int  # of the indexed files, those whose vector was known
    functions_compiled: int
    classes_compiled: int
    constants_compiled: int
    languages: tuple[str, ...]
    model: str
    duration_ms: int


def index_project(
    root: str,
    settings: Settings,
    *,
    full: bool = False,
    recompile: bool = False,
    reembed: bool = False,
    name: str | None = None,
    anywhere: bool = False,
    progress: Progress | None = None,
) -> IndexStats:
    """Bring the index of the project at `root` up to date.

    `full` reads and cuts every file again; `recompile` makes the compiled files anew from the store and brings back
    the rows it lacks; `reembed` trusts no vector. `anywhere`: the user wants it also where nobody keeps a project.
    """
    if not os.path.isdir(root):
        raise UsageError(f"{root} is not a folder", "give the path of a project's folder")
    if not _is_unicode(root):
        raise UsageError(f"the path {root} is not valid Unicode", "rename the folder: JSON cannot hold its name")
    if not anywhere and not provenance.is_known(root) and (why := why_unusual(root)):
        raise UsageError(f"{root} is {why}; nothing was indexed", f"if you mean it: `sage index --yes {root}`")
    run = _Run(root, settings, full, recompile, reembed, name, progress or Silent())
    with explained(f"the index of {root}"):
        close_home()
        dot_sage.prepare(root, "codebase", os.path.join("codebase", "generations"))
        with locked(index_lock(root), on_wait=run.say_waiting):
            sweep(codebase_dir(root))
            sweep(generations_dir(root))
            return run.go()


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what the disk refuses into an error that says what to do."""
    try:
        yield
    except OSError as error:
        hint = f"{explain(error).hint}; the last good index is untouched"
        if error.errno == errno.ENOSPC:
            raise StoreError(f"no space left on the disk for {what}", hint) from error
        raise StoreError(f"cannot write {what}: {error}", hint) from error


def _is_unicode(path: str) -> bool:
    try:
        return bool(path.encode())
    except UnicodeEncodeError:
        return False


def _file(path: str, state: FileState) -> SourceFile:
    return SourceFile(path, state.size, state.mtime_ns, state.ctime_ns)


class _Run:
    """One run over one project; its methods are the arrows of the pipeline."""

    def __init__(
        self,
        root: str,
        settings: Settings,
        full: bool,
        recompile: bool,
        reembed: bool,
        name: str | None,
        progress: Progress,
    ) -> None:
        self.root, self.settings, self.name, self.progress = root, settings, name, progress
        self.full, self.recompile, self.reembed = full, recompile or full or reembed, reembed
        self.rules = discover_rules(settings)
        self.started, self.started_ns = time.monotonic(), time.time_ns()
        self.states: dict[str, FileState] = {}
        self.skipped: dict[str, SkipState] = {}
        self.indexed = 0
        self.reused = 0  # chunks of indexed files that came from the store with their vectors
        self.alone = False  # an imported index without its files

    def say_waiting(self) -> None:
        self.progress.note(f"another process is indexing {self.root}; waiting for it")

    def go(self) -> IndexStats:
        old = self._old_manifest()
        self.progress.stage("looking for changes")
        listing = list(list_files(self.root, self.rules))
        self.alone = old is not None and self._stands_alone(old, listing)
        changes = look_for_changes(self.root, self.rules, listing, None if self.full else old, self.started_ns)
        self.states, self.skipped = dict(changes.unchanged), dict(changes.skipped)
        base = self._usable_base(old)
        nothing_changed = not changes.suspects and not changes.removed
        if old is not None and base is not None and nothing_changed and not self._seems_damaged(base):
            # A compiled file that is damaged: `_update` says which and makes it from the store.
            with contextlib.suppress(IndexCorrupt, FileNotFoundError):
                return self._nothing_to_do(old, base, changes)
        return self._update(old, base, changes)

    # -- what has changed ---------------------------------------------------------------------------------------

    def _old_manifest(self) -> Manifest | None:
        try:
            return manifest.load(self.root)
        except IndexCorrupt as error:
            self.progress.note(f"{error.message}; making it anew")
            return None

    def _stands_alone(self, old: Manifest, listing: Sequence[SourceFile | SkippedFile]) -> bool:
        """Whether there is an imported index and none of its files: it may come back from the store, and can not be
        made anew."""
        if not old.imported or not stands_alone(old, diff(listing, old)):
            return False
        if self.full or self.reembed or model_changed(old, self.settings) or not cut_as_now(old):
            raise self._no_files()
        return True

    def _no_files(self) -> UsageError:
        return UsageError(
            f"{self.root} holds an imported index and none of its files",
            "get the project's files first, or import an archive again; nothing was changed",
        )

    def _stamp(self, file: SourceFile) -> int:
        return trusted_mtime(file, self.started_ns)

    def _usable_base(self, old: Manifest | None) -> Generation | None:
        """The published generation, when the manifest speaks of it and its vectors are the wanted model's."""
        if old is None:
            return None
        if model_changed(old, self.settings):
            now = self.settings.code_embedding_model
            self.progress.note(f"the embedding model was {old.model}, now it is {now}: making its vectors")
            return None
        if not cut_as_now(old):
            self.progress.note("this version of Sage cuts files in another way: cutting them anew")
            return None
        base = current(self.root)
        if base is None and provenance.is_known(self.root):
            self.progress.note(f"{provenance.complaint(self.root)}; making it anew")
        if base is None or self.recompile or old.store_uri != self.settings.store_uri:
            return None
        return base if (base.name, base.model, base.dim) == (old.generation, old.model, old.dim) else None

    @staticmethod
    def _seems_damaged(base: Generation) -> bool:
        """Whether a compiled file is not what was written, as far as that is quickly seen."""
        size = sum(mark.size for mark in base.files.values())
        return size <= _CHECKED_BYTES and bool(damaged(base.folder, dict(base.files)))

    def _nothing_to_do(self, old: Manifest, base: Generation, changes: Diff) -> IndexStats:
        counts = SymbolFiles(base.folder, base.files).counts()
        self._register(new := replace(old, project=self.name or old.project, files=self.states, skipped=self.skipped))
        if new != old:
            new.save(self.root)
        return self._stats(new.project, old.model, changes, counts)

    # -- bringing it up to date -----------------------------------------------------------------------------------

    def _update(self, old: Manifest | None, base: Generation | None, changes: Diff) -> IndexStats:
        # Heavy: NumPy, the model and LanceDB (seconds). Only a run that has work comes here.
        from sage_code.compiled.generation import GenerationWriter
        from sage_code.index.auto_compaction import drop_secrets, tidy
        from sage_code.index.vectors import VectorSource
        from sage_code.store.lance import Store, store_uri, use_lock

        return_freed_memory()
        self.progress.stage("loading the model")
        setting = self.settings.code_embedding_model
        embedder = load_embedder(setting, "code", self.settings, self.progress.note)
        uri = store_uri(self.settings.store_uri)
        with locked(use_lock(uri), shared=True):
            store = Store(uri, embedder.name, embedder.dim)
            base = self._sound(base, store, len(old.files) if old else 0)
            changed = {*changes.removed, *(file.path for file in changes.suspects)} if base else set()
            with GenerationWriter(
                self.root, embedder.name, embedder.dim, base, changed, keep_texts=self.alone
            ) as writer:
                fresh = self._compile_stored(store, writer, base, changes)
                if fresh and self.alone:
                    raise self._no_files()
                vectors = VectorSource(store, embedder, trust_store=not self.reembed)
                self._compile_fresh(store, writer, vectors, fresh)
                secrets = self._secrets(old, changes)
                self._consolidate(store, writer, vectors, secrets)
                self.progress.stage("publishing")
                counts = writer.publish()
            # Still under the lock: until the manifest names the new rows, they look like nobody's.
            project = self.name or (old.project if old else os.path.basename(self.root) or self.root)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            remote = self.settings.store_uri
            new = Manifest(
                project, setting, embedder.name, embedder.dim, remote, writer.name, now, self.states, self.skipped,
                imported=self.alone,
            )  # fmt: skip
            self._register(new)
            new.save(self.root)
            provenance.forget(self.root, [*writer.removed, old.generation if old else ""])
        for said in (drop_secrets(store, secrets.values()), tidy(store)):
            if said:
                self.progress.note(said)
        if not remote:
            close(uri)  # LanceDB makes its files by the umask
        return self._stats(project, embedder.name, changes, counts, vectors)

    def _secrets(self, old: Manifest | None, changes: Diff) -> dict[str, str]:
        """Paths and keys of what was indexed before it was known to hold secrets."""
        now = {skip.path for skip in changes.passed_over if skip.reason is SkipReason.SECRET}
        now |= {path for path, skip in self.skipped.items() if skip.reason == SkipReason.SECRET}
        return {path: state.key for path, state in old.files.items() if path in now} if old else {}

    def _sound(self, base: Generation | None, store: Store, files: int) -> Generation | None:
        """The base, unless its files are not what was written or the store has lost rows that it was made from."""
        from sage_code.compiled.generation import check

        if base is None:
            return None
        damage = check(base)
        if files and (store.count_files() < files or not store.count()):
            damage.append(f"{store.uri} has lost rows of this project")
        for finding in damage:
            self.progress.note(f"{finding}; making it anew")
        return None if damage else base

    def _register(self, meta: Manifest) -> None:
        """Have the project listed before its manifest says that it is indexed: rows of unlisted projects are rubbish
        to whoever tidies up."""
        entry = entry_of(self.root, meta)
        if entry not in registry.projects():
            registry.record(entry)

    def _compile_stored(
        self, store: Store, writer: GenerationWriter, base: Generation | None, changes: Diff
    ) -> list[SourceFile]:
        """Compile what the store has already: earlier runs, other branches, other worktrees. Gives back the rest."""
        if self.full or store.count() == 0:
            unchanged = [_file(path, state) for path, state in changes.unchanged.items()]
            return changes.suspects + ([] if base else unchanged)
        wanted = self._keys(changes.suspects)
        if base is None:
            for path, state in changes.unchanged.items():
                key = file_key(path, state.content_hash)
                wanted[key] = (_file(path, state), state.content_hash)
        self.progress.stage("reading what is known", len(wanted))
        present = store.existing(list(wanted))
        for rows in store.read([key for key in wanted if key in present]):
            file, content_hash = wanted.pop(rows.key)
            writer.add(rows)
            self.reused += len(rows.chunks) if file.path not in self.states else 0
            self._keep(file, content_hash, rows.key, len(rows.chunks), rows.language)
            self.progress.advance()
        if store.damaged:
            self.progress.note(
                f"{len(store.damaged):,} files are damaged in {store.uri}: read again from the project; "
                "`sage admin verify` mends the store"
            )
        return [file for file, _ in wanted.values()]

    def _keys(self, files: Sequence[SourceFile]) -> dict[str, tuple[SourceFile, str]]:
        """Files by the key that their content gives them; unreadable and unwanted ones are noted as skipped."""
        keys = {}
        for file in files:
            source = read_source(self.root, file, self.rules)
            if isinstance(source, SkippedFile):
                self._skip(file, source)
            else:
                keys[file_key(file.path, source.data_hash)] = (file, source.data_hash)
        return keys

    def _compile_fresh(
        self, store: Store, writer: GenerationWriter, vectors: VectorSource, fresh: Sequence[SourceFile]
    ) -> None:
        """Cut, embed, store and compile what nobody has seen before."""
        self.progress.stage("indexing", len(fresh))
        for batch in self._batches(fresh):
            rows = vectors.rows(batch)
            store.add(rows)
            for chunked, file in zip(batch, rows, strict=True):
                writer.add(file)
                self._keep(chunked.file, chunked.content_hash, file.key, len(file.chunks), file.language)

    def _batches(self, files: Sequence[SourceFile]) -> Iterator[list[ChunkedFile]]:
        from sage_code.chunk.workers import chunk_files

        workers, budget_s = self.settings.index_workers, self.settings.parse_timeout_s
        batch: list[ChunkedFile] = []
        chunks = 0
        results = chunk_files(self.root, files, self.rules, workers=workers, budget_s=budget_s)
        for file, result in zip(files, results, strict=True):
            if isinstance(result, SkippedFile):
                self._skip(file, result)
            elif result.chunks:
                batch.append(result)
                chunks += len(result.chunks)
            if chunks >= _BATCH_CHUNKS:
                yield batch
                batch, chunks = [], 0
            self.progress.advance()
        if batch:
            yield batch

    def _consolidate(
        self, store: Store, writer: GenerationWriter, vectors: VectorSource, secrets: Collection[str]
    ) -> None:
        """Write crowded small segments again as one, and those with secrets, from the store; what is damaged there
        comes from the files."""
        keys = writer.crowded(secrets)
        if not keys:
            return
        if len(store.existing(keys)) < len(keys) or self.alone:
            writer.keep_crowded()
            return
        missing = set(keys)
        for rows in store.read(keys):
            writer.add(rows, symbols=False)
            missing.discard(rows.key)
        states = [(path, state) for path, state in self.states.items() if state.key in missing]
        for batch in self._batches([SourceFile(path, state.size, state.mtime_ns) for path, state in states]):
            for rows in vectors.rows(batch):
                writer.add(rows, symbols=False)

    # -- what is remembered -----------------------------------------------------------------------------------------

    def _keep(self, file: SourceFile, content_hash: str, key: str, chunks: int, language: str) -> None:
        known = self.states.get(file.path)
        mtime_ns = known.mtime_ns if known else self._stamp(file)
        if known is None:
            self.indexed += 1
        self.states[file.path] = FileState(file.size, mtime_ns, content_hash, key, chunks, language, file.ctime_ns)

    def _skip(self, file: SourceFile, skipped: SkippedFile) -> None:
        self.states.pop(file.path, None)
        self.skipped[file.path] = SkipState(
            file.size, self._stamp(file), skipped.reason.value, skipped.detail, file.ctime_ns
        )

    def _stats(
        self, project: str, model: str, changes: Diff, counts: dict[str, int], vectors: VectorSource | None = None
    ) -> IndexStats:
        return IndexStats(
            project=project,
            root=self.root,
            files_indexed=self.indexed,
            files_unchanged=len(self.states) - self.indexed,
            files_removed=len(changes.removed),
            files_skipped=len(changes.passed_over) + len(self.skipped),
            chunks_created=vectors.created if vectors else 0,
            chunks_reused=self.reused + (vectors.reused if vectors else 0),
            functions_compiled=counts["functions"],
            classes_compiled=counts["classes"],
            constants_compiled=counts["constants"],
            languages=tuple(sorted({state.language for state in self.states.values()})),
            model=model,
            duration_ms=round((time.monotonic() - self.started) * 1000),
        )
