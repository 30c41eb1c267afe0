"""The store, in Lance tables, which LanceDB can read: which files it has, add, read, delete, compact.

Every model has two tables: embedded texts, each once, with their vectors; and versions of files, which are lists of
texts. Texts are added first, so a file in the store is complete; `write.lock` keeps two processes from adding the same.
`import lance` takes a third of a second: this module is imported only when it is needed, and never on a light path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from sage_code.errors import SageError, StoreError
from sage_code.paths import sage_home
from sage_code.store.checking import StoreCheck, WrongVectors, check, damaged_rows
from sage_code.store.columns import broken, matrix, prefixes, prefixes_of, split_hashes
from sage_code.store.layout import pack, unpack_row
from sage_code.store.remote.address import Address, address_of
from sage_code.store.remote.lease import LeaseLostError
from sage_code.store.remote.objects import unreachable
from sage_code.store.rows import FileRows, text_hash
from sage_code.store.tables import (
    SUFFIX,
    MissingTableError,
    Table,
    drop_table,
    in_list,
    is_damage,
    is_fenced,
    odd_entry,
    read_all,
    table_names,
)
from sage_code.store.writing import WriteGuard

# History of the columns, part of the table's name: 1: first version; 2: references; 3: each text once, files apart.
FORMAT = 3
_CHUNKS, _FILES = "chunks", "files"
# Keys in one IN (...) list; above it one scan of the key column is cheaper than many filters.
_MAX_IN_LIST = 512
# Files read in one query; bounds the memory.
_READ_FILES = 256
# A table with more versions is crowded: each version is a file that lists all pieces. Compacting writes the table again
# (40 ms for a small one, 0.3 s for 100,000 texts), so a large table may have more versions.
_CROWDED_VERSIONS, _MOST_VERSIONS = 16, 256
_ROWS_A_VERSION = 1_024
# How long versions stay in a remote store, which other machines may be reading.
_REMOTE_GRACE = timedelta(days=1)
# How often a writer whose lease was taken over begins again, before it says so.
_TAKEOVERS = 3


@dataclass(slots=True)
class _Seen:
    """The content of the tables when they were last read, and what this process has added since."""

    versions: tuple[int, int]
    keys: set[str]
    hashes: NDArray[np.uint64]  # sorted
    rows: NDArray[np.uint64]  # the row number of each
    own: NDArray[np.uint64]  # sorted, added since; their row numbers are unknown

    def holds(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of `hashes` are in the table."""
        # By bisection: `np.isin` would sort all that is known for each batch.
        return _is_among(self.hashes, hashes) | _is_among(self.own, hashes)

    def note(self, added: NDArray[np.uint64]) -> None:
        """Remember hashes that were added."""
        new = np.sort(added)
        self.own = np.insert(self.own, np.searchsorted(self.own, new), new)

    def rows_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The row numbers of those of `hashes` that the table had when it was read, in the order of the table."""
        starts, ends = (np.searchsorted(self.hashes, hashes, side) for side in ("left", "right"))
        found: NDArray[np.uint64] = np.sort(self.rows[starts[ends > starts]])
        return found


def _is_among(known: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `wanted` are in the sorted `known`."""
    places = np.searchsorted(known, wanted)
    found: NDArray[np.bool_] = np.append(known, np.uint64(0))[places] == wanted
    return found & (places < len(known))


def store_uri(setting: str) -> str:
    """The URI of the `store_uri` setting; an empty setting is the folder in Sage's home."""
    return setting or os.path.join(sage_home(), "codebase", "lancedb")


def table_name(model: str, dim: int) -> str:
    """The table of one model. A name that had to be changed gets a hash, so that no two models share a table."""
    slug = re.sub(r"[^a-zA-Z0-9]+", "-", model).strip("-").lower()
    if slug != model:
        slug = f"{slug[:40]}-{xxhash.xxh3_64_hexdigest(model.encode())[:8]}"
    return f"{_CHUNKS}{FORMAT}_{slug}_{dim}"


