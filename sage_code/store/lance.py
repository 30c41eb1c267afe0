"""LanceDB behind five verbs: which files are there, add, read, delete, tidy up.

One table a model, so that switching back is free. A file's rows go in with one commit and are therefore all there or
not at all; under `write.lock` no two processes add the same file. `import lancedb` takes seconds: nothing imports
this module before it is needed, and nothing on a light path imports it at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import lancedb
import numpy as np
import orjson
import pyarrow as pa
import xxhash
from numpy.typing import NDArray

from sage_code.errors import SageError, StoreError
from sage_code.locks import locked
from sage_code.paths import sage_home
from sage_code.store.rows import FileRows
from sage_code.values import Chunk, Symbol

# History of the columns, part of the table's name: 1: first version; 2: references.
FORMAT = 2
# Keys in one IN (...) list; above it one scan of the key column is cheaper than many filters.
_MAX_IN_LIST = 512
# Files read back in one query: bounds the memory of a rebuild.
_READ_FILES = 256
_SYMBOL_FIELDS = tuple(Symbol.__dataclass_fields__)


def store_uri(setting: str) -> str:
    """The LanceDB URI that the `store_uri` setting means; empty is the folder below Sage's home."""
    return setting or os.path.join(sage_home(), "codebase", "lancedb")


def table_name(model: str, dim: int) -> str:
    """The table of one model. Names that needed cleaning carry a hash, so that no two models share a table."""
    slug = re.sub(r"[^a-zA-Z0-9]+", "-", model).strip("-").lower()
    if slug != model:
        slug = f"{slug[:40]}-{xxhash.xxh3_64_hexdigest(model.encode())[:8]}"
    return f"chunks{FORMAT}_{slug}_{dim}"


def use_lock(uri: str) -> str:
    """The lock that indexers share and that whoever deletes rows takes alone."""
    return _lock_path(uri, "use")


def _lock_path(uri: str, name: str) -> str:
    if "://" in uri:
        digest = xxhash.xxh3_64_hexdigest(uri.encode())
        return os.path.join(sage_home(), "codebase", f"remote-{digest}.{name}.lock")
    return f"{os.path.abspath(uri)}.{name}.lock"


@contextlib.contextmanager
def _explained(doing: str, uri: str) -> Iterator[None]:
    """Turn whatever LanceDB raises (it has no exception tree of its own, and panics) into a `StoreError` with a way
    out."""
    try:
        yield
    except SageError:
        raise
    except Exception as error:
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


def _schema(dim: int) -> pa.Schema:
    return pa.schema(
        [
            pa.field("file_key", pa.string()),
            pa.field("ordinal", pa.int32()),
            pa.field("path", pa.string()),
            pa.field("language", pa.string()),
            pa.field("kind", pa.string()),
            pa.field("name", pa.string()),
            pa.field("qualname", pa.string()),
            pa.field("start_line", pa.int32()),
            pa.field("end_line", pa.int32()),
            pa.field("signature", pa.string()),
            pa.field("docstring", pa.string()),
            pa.field("text", pa.string()),
            pa.field("text_hash", pa.string()),
            pa.field("symbols", pa.string()),
            pa.field("references", pa.string()),  # of the whole file, in its first row
            pa.field("vector", pa.list_(pa.float32(), dim)),
        ]
    )


