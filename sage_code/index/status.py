"""What is indexed, how fresh it is, what was left out and why, and what to do about it; a preview says it before a run.

Reads the manifest and looks at the files on the disk. Writes nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from sage_code.compiled.published import current
from sage_code.discover.listing import list_files
from sage_code.discover.rules import discover_rules
from sage_code.errors import IndexCorrupt
from sage_code.files.inside import relative_path
from sage_code.index.diff import Changes, ContentReader, changes_by_content, changes_by_stamp, model_changed
from sage_code.index.manifest import load_manifest, manifest_or_none, skip_states
from sage_code.languages.table import detect
from sage_code.paths import codebase_dir
from sage_code.values import SkippedFile, SourceFile

if TYPE_CHECKING:
    from sage_code.settings.loading import Settings


class Advice(NamedTuple):
    """What is wrong with an index, and what the next `sage index` does about it."""

    level: Literal["note", "warning", "error"]
    problem: str
    remedy: str  # a verb phrase whose subject is `sage index`, or the tool that indexes


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a project's index; the shape of `sage status --json`."""

    project: str
    root: str
    indexed: bool
    indexed_at: str
    model: str
    model_setting: str
    model_changed: bool  # the next run embeds everything again
    compiled: bool  # the compiled files are there and belong to the manifest
    damaged: str  # why the manifest cannot be read, if so
    files: int
    chunks: int
    languages: dict[str, int]
    changed: list[str]  # new, or with other content than was indexed
    removed: list[str]
    skipped: list[SkippedFile]
    compiled_bytes: int
    store: str

    @property
    def fresh(self) -> bool:
        """Whether the next `sage index` would find nothing to do."""
        pending = self.changed or self.removed or self.model_changed or self.damaged
        return self.indexed and self.compiled and not pending

    @property
    def advice(self) -> Advice | None:
        """The first thing to know about this index before it is used; None when all is well."""
        if self.damaged:
            return Advice("error", self.damaged, "makes it again")
        if not self.indexed:
            return Advice("warning", f"{self.root} is not indexed", f"reads its {len(self.changed):,} files")
        if not self.compiled:
            return Advice("error", "the compiled files are missing", "brings them back from the store")
        if self.model_changed:
            problem = f"it was indexed with the model {self.model}, the model is now {self.model_setting}"
            return Advice("warning", problem, "embeds everything again")
        if not self.fresh:
            problem = f"{len(self.changed):,} files changed, {len(self.removed):,} removed since"
            return Advice("note", problem, "reads them, and so does the next search if they are few")
        return None


@dataclass(frozen=True, slots=True)
class Preview:
    """What `sage index` would do; the shape of `sage index --dry-run --json`."""

    root: str
    to_index: list[SourceFile]
    unchanged: int
    removed: list[str]
    skipped: list[SkippedFile]
    languages: dict[str, int]


def status(root: str, settings: Settings) -> Status:
    """The state of a project's index."""
    damaged = ""
    try:
        manifest = load_manifest(root)
    except IndexCorrupt as error:
        manifest, damaged = None, error.message
    rules = discover_rules(settings)
    changes = changes_by_stamp(list_files(root, rules), manifest)
    changes = changes_by_content(ContentReader(root, rules), changes, manifest, time.time_ns())
    generation = current(root)
    return Status(
        project=manifest.project if manifest else os.path.basename(root),
        root=root,
        indexed=manifest is not None,
        indexed_at=manifest.indexed_at if manifest else "",
        model=manifest.model if manifest else "",
        model_setting=settings.code_embedding_model,
        model_changed=manifest is not None and model_changed(manifest, settings),
        compiled=generation is not None and manifest is not None and generation.name == manifest.generation,
        damaged=damaged,
        files=len(manifest.files) if manifest else 0,
        chunks=sum(state.chunks for state in manifest.files.values()) if manifest else 0,
        languages=_count(state.language for state in manifest.files.values()) if manifest else {},
        changed=sorted(changed.file.path for changed in changes.changed),
        removed=sorted(changes.removed),
        skipped=_skipped(changes),
        compiled_bytes=folder_bytes(codebase_dir(root)),
        store=settings.store_uri or "local",
    )


def preview(root: str, settings: Settings) -> Preview:
    """What an index run would read and what it would skip."""
    rules = discover_rules(settings)
    manifest = manifest_or_none(root)
    changes = changes_by_stamp(list_files(root, rules, explain_ignored=True), manifest)
    changes = changes_by_content(ContentReader(root, rules), changes, manifest, time.time_ns())
    changed = [changed.file for changed in changes.changed]
    languages = _count(language.name if (language := detect(file.path)) else "text" for file in changed)
    files = sorted(changed, key=lambda file: file.path)
    return Preview(root, files, len(changes.unchanged), sorted(changes.removed), _skipped(changes), languages)


def is_listed(root: str, settings: Settings, path: str) -> bool:
    """Whether the file at `path` is in the index or would be found by the next run."""
    inside = relative_path(root, path)
    known = load_manifest(root)
    if known is not None and inside in known.files:
        return True
    return any(file.path == inside for file in list_files(root, discover_rules(settings)))


def _skipped(changes: Changes) -> list[SkippedFile]:
    return sorted([*changes.skipped_unread, *skip_states(changes.skipped)], key=lambda skip: skip.path)


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def folder_bytes(folder: str) -> int:
    """The size of the files below `folder`."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # a running indexer replaces files
                total += os.lstat(os.path.join(parent, name)).st_size
    return total