def files_table(chunks: str) -> str:
    """The table of files that belongs to a table of chunks."""
    return _FILES + chunks.removeprefix(_CHUNKS)


def use_lock(uri: str) -> str:
    """The lock that indexers share, and that a process takes alone to delete rows."""
    return _lock_path(uri, "use")


def _lock_path(uri: str, name: str) -> str:
    if "://" in uri:
        digest = xxhash.xxh3_64_hexdigest(uri.encode())
        return os.path.join(sage_home(), "codebase", f"remote-{digest}.{name}.lock")
    return f"{os.path.abspath(uri)}.{name}.lock"


@contextlib.contextmanager
def _explained(doing: str, uri: str) -> Iterator[None]:
    """Turn any error of Lance, panics included, into a `StoreError` that says what to do."""
    try:
        yield
    except SageError:
        raise
    except BaseException as error:
        if not is_damage(error):
            raise
        text = str(error).strip() or type(error).__name__
        if is_fenced(error):
            raise LeaseLostError(f"another machine has taken over the right to write to {uri}") from error
        if "://" in uri:
            raise unreachable(doing, uri, text) from error
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text or "os error 28" in text:
            hint = "free some space and run `sage index` again; the last good index is untouched"
            raise StoreError(f"no space left on the disk of {uri} while {doing}", hint) from error
        hint = "`sage admin verify` checks the store and rebuilds what is damaged"
        raise StoreError(f"{doing} failed in {uri}: {text.splitlines()[0][:300]}", hint) from error


def _chunk_schema(dim: int) -> pa.Schema:
    """An embedded text with its vector, and the chunk in which it was first seen."""
    return pa.schema(
        [
            pa.field("text_hash", pa.string()),
            pa.field("path", pa.string()),
            pa.field("language", pa.string()),
            pa.field("kind", pa.string()),
            pa.field("qualname", pa.string()),
            pa.field("text", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), dim)),
        ]
    )


_FILE_SCHEMA = pa.schema(
    [
        pa.field("file_key", pa.string()),
        pa.field("path", pa.string()),
        pa.field("language", pa.string()),
        pa.field("texts", pa.binary()),  # the hashes of its chunks' texts, 16 bytes each
        pa.field("layout", pa.binary()),  # see `sage_code.store.layout`
    ]
)


