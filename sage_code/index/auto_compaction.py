"""The store stays small by itself: a run that finds many small additions brings them together and drops the rest.

Every addition to LanceDB makes a version of the table that lists all its pieces, so that a store that is never
compacted grows with the square of its additions. The run that finds the store crowded compacts it, when no other
process uses the store at that moment: readers and writers hold a share of `use.lock`, compaction holds it alone and
never waits for it. A remote store is used by machines whose locks are not seen here: there, versions stay for a day and
rows for ever.

Versions of files that no project uses any more stay as long as they are few beside those in use: switching back to a
branch embeds nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sage_code.compiled.published import open_snapshot
from sage_code.errors import Busy, IndexCorrupt, SageError
from sage_code.files.locks import locked
from sage_code.index import registry
from sage_code.index.manifest import Manifest, load_manifest
from sage_code.store.lance import Store, table_name, use_lock

if TYPE_CHECKING:
    from sage_code.index.registry import ProjectEntry

# Files that no project uses and that stay all the same: for each that is in use, and at least.
_SPARE_SHARE = 2
_SPARE_FILES = 64
# How long a run waits for others to be done, to take secrets out of the store.
_SECRETS_PATIENCE_S = 10.0
# A registered project that is not there (a disk that is not mounted) keeps all rows for so long.
_ABSENT_DAYS = 30


def compact_if_crowded(store: Store) -> str:
    """Compact the store when it is crowded and no other process uses it; what went wrong, in words."""
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
    """Take files that hold secrets out of the store, with all old versions; what is left to do, in words."""
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
    """The oldest of the files that no project uses, as far as they are more than may stay."""
    try:
        listed = [entry for entry in registry.load() if table_name(entry.model, entry.dim) == store.table]
    except IndexCorrupt:
        return []  # which projects there are is not known
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
    """Keys that registered projects use: their manifests name them, and so do their compiled files, which speak for a
    project whose manifest is damaged. And the projects that have neither."""
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


def manifest_or_none(root: str) -> Manifest | None:
    """The manifest of a project, when it can be read."""
    try:
        return load_manifest(root)
    except IndexCorrupt:
        return None


def _is_recent(indexed_at: str) -> bool:
    try:
        return datetime.now(UTC) - datetime.fromisoformat(indexed_at) < timedelta(days=_ABSENT_DAYS)
    except (ValueError, TypeError):
        return False
