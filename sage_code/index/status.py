"""What is indexed, what has changed since and what was skipped and why: `sage status`, and the preview of an index run.

Reads the manifest and the project's files, writes nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.compiled.published import current
from sage_code.discover import discover_rules, list_files
from sage_code.errors import IndexCorrupt
from sage_code.index.diff import Changes, ContentReader, changes_by_content, model_changed
from sage_code.index.manifest import load_manifest, manifest_or_none, skip_states
from sage_code.languages.table import detect
from sage_code.paths import codebase_dir
from sage_code.values import SkippedFile, SourceFile

if TYPE_CHECKING:
    from sage_code.settings.loading import Settings


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
    changes = changes_by_content(ContentReader(root, rules), list_files(root, rules), manifest, time.time_ns())
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
    listing = list_files(root, rules, explain_ignored=True)
    changes = changes_by_content(ContentReader(root, rules), listing, manifest_or_none(root), time.time_ns())
    changed = [changed.file for changed in changes.changed]
    languages = _count(language.name if (language := detect(file.path)) else "text" for file in changed)
    files = sorted(changed, key=lambda file: file.path)
    return Preview(root, files, len(changes.unchanged), sorted(changes.removed), _skipped(changes), languages)


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
