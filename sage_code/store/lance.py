"""The store, in LanceDB: which files it has, add, read, delete, compact.

Every model has two tables: embedded texts, each once, with their vectors; and versions of files, which are lists of
texts. Texts are added first, so a file in the store is complete; `write.lock` keeps two processes from adding the same.
`import lancedb` takes seconds: this module is imported only when it is needed, and never on a light path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from sage_code.errors import SageError, StoreError
from sage_code.files.locks import locked
from sage_code.paths import sage_home
from sage_code.store.checking import StoreCheck, WrongVectors, check, damaged_rows
from sage_code.store.columns import broken, matrix, prefixes, prefixes_of, split_hashes
from sage_code.store.layout import pack, unpack_row
from sage_code.store.rows import FileRows, text_hash

# History of the columns, part of the table's name: 1: first version; 2: references; 3: each text once, files apart.
FORMAT = 3
_CHUNKS, _FILES = "chunks", "files"
# Keys in one IN (...) list; above it one scan of the key column is cheaper than many filters.
_MAX_IN_LIST = 512
# Files read in one query; bounds the memory.
_READ_FILES = 256
# Rows read or deleted by their numbers in one call.
_TAKE_ROWS = 8_192
# A table with more versions is crowded: each version is a file that lists all pieces. Compacting writes the table again
# (40 ms for a small one, 0.3 s for 100,000 texts), so a large table may have more versions.
_CROWDED_VERSIONS, _MOST_VERSIONS = 16, 256
_ROWS_A_VERSION = 1_024
# How long versions stay in a remote store, which other machines may be reading.
_REMOTE_GRACE = timedelta(days=1)
# What LanceDB raises for damaged data: a Rust panic, which is not an `Exception`.
_PANIC = "PanicException"


@dataclass(slots=True)
class _Seen:
    """The content of the tables when they were last read, and what this process has added since."""

    versions: tuple[int, int]
    keys: set[str]
    hashes: NDArray[np.uint64]  # sorted
    rows: NDArray[np.uint64]  # the row number of each
    own: NDArray[np.uint64]  # added since; their row numbers are unknown

    def holds(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of `hashes` are in the table."""
        found: NDArray[np.bool_] = np.isin(hashes, self.hashes) | np.isin(hashes, self.own)
        return found

    def rows_of(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The row numbers of those of `hashes` that the table had when it was read, in the order of the table."""
        starts, ends = (np.searchsorted(self.hashes, hashes, side) for side in ("left", "right"))
        found: NDArray[np.uint64] = np.sort(self.rows[starts[ends > starts]])
        return found


def store_uri(setting: str) -> str:
    """The LanceDB URI of the `store_uri` setting; an empty setting is the folder in Sage's home."""
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
    """Turn any error of LanceDB, panics included, into a `StoreError` that says what to do."""
    try:
        yield
    except SageError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        text = str(error).strip() or type(error).__name__
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text or "os error 28" in text:
            hint = "free some space and run `sage index` again; the last good index is untouched"
            raise StoreError(f"no space left on the disk of {uri} while {doing}", hint) from error
        hint = "`sage admin verify` checks the store and rebuilds what is damaged"
        raise StoreError(f"{doing} failed in {uri}: {text.splitlines()[0][:300]}", hint) from error


def _in_list(column: str, values: Iterable[str]) -> str:
    # Single quotes are strings in DataFusion (double quotes are identifiers); our keys are hexadecimal, doubled anyway.
    quoted = ",".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


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
        self._write_lock = _lock_path(uri, "write")
        self._seen: _Seen | None = None
        self.damaged: set[str] = set()  # keys of files that were found damaged
        with _explained("opening the store", uri):
            if "://" not in uri:
                os.makedirs(uri, exist_ok=True)
                for name in (self.table, files_table(self.table)):
                    if odd := _odd_entry(os.path.join(uri, f"{name}.lance")):
                        raise OSError(f"{odd} is not a regular file")
            # Other processes write too: every read looks at the newest version.
            self._db = lancedb.connect(uri, read_consistency_interval=timedelta(0))
            self._chunks = self._open(self.table, _chunk_schema(dim))
            self._files = self._open(files_table(self.table), _FILE_SCHEMA)
            found = self._chunks.schema.field("vector").type.list_size
        if found != dim:
            raise StoreError(f"table {self.table} in {uri} holds {found}-d vectors, the model gives {dim}-d")

    def _open(self, name: str, schema: pa.Schema) -> Any:
        try:
            table = self._db.open_table(name)
        except ValueError:  # "Table ... was not found"
            with locked(self._write_lock):
                table = self._db.create_table(name, schema=schema, exist_ok=True)
        table.count_rows()  # reads the table's list of pieces: damage shows now, not during the run
        return table

    @property
    def is_remote(self) -> bool:
        """Whether other machines may use the store, without our locks."""
        return "://" in self.uri

    def count(self) -> int:
        """The number of texts."""
        with _explained("counting rows", self.uri):
            return int(self._chunks.count_rows())

    def count_files(self) -> int:
        """The number of versions of files."""
        with _explained("counting files", self.uri):
            return int(self._files.count_rows())

    def existing(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` that the store has."""
        if not keys:
            return set()
        if len(keys) > _MAX_IN_LIST:
            return self.keys().intersection(keys)
        with _explained("looking files up", self.uri):
            query = self._files.search().where(_in_list("file_key", keys)).select(["file_key"])
            return set(query.to_arrow()["file_key"].to_pylist())

    def keys(self) -> set[str]:
        """The keys of all files: about 100 bytes each."""
        return set(self.keys_by_age())

    def keys_by_age(self) -> list[str]:
        """The same in the order in which they were added."""
        with _explained("looking files up", self.uri):
            batches = self._files.search().select(["file_key"]).to_batches()
            return [key for batch in batches for key in batch.column("file_key").to_pylist()]

    def add(self, files: Sequence[FileRows]) -> int:
        """Add the texts and files that the store lacks, texts first; returns how many texts were added."""
        with _explained("adding rows", self.uri), locked(self._write_lock):
            seen = self._look()
            texts = self._new_texts(files, seen)
            if texts.num_rows:
                self._chunks.add(texts)
                seen.own = np.union1d(seen.own, prefixes(texts["text_hash"]))
            fresh = {file.key: file for file in files if file.key not in seen.keys and file.chunks}
            if fresh:
                self._files.add(_file_table(list(fresh.values())))
                seen.keys.update(fresh)
            seen.versions = self._versions()
            return int(texts.num_rows)

    def _versions(self) -> tuple[int, int]:
        return self._chunks.version, self._files.version

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
        batches = list(self._chunks.search().with_row_id(True).select(["text_hash"]).to_batches())
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
                rows = self._files.search().where(_in_list("file_key", part)).to_arrow().to_pylist()
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
        for start in range(0, len(rows), _TAKE_ROWS):
            taken = self._chunks.take_row_ids(rows[start : start + _TAKE_ROWS].tolist())
            table = taken.select(["text_hash", *columns]).to_arrow()
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
        with _explained("deleting rows", self.uri), locked(self._write_lock):
            for start in range(0, len(keys), _MAX_IN_LIST):
                self._files.delete(_in_list("file_key", keys[start : start + _MAX_IN_LIST]))
            found, rows = self._hashes()
            _delete_by_number(self._chunks, rows[np.isin(found, prefixes(list(hashes)))].tolist())

    def sweep(self) -> int:
        """Remove the texts that no file uses; the caller holds `use_lock` alone. Returns how many."""
        with _explained("deleting rows", self.uri), locked(self._write_lock):
            found, rows = self._hashes()
            used = [prefixes_of(batch.column("texts")) for batch in self._files.search().select(["texts"]).to_batches()]
            orphans = rows[~np.isin(found, np.concatenate([np.empty(0, np.uint64), *used]))]
            _delete_by_number(self._chunks, orphans.tolist())
            return len(orphans)

    def texts_of(self, keys: Sequence[str]) -> set[str]:
        """The hashes of the texts of the files `keys`."""
        found: set[str] = set()
        with _explained("looking files up", self.uri):
            for start in range(0, len(keys), _MAX_IN_LIST):
                query = self._files.search().where(_in_list("file_key", keys[start : start + _MAX_IN_LIST]))
                for texts in query.select(["texts"]).to_arrow()["texts"].to_pylist():
                    found.update(split_hashes(texts))
        return found

    def check(self, is_wrong: WrongVectors | None = None) -> StoreCheck:
        """Check every row. `is_wrong` may check vectors further than for finite numbers."""
        with _explained("checking rows", self.uri):
            return check(self._chunks, self._files, self.dim, is_wrong)

    def delete_damaged(self, is_wrong: WrongVectors | None = None) -> None:
        """Remove the damaged rows; the caller holds `use_lock` alone."""
        with _explained("deleting rows", self.uri), locked(self._write_lock):
            chunks, files = damaged_rows(self._chunks, self._files, self.dim, is_wrong)
            _delete_by_number(self._chunks, chunks)
            _delete_by_number(self._files, files)
        self._seen = None

    def is_crowded(self) -> bool:
        """Whether a table has so many versions that compacting is worth its time."""
        return self._pieces() > min(max(_CROWDED_VERSIONS, self.count() // _ROWS_A_VERSION), _MOST_VERSIONS)

    def _pieces(self) -> int:
        with _explained("looking at the tables", self.uri):
            if self.is_remote:
                return max(int(table.stats()["fragment_stats"]["num_fragments"]) for table in self._tables())
            folders = (os.path.join(self.uri, f"{table.name}.lance", "_versions") for table in self._tables())
            return max(len(os.listdir(folder)) for folder in folders)

    def _tables(self) -> tuple[Any, Any]:
        return self._chunks, self._files

    def compact(self, *, deleted: bool = False) -> None:
        """Merge small fragments and drop old versions; the caller holds `use_lock` alone. `deleted` removes every byte
        of deleted rows. When another machine changes a remote store meanwhile, LanceDB gives up without harm.
        """
        grace = _REMOTE_GRACE if self.is_remote else timedelta(0)
        with _explained("compacting", self.uri), locked(self._write_lock), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it warns of other processes; `use_lock` keeps them out
            for table in self._tables():
                if deleted:
                    _set_one_apart(table)
                table.optimize(cleanup_older_than=grace, delete_unverified=not self.is_remote)
        self._seen = None  # rows have new numbers

    def tables(self) -> list[str]:
        """The tables of texts of all models, older formats included."""
        with _explained("listing tables", self.uri):
            return [name for name in self._db.list_tables().tables if name.startswith(_CHUNKS)]

    def drop_table(self, name: str) -> None:
        """Remove another model's tables."""
        with _explained("dropping a table", self.uri), locked(self._write_lock):
            for table in {name, files_table(name)}.intersection(self._db.list_tables().tables):
                self._db.drop_table(table)


def _set_one_apart(table: Any) -> None:
    """Move one row to a new fragment: LanceDB rewrites a single fragment only when a tenth of it is deleted."""
    row = table.search().with_row_id(True).limit(1).to_arrow()
    if row.num_rows:
        table.add(row.drop_columns(["_rowid"]))
        table.delete(f"_rowid = {row['_rowid'][0].as_py()}")


def _odd_entry(folder: str) -> str:
    """A pipe, a device or a dangling link in a table's folder, on which LanceDB would hang."""
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            if name in folders and not os.path.islink(path):
                continue
            if not os.path.isfile(path):
                return path
    return ""


def _has_our_columns(schema: pa.Schema) -> bool:
    if schema.names == _FILE_SCHEMA.names:
        return list(schema.types) == list(_FILE_SCHEMA.types)
    vector = schema.field("vector").type if "vector" in schema.names else None
    return isinstance(vector, pa.FixedSizeListType) and list(schema) == list(_chunk_schema(vector.list_size))


def _delete_by_number(table: Any, rows: Sequence[int]) -> None:
    # By row number: a hundred times faster than by hash; `use_lock` keeps the numbers valid.
    for start in range(0, len(rows), _TAKE_ROWS):
        table.delete(f"_rowid IN ({','.join(map(str, rows[start : start + _TAKE_ROWS]))})")


def damaged_tables(uri: str) -> list[str]:
    """Local tables that LanceDB cannot open or read."""
    if "://" in uri or not os.path.isdir(uri):
        return []
    database = lancedb.connect(uri)
    damaged = []
    for entry in sorted(os.listdir(uri)):
        name, extension = os.path.splitext(entry)
        if extension != ".lance" or not name.startswith((_CHUNKS, _FILES)):
            continue
        if _odd_entry(os.path.join(uri, entry)):
            damaged.append(name)
            continue
        try:
            table = database.open_table(name)
            if name.startswith((f"{_CHUNKS}{FORMAT}_", f"{_FILES}{FORMAT}_")) and not _has_our_columns(table.schema):
                damaged.append(name)
                continue
            for _ in table.search().to_batches():
                pass
        except BaseException as error:  # damage raises all kinds of errors, panics included
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            damaged.append(name)
    return damaged


def _file_table(files: Sequence[FileRows]) -> pa.Table:
    columns = {
        "file_key": [file.key for file in files],
        "path": [file.path for file in files],
        "language": [file.language for file in files],
        "texts": [bytes.fromhex("".join(file.text_hashes)) for file in files],
        "layout": [pack(file) for file in files],
    }
    return pa.table(columns, schema=_FILE_SCHEMA)