class Store:
    """The two tables of one model in one database."""

    def __init__(self, uri: str, model: str, dim: int) -> None:
        self.uri = uri
        self.dim = dim
        self.table = table_name(model, dim)
        self._seen: _Seen | None = None
        self.damaged: set[str] = set()  # keys of files that were found damaged
        with _explained("opening the store", uri):
            self._place = address_of(uri)
            self._guard = WriteGuard(self._place, _lock_path(uri, "write"), self._fence)
            if not self._place.is_remote:
                os.makedirs(uri, exist_ok=True)
                for name in (self.table, files_table(self.table)):
                    if odd := odd_entry(os.path.join(uri, name + SUFFIX)):
                        raise OSError(f"{odd} is not a regular file")
            self._chunks = self._open(self.table, _chunk_schema(dim))
            self._files = self._open(files_table(self.table), _FILE_SCHEMA)
            found = self._chunks.schema.field("vector").type.list_size
        if found != dim:
            raise StoreError(f"table {self.table} in {uri} holds {found}-d vectors, the model gives {dim}-d")

    def _open(self, name: str, schema: pa.Schema) -> Table:
        with contextlib.suppress(MissingTableError):
            return Table(self._place, name, self._guard.confirm)
        with self._writing():
            with contextlib.suppress(MissingTableError):  # another process has created it while we waited
                return Table(self._place, name, self._guard.confirm)
            return Table.created(self._place, name, schema, self._guard.confirm)

    def _writing(self) -> contextlib.AbstractContextManager[None]:
        """Keeps all others from writing."""
        return self._guard.held()

    def _fence(self) -> None:
        """Stop commits of a writer whose lease we have taken over."""
        for name in table_names(self._place):
            if name.startswith((_CHUNKS, _FILES)):
                Table(self._place, name).fence()

    @property
    def is_remote(self) -> bool:
        """Whether other machines may use the store, without our locks."""
        return "://" in self.uri

    def count(self) -> int:
        """The number of texts."""
        with _explained("counting rows", self.uri):
            return self._chunks.count()

    def count_files(self) -> int:
        """The number of versions of files."""
        with _explained("counting files", self.uri):
            return self._files.count()

    def existing(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that the store has."""
        if not keys:
            return set()
        if len(keys) > _MAX_IN_LIST:
            return self.keys().intersection(keys)
        with _explained("looking files up", self.uri):
            return set(self._files.read(["file_key"], in_list("file_key", keys))["file_key"].to_pylist())

    def keys(self) -> set[str]:
        """The keys of all files: about 100 bytes each."""
        return set(self.keys_by_age())

    def keys_by_age(self) -> list[str]:
        """The same in the order in which they were added."""
        with _explained("looking files up", self.uri):
            batches = self._files.scan(["file_key"])
            return [key for batch in batches for key in batch.column("file_key").to_pylist()]

    def add(self, files: Sequence[FileRows]) -> int:
        """Add the texts and files that the store lacks, texts first; returns how many texts were added.

        When another machine has taken the lease over in between, it is done again: what is there by then stays.
        """
        for _ in range(_TAKEOVERS):
            with contextlib.suppress(LeaseLostError):
                return self._add(files)
            self._seen = None
        return self._add(files)

    def _add(self, files: Sequence[FileRows]) -> int:
        """One try of an addition."""
        with _explained("adding rows", self.uri), self._writing():
            seen = self._look()
            texts = self._new_texts(files, seen)
            if texts.num_rows:
                self._chunks.append(texts)
                seen.note(prefixes(texts["text_hash"]))
            fresh = {file.key: file for file in files if file.key not in seen.keys and file.chunks}
            if fresh:
                self._files.append(_file_table(list(fresh.values())))
                seen.keys.update(fresh)
            seen.versions = self._versions()
            return int(texts.num_rows)

    def look_again(self) -> None:
        """Let `read` and `vectors` find what was added through this object too; it takes the tables as they are now."""
        self._seen = None

    def _versions(self) -> tuple[int, int]:
        return self._chunks.version(), self._files.version()

    def _look(self) -> _Seen:
        """The content of the tables; read again when another process has written since."""
        versions = self._versions()
        if self._seen is None or self._seen.versions != versions:
            found, rows = self._hashes()
            order = np.argsort(found, kind="stable")
            self._seen = _Seen(versions, self.keys(), found[order], rows[order], np.empty(0, np.uint64))
        return self._seen

    def _hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The prefix of every text's hash, and its row number."""
        batches = list(self._chunks.scan(["text_hash"], numbers=True))
        found = [np.empty(0, np.uint64), *(prefixes(batch.column("text_hash")) for batch in batches)]
        rows = [np.empty(0, np.uint64), *(batch.column("_rowid").to_numpy() for batch in batches)]
        return np.concatenate(found), np.concatenate(rows)

    def _new_texts(self, files: Sequence[FileRows], seen: _Seen) -> pa.Table:
        """The texts of `files` that the table lacks, each once."""
        known = seen.holds(prefixes([digest for file in files for digest in file.text_hashes])).tolist()
        columns: dict[str, Any] = {name: [] for name in _chunk_schema(self.dim).names}
        taken: set[str] = set()
        number = 0
        for file in files:
            chunks = zip(file.chunks, file.texts, file.text_hashes, file.vectors, strict=True)
            for chunk, text, digest, vector in chunks:
                if not known[number] and digest not in taken:
                    taken.add(digest)
                    row = (digest, file.path, file.language, chunk.kind, chunk.qualname, text, vector)
                    for column, value in zip(columns.values(), row, strict=True):
                        column.append(value)
                number += 1
        flat = np.concatenate([np.empty(0, np.float32), *columns["vector"]])
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(flat.astype(np.float32, copy=False)), self.dim)
        return pa.table(columns, schema=_chunk_schema(self.dim))

    def read(self, keys: Sequence[str]) -> Iterator[FileRows]:
        """The files `keys`, one at a time, without those that are missing, damaged or lack a text."""
        for start in range(0, len(keys), _READ_FILES):
            part = keys[start : start + _READ_FILES]
            with _explained("reading rows", self.uri):
                rows = self._files.read(_FILE_SCHEMA.names, in_list("file_key", part)).to_pylist()
                hashes = [split_hashes(row["texts"]) for row in rows]
                texts = self._texts({digest for part in hashes for digest in part}, ["text", "vector"])
            done: set[str] = set()  # a key may be stored twice
            for row, digests in zip(rows, hashes, strict=True):
                if row["file_key"] in done or not texts.keys() >= set(digests):
                    continue
                done.add(row["file_key"])
                parts = tuple(texts[digest]["text"] for digest in digests)
                try:
                    if any(text_hash(text) != digest for text, digest in zip(parts, digests, strict=True)):
                        raise ValueError("a text of the store is damaged")
                    chunks, references = unpack_row(row, parts)
                    vectors = np.stack([texts[digest]["vector"] for digest in digests])
                    if broken(vectors).any():
                        raise ValueError("a vector of the store is damaged")
                except ValueError:
                    self.damaged.add(row["file_key"])
                    continue
                yield FileRows(
                    row["file_key"], row["path"], row["language"], chunks, parts, digests, vectors, references
                )

    def _texts(self, hashes: Iterable[str], columns: list[str]) -> dict[str, dict[str, Any]]:
        """The wanted columns of those of these texts that the store has."""
        wanted = sorted(hashes)
        rows = self._look().rows_of(prefixes(wanted))
        found: dict[str, dict[str, Any]] = {}
        for table in self._chunks.take(rows.tolist(), ["text_hash", *columns]):
            values = {name: table[name].to_pylist() for name in columns if name != "vector"}
            values["vector"] = list(matrix(table["vector"], self.dim))
            for row, digest in enumerate(table["text_hash"].to_pylist()):
                found[digest] = {name: values[name][row] for name in columns}
        return found

    def vectors(self, hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of these text hashes, without broken ones, as of the last reading of the tables.

        Vectors that this `Store` has added since are not found: its caller had them.
        """
        with _explained("looking vectors up", self.uri):
            found = {digest: row["vector"] for digest, row in self._texts(hashes, ["vector"]).items()}
        good = ~broken(np.stack(list(found.values()))) if found else ()
        return {digest: vector for (digest, vector), is_good in zip(found.items(), good, strict=True) if is_good}

    def delete(self, keys: Sequence[str], hashes: Collection[str] = ()) -> None:
        """Remove the files `keys`, and the texts `hashes`; the caller holds `use_lock` alone."""
        with _explained("deleting rows", self.uri), self._writing():
            for start in range(0, len(keys), _MAX_IN_LIST):
                self._files.delete(in_list("file_key", keys[start : start + _MAX_IN_LIST]))
            found, rows = self._hashes()
            self._chunks.delete_rows(rows[np.isin(found, prefixes(list(hashes)))].tolist())

    def sweep(self) -> int:
        """Remove the texts that no file uses; the caller holds `use_lock` alone. Returns how many."""
        with _explained("deleting rows", self.uri), self._writing():
            found, rows = self._hashes()
            used = [prefixes_of(batch.column("texts")) for batch in self._files.scan(["texts"])]
            orphans = rows[~np.isin(found, np.concatenate([np.empty(0, np.uint64), *used]))]
            self._chunks.delete_rows(orphans.tolist())
            return len(orphans)

    def texts_of(self, keys: Sequence[str]) -> set[str]:
        """The hashes of the texts of the files `keys`."""
        found: set[str] = set()
        with _explained("looking files up", self.uri):
            for start in range(0, len(keys), _MAX_IN_LIST):
                wanted = in_list("file_key", keys[start : start + _MAX_IN_LIST])
                for texts in self._files.read(["texts"], wanted)["texts"].to_pylist():
                    found.update(split_hashes(texts))
        return found

    def check(self, is_wrong: WrongVectors | None = None) -> StoreCheck:
        """Check every row. `is_wrong` may check vectors further than for finite numbers."""
        with _explained("checking rows", self.uri):
            return check(self._chunks, self._files, self.dim, is_wrong)

    def delete_damaged(self, is_wrong: WrongVectors | None = None) -> None:
        """Remove the damaged rows; the caller holds `use_lock` alone."""
        with _explained("deleting rows", self.uri), self._writing():
            chunks, files = damaged_rows(self._chunks, self._files, self.dim, is_wrong)
            self._chunks.delete_rows(chunks)
            self._files.delete_rows(files)
        self._seen = None

    def is_crowded(self) -> bool:
        """Whether a table has so many versions that compacting is worth its time."""
        return self._pieces() > min(max(_CROWDED_VERSIONS, self.count() // _ROWS_A_VERSION), _MOST_VERSIONS)

    def _pieces(self) -> int:
        with _explained("looking at the tables", self.uri):
            return max(table.pieces() for table in self._tables())

    def _tables(self) -> tuple[Table, Table]:
        return self._chunks, self._files

    def compact(self, *, deleted: bool = False) -> None:
        """Merge small fragments and drop old versions; the caller holds `use_lock` alone. `deleted` removes every byte
        of deleted rows. When another machine changes a remote store meanwhile, Lance gives up without harm.
        """
        grace = _REMOTE_GRACE if self.is_remote else timedelta(0)
        with _explained("compacting", self.uri), self._writing():
            for table in self._tables():
                table.compact(grace, deleted=deleted)
        self._seen = None  # rows have new numbers

    def tables(self) -> list[str]:
        """The tables of texts of all models, older formats included."""
        with _explained("listing tables", self.uri):
            return [name for name in table_names(self._place) if name.startswith(_CHUNKS)]

    def drop_table(self, name: str) -> None:
        """Remove another model's tables."""
        with _explained("dropping a table", self.uri), self._writing():
            for table in {name, files_table(name)}.intersection(table_names(self._place)):
                drop_table(self._place, table)


def _has_our_columns(schema: pa.Schema) -> bool:
    if schema.names == _FILE_SCHEMA.names:
        return list(schema.types) == list(_FILE_SCHEMA.types)
    vector = schema.field("vector").type if "vector" in schema.names else None
    return isinstance(vector, pa.FixedSizeListType) and list(schema) == list(_chunk_schema(vector.list_size))


def damaged_tables(uri: str) -> list[str]:
    """Local tables that Lance cannot open or read."""
    place = address_of(uri)
    if place.is_remote:
        return []
    names = [name for name in table_names(place) if name.startswith((_CHUNKS, _FILES))]
    return [name for name in names if odd_entry(os.path.join(uri, name + SUFFIX)) or _is_damaged(place, name)]


def _is_damaged(place: Address, name: str) -> bool:
    """Whether a table cannot be read to its end, or has other columns than ours."""
    try:
        is_of_this_format = name.startswith((f"{_CHUNKS}{FORMAT}_", f"{_FILES}{FORMAT}_"))
        if is_of_this_format and not _has_our_columns(Table(place, name).schema):
            return True
        read_all(place, name)
    except BaseException as error:
        if not is_damage(error):
            raise
        return True
    return False


def _file_table(files: Sequence[FileRows]) -> pa.Table:
    columns = {
        "file_key": [file.key for file in files],
        "path": [file.path for file in files],
        "language": [file.language for file in files],
        "texts": [bytes.fromhex("".join(file.text_hashes)) for file in files],
        "layout": [pack(file) for file in files],
    }
    return pa.table(columns, schema=_FILE_SCHEMA)
