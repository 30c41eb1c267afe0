"""The pipeline: discover → diff → parse → chunk → embed → store → compile → manifest. `_IndexRun.run` reads as that.

A run takes the project's lock, does only what has changed, and replaces the manifest last. A run that is killed leaves
the old index whole; the next run finds in the store what the killed one has embedded.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sage_code.compiled.lookup import SymbolFiles
from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText
from sage_code.discover.roots import why_unusual
from sage_code.discover.rules import discover_rules
from sage_code.embed.loading import load_embedder
from sage_code.errors import IndexCorrupt, StoreError, UsageError, explain
from sage_code.files import dot_sage, provenance
from sage_code.files.atomic import sweep
from sage_code.files.locks import locked
from sage_code.files.private import close, close_home
from sage_code.index import registry
from sage_code.index.allocator import collect_rarely, return_freed_memory
from sage_code.index.diff import (
    ChangedFile,
    Changes,
    ContentReader,
    changes_by_content,
    changes_by_stamp,
    is_import_without_files,
    keep_stamps,
    model_changed,
    new_stamps,
)
from sage_code.index.manifest import FileState, Manifest, entry_of, file_key, is_of_this_chunker
from sage_code.index.outcome import IndexStats, Outcome
from sage_code.index.reusing import old_manifest, seems_damaged, sound_base, usable_base
from sage_code.paths import anybody_listens, codebase_dir, generations_dir, index_lock
from sage_code.progress import Progress, Silent
from sage_code.settings.loading import Settings
from sage_code.values import SkippedFile, SourceFile

if TYPE_CHECKING:
    from sage_code.chunk.files import ChunkedFile
    from sage_code.compiled.generation import GenerationWriter
    from sage_code.compiled.published import Generation
    from sage_code.index.shared.fetching import SharedIndex
    from sage_code.index.vectors import VectorSource
    from sage_code.store.lance import Store
    from sage_code.store.rows import FileRows

# Chunks that are embedded and stored together: they bound the memory of a run, and what a killed run loses.
_BATCH_CHUNKS = 2048


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

    `full` reads and cuts every file again; `recompile` makes the compiled files again from the store, and the rows that
    the store lacks; `reembed` uses no stored vector. `anywhere` allows a home or system folder as the root.
    """
    if not os.path.isdir(root):
        raise UsageError(f"{root} is not a folder", "give the path of a project's folder")
    if not _is_unicode(root):
        raise UsageError(f"the path {root} is not valid Unicode", "rename the folder: JSON cannot hold its name")
    if not anywhere and not provenance.is_known(root) and (why := why_unusual(root)):
        raise UsageError(f"{root} is {why}; nothing was indexed", f"if you mean it: `sage index --yes {root}`")
    run = _IndexRun(root, settings, full, recompile, reembed, name, progress or Silent())
    with _published(root), explained(f"the index of {root}"):
        close_home()
        dot_sage.prepare(root, "codebase", os.path.join("codebase", "generations"))
        with locked(index_lock(root), on_wait=run.say_waiting):
            sweep(codebase_dir(root))
            sweep(generations_dir(root))
            stats = run.run()
    if anybody_listens():
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        publishing.index_finished(root, asdict(stats))
    return stats