class Store:
    """One model's table in one database."""

    def __init__(self, uri: str, model: str, dim: int) -> None:
        self.uri = uri
        self.dim = dim
        self.table = table_name(model, dim)
        self._write_lock = _lock_path(uri, "write")
        self._known_version: int | None = None  # of the table, when a commit of ours last looked
        self._keys: set[str] = set()  # of the files in that version
        with _explained("opening the store", uri):
            if "://" not in uri:
                os.makedirs(uri, exist_ok=True)
            # Other processes write too: every read looks at the newest version.
            self._db = lancedb.connect(uri, read_consistency_interval=timedelta(0))
            try:
                self._table = self._db.open_table(self.table)
            except ValueError:  # "Table ... was not found"
                with locked(self._write_lock):
                    self._table = self._db.create_table(self.table, schema=_schema(dim), exist_ok=True)
            found = self._table.schema.field("vector").type.list_size
            self._table.count_rows()  # reads the manifest of the table: damage shows now, not in mid-run
        if found != dim:
            raise StoreError(f"table {self.table} in {uri} holds {found}-d vectors, the model gives {dim}-d")

    def count(self) -> int:
        """Rows in the table."""
        with _explained("counting rows", self.uri):
            return int(self._table.count_rows())

    def existing(self, keys: Sequence[str]) -> set[str]:
        """Those of `keys` whose rows are in the store."""
        with _explained("looking files up", self.uri):
            return self._existing(keys)

    def _existing(self, keys: Sequence[str]) -> set[str]:
        if not keys:
            return set()
        if len(keys) > _MAX_IN_LIST:
            return self._all_keys().intersection(keys)
        query = self._table.search().where(f"ordinal = 0 AND {_in_list('file_key', keys)}")
        return set(query.select(["file_key"]).to_arrow()["file_key"].to_pylist())

    def _all_keys(self) -> set[str]:
        """Every file in the table: about 100 bytes each."""
        batches = self._table.search().where("ordinal = 0").select(["file_key"]).to_batches()
        return {key for batch in batches for key in batch.column("file_key").to_pylist()}

    def add(self, files: Sequence[FileRows]) -> int:
        """Add the rows of `files` that are not there yet, in one commit; returns how many rows went in."""
        with _explained("adding rows", self.uri), locked(self._write_lock):
            if self._table.version != self._known_version:
                # Our first commit, or somebody else has written since the last: look at what is there.
                self._keys, self._known_version = self._all_keys(), self._table.version
            fresh = {file.key: file for file in files if file.key not in self._keys and file.chunks}
            if not fresh:
                return 0
            table = self._to_arrow(list(fresh.values()))
            self._table.add(table)
            self._known_version = self._table.version
            self._keys.update(fresh)
            return int(table.num_rows)

    def read(self, keys: Sequence[str]) -> Iterator[FileRows]:
        """The rows of the files `keys`, a file at a time; files that are not there are left out."""
        for start in range(0, len(keys), _READ_FILES):
            part = keys[start : start + _READ_FILES]
            with _explained("reading rows", self.uri):
                rows = self._table.search().where(_in_list("file_key", part)).to_arrow()
            yield from _group(rows, self.dim)

    def vectors(self, hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors the store has for these text hashes; broken ones are none."""
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(hashes), _MAX_IN_LIST):
            part = hashes[start : start + _MAX_IN_LIST]
            with _explained("looking vectors up", self.uri):
                query = self._table.search().where(_in_list("text_hash", part))
                rows = query.select(["text_hash", "vector"]).to_arrow()
            matrix = _matrix(rows["vector"], self.dim)
            pairs = zip(rows["text_hash"].to_pylist(), matrix, ~_broken(matrix), strict=True)
            found.update((digest, vector) for digest, vector, good in pairs if good)
        return found

    def hash_prefixes(self) -> NDArray[np.uint64]:
        """The first 64 bits of every text hash, sorted: a cheap test of which chunks may have a vector already."""
        with _explained("reading hashes", self.uri):
            batches = self._table.search().select(["text_hash"]).to_batches()
            parts = [hash_prefixes(batch.column("text_hash").to_pylist()) for batch in batches]
        return np.unique(np.concatenate([np.empty(0, dtype=np.uint64), *parts]))

    def delete(self, keys: Sequence[str]) -> None:
        """Remove the rows of the files `keys`; the caller holds `use_lock` alone."""
        with _explained("deleting rows", self.uri), locked(self._write_lock):
            for start in range(0, len(keys), _MAX_IN_LIST):
                self._table.delete(_in_list("file_key", keys[start : start + _MAX_IN_LIST]))

    def row_counts(self) -> tuple[dict[str, int], set[str]]:
        """Rows of every file in the table, and the files with a duplicated or missing row or a broken vector."""
        counts: dict[str, int] = {}
        sums: dict[str, int] = {}
        bad: set[str] = set()
        with _explained("checking rows", self.uri):
            for batch in self._table.search().select(["file_key", "ordinal", "vector"]).to_batches():
                keys = batch.column("file_key").to_pylist()
                bad.update(keys[row] for row in np.flatnonzero(_broken(_matrix(batch.column("vector"), self.dim))))
                for key, ordinal in zip(keys, batch.column("ordinal").to_pylist(), strict=True):
                    counts[key] = counts.get(key, 0) + 1
                    sums[key] = sums.get(key, 0) + ordinal
        # Ordinals are 0..n-1 exactly when nothing is doubled and nothing is missing; the sum tells both.
        bad.update(key for key, n in counts.items() if sums[key] != n * (n - 1) // 2)
        return counts, bad

    def compact(self) -> None:
        """Merge small fragments and drop old versions; a writer at work meanwhile makes LanceDB give up, harmlessly."""
        with _explained("compacting", self.uri), locked(self._write_lock), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it warns of other processes; `use_lock` keeps them out
            self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def tables(self) -> list[str]:
        """Every chunk table of this database, other models' included."""
        with _explained("listing tables", self.uri):
            return [name for name in self._db.list_tables().tables if name.startswith("chunks")]

    def drop_table(self, name: str) -> None:
        """Remove another model's table."""
        with _explained("dropping a table", self.uri), locked(self._write_lock):
            self._db.drop_table(name)

    def _to_arrow(self, files: Sequence[FileRows]) -> pa.Table:
        schema = _schema(self.dim)
        columns: dict[str, Any] = {name: [] for name in schema.names if name != "vector"}
        for file in files:
            for ordinal, (chunk, digest) in enumerate(zip(file.chunks, file.text_hashes, strict=True)):
                columns["file_key"].append(file.key)
                columns["ordinal"].append(ordinal)
                columns["path"].append(file.path)
                columns["language"].append(file.language)
                columns["kind"].append(chunk.kind)
                columns["name"].append(chunk.name)
                columns["qualname"].append(chunk.qualname)
                columns["start_line"].append(chunk.start_line)
                columns["end_line"].append(chunk.end_line)
                columns["signature"].append(chunk.signature)
                columns["docstring"].append(chunk.docstring)
                columns["text"].append(chunk.text)
                columns["text_hash"].append(digest)
                columns["symbols"].append(_dump_symbols(chunk.symbols))
                columns["references"].append(file.references if ordinal == 0 else "")
        flat = np.concatenate([file.vectors for file in files]).astype(np.float32, copy=False)
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), self.dim)
        return pa.table(columns, schema=schema)


