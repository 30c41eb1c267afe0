"""The registry: the projects this user has indexed, in `projects.json` in Sage's home, one entry a root.

`sage projects`, the compaction of the store and the search over all projects use it. Each project's manifest is the
truth; a lost registry is filled again as projects are indexed.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass

import orjson

from sage_code.errors import IndexCorrupt
from sage_code.files import summed
from sage_code.files.atomic import PRIVATE_FILE, remove, sweep, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.paths import manifest_path, registry_path

# History of the format: 1: first version (in `index_meta.json` until it had a name of its own).
FORMAT = 1
# A project takes about 300 bytes: fifty thousand of them.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One indexed project."""

    root: str
    name: str
    model: str
    dim: int
    store_uri: str
    files: int
    chunks: int
    indexed_at: str


def _path() -> str:
    return registry_path()


def _old_path() -> str:
    """Where an older Sage kept the registry; a manifest may have the same path."""
    return os.path.join(os.path.dirname(registry_path()), "index_meta.json")


def projects() -> list[ProjectEntry]:
    """Every registered project, by root; a damaged registry counts as empty."""
    try:
        return load()
    except IndexCorrupt:
        return []


def load() -> list[ProjectEntry]:
    """Every registered project; a damaged registry is an error, for callers that delete unregistered data."""
    try:
        try:
            data = summed.loads(_read(_path()))
        except FileNotFoundError:
            data = summed.loads(_read(_old_path()))
            if isinstance(data, dict) and "projects" not in data:
                return []  # an older Sage wrote the manifest of a home folder over the registry
        return [ProjectEntry(**row) for row in sorted(data["projects"], key=lambda row: row["root"])]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexCorrupt(
            f"the list of projects, {_path()}, cannot be read: {error}",
            "run `sage index` in each project: the list is made again, and nothing is embedded again",
        ) from error


def record(entry: ProjectEntry) -> None:
    """Add or replace one project."""
    with _changing():
        sweep(os.path.dirname(_path()))
        _save([*(known for known in _salvaged() if known.root != entry.root), entry])


def _salvaged() -> list[ProjectEntry]:
    """Every registered project; of a damaged registry, the readable entries whose manifests exist."""
    try:
        return load()
    except IndexCorrupt:
        pass
    try:
        rows = orjson.loads(_read(_path()))["projects"]
        return [ProjectEntry(**row) for row in rows if os.path.isfile(manifest_path(row["root"]))]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def forget(root: str) -> bool:
    """Remove one project; False when it was not there."""
    with _changing():
        known = _salvaged()
        kept = [entry for entry in known if entry.root != root]
        if len(kept) < len(known):
            _save(kept)
        return len(kept) < len(known)


def _read(path: str) -> bytes:
    return read_regular(path, _MAX_BYTES, follow=True)


def _save(entries: list[ProjectEntry]) -> None:
    rows = [asdict(entry) for entry in entries]
    write_bytes(_path(), summed.dumps({"format": FORMAT, "projects": rows}), mode=PRIVATE_FILE)
    remove(_old_path())  # its projects are in the new file


def _changing() -> AbstractContextManager[None]:
    return locked(f"{_path()}.lock")