@contextlib.contextmanager
def _published(root: str) -> Iterator[None]:
    """Publish that a run begins, and that it has failed if it does."""
    if not anybody_listens():
        yield
        return
    from sage_code.events import publishing  # lazy: most of the time there is no listener

    publishing.index_started(root)
    try:
        yield
    except BaseException as error:  # an interrupted run has failed too
        publishing.index_failed(root, error)
        raise


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an OSError into a `StoreError` that says what to do."""
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


class _IndexRun:
    """One run over one project; `run` is the pipeline, the other methods are its steps."""

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
        self.reader = ContentReader(root, discover_rules(settings))
        self.outcome = Outcome(_file_publisher(root))
        self.base: Generation | None = None  # the new generation carries over its segments
        self.shared: SharedIndex | None = None  # has rows that the store may lack
        self.without_files = False  # an imported index whose files are not in the folder

    def run(self) -> IndexStats:
        """The pipeline, one stage a line."""
        self._fetch_shared()
        old = old_manifest(self.root, self.progress)
        listing = self._discover()
        changes = self._diff(listing, old)
        base = usable_base(self.root, old, self.settings, self.progress)
        base = None if self.recompile else base
        if stats := self._nothing_to_do(old, base, changes):
            return stats
        with self._opened(old, base, changes) as (store, writer, vectors):
            unknown = self._compile_stored(store, writer, old, changes)
            self.progress.stage("indexing", len(unknown))
            for files in self._parse_and_chunk(unknown):
                rows = vectors.rows(files)  # embeds
                store.add(rows)
                self._compile(writer, rows, files)
            secrets = self.outcome.new_secrets(old, changes)
            self._rewrite_crowded(store, writer, vectors, secrets)
            self.progress.stage("publishing")
            counts = writer.publish()
            manifest = self._save_manifest(old, writer, vectors)
        self.outcome.remove(changes.removed)
        self._clean_up(store, secrets)
        return self.outcome.stats(self.root, manifest, changes, counts, vectors)

    def _fetch_shared(self) -> None:
        """Take the index of this commit from the shared index, if the project has none and one is published."""
        if self.settings.shared_index:
            from sage_code.index.shared.fetching import shared_of  # lazy: most users have none

            self.shared = shared_of(self.root, self.settings, self.progress)
            if self.shared and not self.recompile and not provenance.is_known(self.root):
                self.shared.install(self.name)

    def say_waiting(self) -> None:
        self.progress.note(f"another process is indexing {self.root}; waiting for it")

    # -- what has changed ---------------------------------------------------------------------------------------

    def _discover(self) -> list[SourceFile | SkippedFile]:
        self.progress.stage("looking for changes")
        self.stamps = new_stamps(self.root)
        return list(list_files(self.root, self.reader.rules, stamps=self.stamps))

    def _diff(self, listing: list[SourceFile | SkippedFile], old: Manifest | None) -> Changes:
        """What has changed; an imported index without its files can be compiled again, but not made again."""
        changes = changes_by_stamp(listing, old)
        if old is not None and is_import_without_files(old, changes):
            if self.full or self.reembed or model_changed(old, self.settings) or not is_of_this_chunker(old):
                raise self._no_files()
            self.without_files = True
        if self.full:
            changes = changes_by_stamp(listing, None)
        else:
            changes = changes_by_content(self.reader, changes, old, self.outcome.started_ns)
        self.outcome.carry_over(changes)
        return changes

    def _no_files(self) -> UsageError:
        return UsageError(
            f"{self.root} holds an imported index and none of its files",
            "get the project's files first, or import an archive again; nothing was changed",
        )

    def _nothing_to_do(self, old: Manifest | None, base: Generation | None, changes: Changes) -> IndexStats | None:
        """The statistics of a run that finds no change and no damage; None when there is work."""
        if old is None or base is None or changes.changed or changes.removed or seems_damaged(base):
            return None
        try:
            counts = SymbolFiles(base.folder, base.files).counts()
        except (IndexCorrupt, FileNotFoundError):
            return None  # the run names the damaged file and makes it again from the store
        new = replace(old, project=self.name or old.project, files=self.outcome.files, skipped=self.outcome.skipped)
        self._register(new)
        if new != old:
            new.save(self.root)
        keep_stamps(self.stamps, self.root, new, self.settings)
        return self.outcome.stats(self.root, new, changes, counts)

    # -- bringing the index up to date ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _opened(
        self, old: Manifest | None, base: Generation | None, changes: Changes
    ) -> Iterator[tuple[Store, GenerationWriter, VectorSource]]:
        """The store, the next generation and the source of vectors; the store's lock is shared until the manifest is
        saved, because until then its new rows look unused."""
        # Heavy: NumPy, the model and Lance. Only a run that has work comes here.
        from sage_code.compiled.generation import GenerationWriter
        from sage_code.index.vectors import VectorSource
        from sage_code.store.lance import Store, store_uri, use_lock

        return_freed_memory()
        collect_rarely()
        self.progress.stage("loading the model")
        embedder = load_embedder(self.settings.code_embedding_model, "code", self.settings, self.progress.note)
        uri = store_uri(self.settings.store_uri)
        with locked(use_lock(uri), shared=True):
            store = Store(uri, embedder.name, embedder.dim)
            is_shared = old and self.shared and self.shared.covers({state.key for state in old.files.values()})
            self.base = sound_base(base, store, len(old.files) if old and not is_shared else 0, self.progress)
            dropped = {*changes.removed, *(changed.file.path for changed in changes.changed)} if self.base else set()
            with GenerationWriter(
                self.root, embedder.name, embedder.dim, self.base, dropped, keep_texts=self.without_files
            ) as writer:
                yield store, writer, VectorSource(store, embedder, trust_store=not self.reembed)

    def _bring_shared(self, store: Store, keys: Iterable[str], old: Manifest | None, changes: Changes) -> None:
        """Fetch the published rows of `keys` and of the last versions of changed files, whose texts they share."""
        if self.shared is None or self.reembed or self.without_files:
            return
        before = old.files if old else {}
        last = [before[changed.file.path].key for changed in changes.changed if changed.file.path in before]
        self.shared.bring(store, {*keys, *last})

    def _compile_stored(
        self, store: Store, writer: GenerationWriter, old: Manifest | None, changes: Changes
    ) -> list[ChangedFile]:
        """Compile what the store has from earlier runs, branches and worktrees; returns the files it does not have."""
        files = list(changes.changed)
        if self.base is None:
            files += [_as_changed(path, state) for path, state in changes.unchanged.items()]
        if self.full:
            self._bring_shared(store, (), old, changes)
        elif self.shared is not None or store.count():
            by_key = self._by_key(files)
            self._bring_shared(store, by_key, old, changes)
            self.progress.stage("reading what is known", len(by_key))
            present = store.existing(list(by_key))
            for rows in store.read([key for key in by_key if key in present]):
                found = by_key.pop(rows.key)
                writer.add(rows)
                self.outcome.index(found.file, found.content_hash, rows, stored=True)
                self.progress.advance()
            if store.damaged:
                self.progress.note(
                    f"{len(store.damaged):,} files are damaged in {store.uri}: read again from the project; "
                    "`sage admin verify` mends the store"
                )
            files = list(by_key.values())
        if files and self.without_files:
            raise self._no_files()
        return files

    def _by_key(self, files: Iterable[ChangedFile]) -> dict[str, ChangedFile]:
        """Files by the key of their content. Reads those that were not read yet; notes skipped ones."""
        keys = {}
        for changed in files:
            if not changed.content_hash and changed.source is None:
                changed = self.reader.keep(changed.file, self.reader.read(changed.file))
            if isinstance(changed.source, SkippedFile):
                self.outcome.skip(changed.file, changed.source)
            else:
                keys[file_key(changed.file.path, changed.content_hash)] = changed
        return keys

    def _parse_and_chunk(self, files: Sequence[ChangedFile]) -> Iterator[list[ChunkedFile]]:
        """Chunked files in batches of about `_BATCH_CHUNKS`; notes skipped files."""
        from sage_code.chunk.workers import chunk_files

        results = chunk_files(
            self.root,
            [changed.file for changed in files],
            self.reader.rules,
            sources={changed.file.path: changed.source for changed in files if isinstance(changed.source, SourceText)},
            workers=self.settings.index_workers,
            budget_s=self.settings.parse_timeout_s,
        )
        batch: list[ChunkedFile] = []
        chunks = 0
        for changed, result in zip(files, results, strict=True):
            if isinstance(result, SkippedFile):
                self.outcome.skip(changed.file, result)
            elif result.chunks:
                batch.append(result)
                chunks += len(result.chunks)
            if chunks >= _BATCH_CHUNKS:
                yield batch
                batch, chunks = [], 0
            self.progress.advance()
        if batch:
            yield batch

    def _compile(self, writer: GenerationWriter, rows: Sequence[FileRows], files: Sequence[ChunkedFile]) -> None:
        for file, chunked in zip(rows, files, strict=True):
            writer.add(file, chunked.words)
            self.outcome.index(chunked.file, chunked.content_hash, file)

    def _rewrite_crowded(
        self, store: Store, writer: GenerationWriter, vectors: VectorSource, secrets: Collection[str]
    ) -> None:
        """Write small segments again as one, and segments that hold secrets; what the store lacks comes from files."""
        keys = writer.crowded(secrets)
        if not keys:
            return
        if self.shared is not None:
            self.shared.bring(store, keys, look=False)
        if (len(store.existing(keys)) < len(keys) and not secrets) or self.without_files:
            writer.keep_crowded()
            return
        missing = set(keys)
        for rows in store.read(keys):
            writer.add(rows, symbols=False)
            missing.discard(rows.key)
        files = [_as_changed(path, state) for path, state in self.outcome.files.items() if state.key in missing]
        for batch in self._parse_and_chunk(files):
            for rows, chunked in zip(vectors.rows(batch), batch, strict=True):
                writer.add(rows, chunked.words, symbols=False)

    def _clean_up(self, store: Store, secrets: dict[str, str]) -> None:
        """Take secrets out of the store, compact it when it is crowded, close its files to other users."""
        from sage_code.index.auto_compaction import compact_if_crowded, drop_secrets

        for problem in (drop_secrets(store, secrets.values()), compact_if_crowded(store)):
            if problem:
                self.progress.note(problem)
        if not self.settings.store_uri:
            close(store.uri)  # Lance makes its files by the umask

    # -- what is remembered -----------------------------------------------------------------------------------------

    def _save_manifest(self, old: Manifest | None, writer: GenerationWriter, vectors: VectorSource) -> Manifest:
        """Register the project and replace its manifest; the run is complete."""
        new = Manifest(
            project=self.name or (old.project if old else os.path.basename(self.root) or self.root),
            model_setting=self.settings.code_embedding_model,
            model=vectors.model,
            dim=vectors.dim,
            store_uri=self.settings.store_uri,
            generation=writer.name,
            indexed_at=datetime.now(UTC).isoformat(timespec="seconds"),
            files=self.outcome.files,
            skipped=self.outcome.skipped,
            imported=self.without_files,
        )
        self._register(new)
        new.save(self.root)
        keep_stamps(self.stamps, self.root, new, self.settings)
        provenance.forget(self.root, [*writer.removed, old.generation if old else ""])
        return new

    def _register(self, manifest: Manifest) -> None:
        """List the project before its manifest is saved: rows of projects that are not listed may be deleted."""
        entry = entry_of(self.root, manifest)
        if entry not in registry.projects():
            registry.record(entry)


def _file_publisher(root: str) -> Callable[[str, str, str], None] | None:
    """What publishes the files of a run; None if none listens to them, which is asked once."""
    if not anybody_listens():
        return None
    from sage_code.events import publishing  # lazy: most of the time there is no listener

    return publishing.file_publisher(root)


def _as_changed(path: str, state: FileState) -> ChangedFile:
    """An unchanged file that is to be compiled again."""
    return ChangedFile(SourceFile(path, state.size, state.mtime_ns, state.ctime_ns), state.content_hash)