def damaged_tables(uri: str) -> list[str]:
    """Local tables that LanceDB cannot open any more."""
    if "://" in uri or not os.path.isdir(uri):
        return []
    database = lancedb.connect(uri)
    damaged = []
    for entry in sorted(os.listdir(uri)):
        name, extension = os.path.splitext(entry)
        if extension != ".lance" or not name.startswith("chunks"):
            continue
        try:
            table = database.open_table(name)
            for _ in table.search().to_batches():
                pass
        except Exception:  # whatever LanceDB makes of damage, its panics included
            damaged.append(name)
    return damaged


def hash_prefixes(hashes: Sequence[str]) -> NDArray[np.uint64]:
    """The first 64 bits of hexadecimal hashes."""
    return np.fromiter((int(digest[:16], 16) for digest in hashes), dtype=np.uint64, count=len(hashes))


def _dump_symbols(symbols: Sequence[Symbol]) -> str:
    if not symbols:
        return "[]"
    return orjson.dumps([[getattr(symbol, name) for name in _SYMBOL_FIELDS] for symbol in symbols]).decode()


def _matrix(column: Any, dim: int) -> NDArray[np.float32]:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    flat: NDArray[np.float32] = array.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, dim)


def _broken(matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The rows that hold a NaN or an infinity: a sum is finite exactly when all its terms are."""
    with np.errstate(all="ignore"):
        finite: NDArray[np.bool_] = np.isfinite(matrix.sum(axis=1))
    return ~finite


def _group(rows: pa.Table, dim: int) -> Iterator[FileRows]:
    """Rows of several files, in any order and possibly doubled, as files with their chunks in order."""
    places: dict[str, dict[int, int]] = {}
    keys, ordinals = rows["file_key"].to_pylist(), rows["ordinal"].to_pylist()
    for place, (key, ordinal) in enumerate(zip(keys, ordinals, strict=True)):
        places.setdefault(key, {}).setdefault(ordinal, place)
    columns = {
        name: rows[name].to_pylist() for name in rows.schema.names if name not in ("vector", "file_key", "ordinal")
    }
    matrix = _matrix(rows["vector"], dim)
    for key, by_ordinal in places.items():
        order = [by_ordinal[ordinal] for ordinal in sorted(by_ordinal)]
        chunks = tuple(
            Chunk(
                kind=columns["kind"][i],
                name=columns["name"][i],
                qualname=columns["qualname"][i],
                start_line=columns["start_line"][i],
                end_line=columns["end_line"][i],
                signature=columns["signature"][i],
                docstring=columns["docstring"][i],
                text=columns["text"][i],
                symbols=tuple(Symbol(*fields) for fields in orjson.loads(columns["symbols"][i])),
            )
            for i in order
        )
        hashes = tuple(columns["text_hash"][i] for i in order)
        path, language = columns["path"][order[0]], columns["language"][order[0]]
        yield FileRows(key, path, language, chunks, hashes, matrix[order], columns["references"][order[0]])
