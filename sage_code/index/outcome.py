"""What an index run does to each file, and its figures: the content of the next manifest and of `sage index --json`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.index.diff import Changes, trusted_mtime
from sage_code.index.manifest import FileState, Manifest, SkipState
from sage_code.values import SkippedFile, SkipReason, SourceFile

if TYPE_CHECKING:
    from sage_code.index.vectors import VectorSource
    from sage_code.store.rows import FileRows


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


class Outcome:
    """The files of a run, indexed and skipped; filled as the run goes on.

    `on_file` is called with each file that is new, changed or read and left out: its path, what was done, and why.
    """

    def __init__(self, on_file: Callable[[str, str, str], None] | None = None) -> None:
        self.started, self.started_ns = time.monotonic(), time.time_ns()
        self.files: dict[str, FileState] = {}
        self.skipped: dict[str, SkipState] = {}
        self.on_file = on_file
        self.indexed = 0
        self.reused = 0  # chunks of indexed files that came from the store with their vectors

    def carry_over(self, changes: Changes) -> None:
        """Start with the files that are as they were."""
        self.files, self.skipped = dict(changes.unchanged), dict(changes.skipped)

    def index(self, file: SourceFile, content_hash: str, rows: FileRows, *, stored: bool = False) -> None:
        """Note a file that was compiled; `stored` when its rows came from the store."""
        known = self.files.get(file.path)
        mtime_ns = known.mtime_ns if known else trusted_mtime(file, self.started_ns)
        if known is None:
            self.indexed += 1
            self.reused += len(rows.chunks) if stored else 0
            if self.on_file is not None:
                self.on_file(file.path, "indexed", "")
        self.files[file.path] = FileState(
            file.size, mtime_ns, content_hash, rows.key, len(rows.chunks), rows.language, file.ctime_ns
        )

    def skip(self, file: SourceFile, skipped: SkippedFile) -> None:
        """Note a file that was read and left out."""
        self.files.pop(file.path, None)
        mtime_ns = trusted_mtime(file, self.started_ns)
        self.skipped[file.path] = SkipState(file.size, mtime_ns, skipped.reason.value, skipped.detail, file.ctime_ns)
        if self.on_file is not None:
            self.on_file(file.path, "skipped", skipped.reason.value)

    def remove(self, paths: Iterable[str]) -> None:
        """Note files that are no longer there, or no longer belong to the project."""
        if self.on_file is not None:
            for path in paths:
                self.on_file(path, "removed", "")

    def new_secrets(self, old: Manifest | None, changes: Changes) -> dict[str, str]:
        """Paths and keys of files that were indexed before and are now skipped for their secrets."""
        now = {skip.path for skip in changes.skipped_unread if skip.reason is SkipReason.SECRET}
        now |= {path for path, skip in self.skipped.items() if skip.reason == SkipReason.SECRET}
        return {path: state.key for path, state in old.files.items() if path in now} if old else {}

    def stats(
        self,
        root: str,
        manifest: Manifest,
        changes: Changes,
        counts: dict[str, int],
        vectors: VectorSource | None = None,
    ) -> IndexStats:
        """The figures of the run; `counts` are the symbols of the generation."""
        return IndexStats(
            project=manifest.project,
            root=root,
            files_indexed=self.indexed,
            files_unchanged=len(self.files) - self.indexed,
            files_removed=len(changes.removed),
            files_skipped=len(changes.skipped_unread) + len(self.skipped),
            chunks_created=vectors.created if vectors else 0,
            chunks_reused=self.reused + (vectors.reused if vectors else 0),
            functions_compiled=counts["functions"],
            classes_compiled=counts["classes"],
            constants_compiled=counts["constants"],
            languages=tuple(sorted({state.language for state in self.files.values()})),
            model=manifest.model,
            duration_ms=round((time.monotonic() - self.started) * 1000),
        )
