"""The manifest, `index_meta.json`: what a project's index was made from, file by file.

It is replaced atomically, and only after the rows are in the store and the compiled files are published, so it is true
at every moment. When it is lost, the next run reads the files again but embeds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeVar, get_type_hints

import xxhash

from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.errors import FormatTooNew, IndexCorrupt, SageError
from sage_code.files import provenance, summed
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import NotRegularError, read_regular
from sage_code.index import registry
from sage_code.paths import manifest_path
from sage_code.values import SkippedFile, SkipReason

# History of the format: 1: first version; later also whether the index was imported; 2: `ctime_ns`. Files of format 1
# are read once more, which also finds files that hold secrets.
FORMAT = 2
# A file takes about 150 bytes, so this is more than a million files. A larger manifest is not ours.
_MAX_BYTES = 256 << 20


class FileState(NamedTuple):
    """One indexed file; `mtime_ns` is negative (or 0) when the time stamp cannot be trusted yet."""

    size: int
    mtime_ns: int
    content_hash: str
    key: str
    chunks: int
    language: str
    ctime_ns: int = 0


class SkipState(NamedTuple):
    """One file that was read and skipped: it is not read again until it changes."""

    size: int
    mtime_ns: int
    reason: str
    detail: str
    ctime_ns: int = 0


_State = TypeVar("_State", FileState, SkipState)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of an index."""

    project: str
    model_setting: str  # as configured, e.g. `bundled`
    model: str  # as the embedder names itself
    dim: int
    store_uri: str
    generation: str  # of the compiled files that belong to this state
    indexed_at: str
    files: dict[str, FileState] = field(default_factory=dict)
    skipped: dict[str, SkipState] = field(default_factory=dict)
    imported: bool = False  # made from an archive: its files may be absent

    def checked(self) -> Manifest:
        """Itself; a ValueError when a reason is unknown."""
        for reason in {state.reason for state in self.skipped.values()}:
            SkipReason(reason)
        return self

    def save(self, root: str) -> None:
        """Replace the project's manifest."""
        data = {
            "format": FORMAT,
            "project": self.project,
            "root": root,
            "model_setting": self.model_setting,
            "model": self.model,
            "dim": self.dim,
            "store_uri": self.store_uri,
            "generation": self.generation,
            "indexed_at": self.indexed_at,
            "files": {path: tuple(state) for path, state in self.files.items()},
            "skipped": {path: tuple(state) for path, state in self.skipped.items()},
            **({"imported": True} if self.imported else {}),
        }
        if not provenance.is_noted(self.generation):
            provenance.note(root, self.generation)
        write_bytes(manifest_path(root), summed.dumps(data), mode=PRIVATE_FILE)


def load_manifest(root: str) -> Manifest | None:
    """The project's manifest; None when this user's Sage has written none. A damaged or too new one is an error."""
    path = manifest_path(root)
    if provenance.is_linked(root):
        return None
    try:
        data = summed.loads(read_regular(path, _MAX_BYTES))
    except FileNotFoundError:
        return None
    except NotRegularError as error:
        raise IndexCorrupt(f"{path} is no file", "move it away and run `sage index`") from error
    except (OSError, ValueError) as error:
        raise _damaged(path, str(error)) from error
    generation = data.get("generation") if isinstance(data, dict) else None
    if isinstance(generation, str):
        counts = provenance.is_noted(generation) or _is_registered(root, data)
    else:  # damaged, or of a newer Sage: an error only where this user has indexed
        counts = not _is_too_new(data) or provenance.is_known(root)
    return _from_json(path, data) if counts else None


def manifest_or_none(root: str) -> Manifest | None:
    """The project's manifest; None when there is none, or it is damaged."""
    try:
        return load_manifest(root)
    except IndexCorrupt:
        return None


def _is_too_new(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT


def entry_of(root: str, manifest: Manifest) -> registry.ProjectEntry:
    """The registry's entry for the project at `root` with this manifest."""
    return registry.ProjectEntry(
        root=root,
        name=manifest.project,
        model=manifest.model,
        dim=manifest.dim,
        store_uri=manifest.store_uri,
        files=len(manifest.files),
        chunks=sum(state.chunks for state in manifest.files.values()),
        indexed_at=manifest.indexed_at,
    )


def _is_registered(root: str, data: dict[str, Any]) -> bool:
    """Whether the registry has exactly this manifest: true for one by an older Sage, which left no provenance notes."""
    known = next((entry for entry in registry.projects() if entry.root == root), None)
    try:
        return known is not None and known == entry_of(root, _from_json(manifest_path(root), data))
    except SageError:
        return False


def _from_json(path: str, data: Any) -> Manifest:
    """The manifest from its JSON, every field checked."""
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise _damaged(path, "it holds no format number")
    if _is_too_new(data):
        raise FormatTooNew(
            f"{path} was written by a newer Sage (format {data['format']}, this one reads {FORMAT})",
            "upgrade sage-code, or delete that file to start over; nothing was changed",
        )
    try:
        return Manifest(
            project=str(data["project"]),
            model_setting=str(data["model_setting"]),
            model=str(data["model"]),
            dim=int(data["dim"]),
            store_uri=str(data["store_uri"]),
            generation=str(data["generation"]),
            indexed_at=str(data["indexed_at"]),
            files=_states(_with_times(data["files"], data["format"]), FileState),
            skipped=_states(_with_times(data["skipped"], data["format"]), SkipState),
            imported=data.get("imported") is True,
        ).checked()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, f"unexpected shape ({error})") from error


def _with_times(rows: dict[str, list[Any]], version: int) -> dict[str, list[Any]]:
    """Rows of format 1 have no `ctime_ns`: they get 0, so that every file is read once more."""
    return rows if version >= 2 else {path: [*row, 0] for path, row in rows.items()}


def _states(rows: dict[str, list[Any]], make: type[_State]) -> dict[str, _State]:
    """The states by path; a TypeError when a field has another type than it is declared with."""
    # By column, so that the loop over the files runs in C.
    columns = zip(*rows.values(), strict=True)
    for (name, kind), values in zip(get_type_hints(make).items(), columns, strict=bool(rows)):
        if set(map(type, values)) != {kind}:
            raise TypeError(f"{name} is no {kind.__name__}")
    return {path: make(*row) for path, row in rows.items()}


def _damaged(path: str, why: str) -> IndexCorrupt:
    return IndexCorrupt(
        f"{path} is damaged: {why}",
        "run `sage index`: it is made again, and nothing already embedded is embedded again",
    )


def skip_states(states: dict[str, SkipState]) -> list[SkippedFile]:
    """Skip states of a manifest as `SkippedFile`s."""
    return [SkippedFile(path, SkipReason(state.reason), state.detail) for path, state in states.items()]


def file_key(path: str, content_hash: str) -> str:
    """The key of one version of one file."""
    return xxhash.xxh3_128_hexdigest(f"{CHUNKER_VERSION}\0{path}\0{content_hash}".encode())


def is_of_this_chunker(manifest: Manifest) -> bool:
    """Whether the files were cut by this version of the chunker; otherwise every one is cut again."""
    return all(file_key(path, state.content_hash) == state.key for path, state in islice(manifest.files.items(), 1))
