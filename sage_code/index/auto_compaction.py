"""What a run does by itself at its end: compacts a crowded store and deletes old rows and secrets.

`upkeep.py` holds what the user asks for. Every addition to a Lance table makes a version of it that lists all its
pieces, so a store that is never compacted grows with the square of its additions. Readers and writers share `use.lock`;
compaction takes it alone and never waits for it. Other machines may use a remote store without our locks: there,
versions stay for a day and rows are never deleted.

Some versions of files that no project uses stay, so that switching back to a branch embeds nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sage_code.compiled.published import open_snapshot
from sage_code.errors import Busy, IndexCorrupt, SageError
from sage_code.files.locks import locked
from sage_code.index import registry
from sage_code.index.manifest import manifest_or_none
from sage_code.store.lance import Store, table_name, use_lock

if TYPE_CHECKING:
    from sage_code.index.registry import ProjectEntry

# How many unused files stay: for each file in use, and at least.
_SPARE_SHARE = 2
_SPARE_FILES = 64
# How long a run waits for other processes before it gives up deleting secrets from the store.
_SECRETS_PATIENCE_S = 10.0
# While a registered project is absent (a disk that is not mounted), no row is deleted for so long.
_ABSENT_DAYS = 30


def compact_if_crowded(store: Store) -> str:
    """Compact the store when it is crowded and no other process uses it; returns what went wrong."""
    if not store.is_crowded():
        return ""
    try:
        with locked(use_lock(store.uri), timeout_s=0):
            if not store.is_remote and (unused := _unused(store)):
                store.delete(unused)
                store.sweep()
            store.compact()
    except Busy:
        return ""  # one of the next runs finds the store free
    except (SageError, OSError) as error:
        return f"the store was not compacted: {error}"
    return ""


def drop_secrets(store: Store, keys: Collection[str]) -> str:
    """Take files that hold secrets out of the store, with all old versions; returns what went wrong."""
    if not keys:
        return ""
    try:
        with locked(use_lock(store.uri), timeout_s=_SECRETS_PATIENCE_S):
            store.delete(sorted(set(keys) - keys_in_use(store.table)[0]))
            store.sweep()
            store.compact(deleted=True)
    except (SageError, OSError) as error:
        return f"files with secrets are still in the store: {error}; `sage admin compact` removes them"
    return ""


def _unused(store: Store) -> list[str]:
    """The files to delete: unused by every project, oldest first, without those that may stay."""
    try:
        listed = [entry for entry in registry.load() if table_name(entry.model, entry.dim) == store.table]
    except IndexCorrupt:
        return []  # without the registry every file may be in use
    spare = max(_SPARE_FILES, _SPARE_SHARE * sum(entry.files for entry in listed))
    if store.count_files() <= spare:
        return []
    used, absent = keys_in_use(store.table)
    if any(_is_recent(entry.indexed_at) for entry in absent):
        return []
    unused = [key for key in store.keys_by_age() if key not in used]
    spare = max(_SPARE_FILES, _SPARE_SHARE * len(used))
    return unused[: max(0, len(unused) - spare)]


def keys_in_use(table: str) -> tuple[set[str], list[ProjectEntry]]:
    """The keys that registered projects use, by their manifests or, when a manifest is damaged, by their compiled
    files; and the projects that have neither."""
    keys: set[str] = set()
    absent: list[ProjectEntry] = []
    for entry in registry.projects():
        manifest = manifest_or_none(entry.root)
        if manifest is not None:
            if table_name(manifest.model, manifest.dim) == table:
                keys.update(state.key for state in manifest.files.values())
        elif (snapshot := open_snapshot(entry.root)) is not None:
            keys.update(key for segment in snapshot.segments for key in segment.keys)
        else:
            absent.append(entry)
    return keys, absent


def _is_recent(indexed_at: str) -> bool:
    try:
        return datetime.now(UTC) - datetime.fromisoformat(indexed_at) < timedelta(days=_ABSENT_DAYS)
    except (ValueError, TypeError):
        return False
