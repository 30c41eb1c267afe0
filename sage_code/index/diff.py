"""What has changed since a project was indexed, seen with little: a search looks before every answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.embed.loading import stable_name
from sage_code.index import manifest
from sage_code.index.manifest import Diff, Manifest, SkipState
from sage_code.paths import codebase_dir
from sage_code.settings.table import Settings
from sage_code.values import SkippedFile, SourceFile


def discover_rules(settings: Settings) -> DiscoverRules:
    """What the settings say about which files belong to a project."""
    return DiscoverRules(
        settings.max_file_bytes, tuple(settings.exclude), settings.include_generated, settings.include_secrets
    )


def index_lock(root: str) -> str:
    """The lock of whoever changes the project's index."""
    return os.path.join(codebase_dir(root), "index.lock")


def model_changed(meta: Manifest, settings: Settings) -> bool:
    """Whether the configured model is another than the one the index was made with."""
    wanted = stable_name(settings.code_embedding_model)
    return meta.model != wanted if wanted else meta.model_setting != settings.code_embedding_model


def look_for_changes(
    root: str,
    rules: DiscoverRules,
    listing: Iterable[SourceFile | SkippedFile],
    old: Manifest | None,
    read_at_ns: int,
) -> Diff:
    """What a listing holds that the last index does not: by size and time first, and where they moved by content."""
    changes = manifest.diff(listing, old)
    if old is not None and manifest.stands_alone(old, changes):
        return replace(changes, unchanged=dict(old.files), suspects=[], removed=[])
    suspects = []
    for file in changes.suspects:
        state, skip = (old.files.get(file.path), old.skipped.get(file.path)) if old else (None, None)
        source = read_source(root, file, rules) if state or skip else None
        mtime_ns = manifest.trusted_mtime(file, read_at_ns)
        if state and isinstance(source, SourceText) and source.data_hash == state.content_hash:
            changes.unchanged[file.path] = state._replace(size=file.size, mtime_ns=mtime_ns, ctime_ns=file.ctime_ns)
        elif skip and isinstance(source, SkippedFile):
            changes.skipped[file.path] = SkipState(
                file.size, mtime_ns, source.reason.value, source.detail, file.ctime_ns
            )
        else:
            suspects.append(file)
    return replace(changes, suspects=suspects)
