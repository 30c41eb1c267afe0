"""One Lance table, in a folder or in object storage: open or create, scan, take, append, delete, compact.

A table is a dataset `<uri>/<name>.lance`, which LanceDB reads and writes too. Other processes write as well: every
method but `take` looks at the newest version first. `take` stays at the version that was scanned last, whose row
numbers it is given. Lance is used without LanceDB because `import lancedb` takes 2 CPU seconds, `import lance` 0.3.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa

if TYPE_CHECKING:
    from sage_code.store.remote.address import Address

SUFFIX = ".lance"
# What Lance raises for damaged data: a Rust panic, which is not an `Exception`.
_PANIC = "PanicException"
# Rows read or deleted by their numbers in one call.
_TAKE_ROWS = 8_192
# How Lance says that there is no such table; every other `ValueError` means that it could not look.
_MISSING = "was not found"
# How it refuses a commit that was begun before a fence.
_FENCED = ("Incompatible transaction", "Restore")


# What Lance keeps in memory of the versions and pieces of a table. Unbounded, a run of a thousand additions keeps a
# thousand lists of up to a thousand pieces: 300 MB.
_CACHED_BYTES = 32 << 20


class MissingTableError(ValueError):
    """There is no table of this name."""


def _allow() -> None:
    """A folder needs no confirmation: its lock is enough."""


class Table:
    """One table of a store."""

    def __init__(self, place: Address, name: str, confirm: Callable[[], None] | None = None) -> None:
        """Open the table; a `MissingTableError` if there is none. `confirm` is asked before each commit."""
        self.name = name
        self._confirm = confirm or _allow
        self._place = place.below(name + SUFFIX)
        try:
            self._dataset: Any = lance.dataset(
                self._place.uri,
                storage_options=self._place.options or None,
                metadata_cache_size_bytes=_CACHED_BYTES,
                index_cache_size_bytes=_CACHED_BYTES,
            )
        except ValueError as error:
            if _MISSING not in str(error):
                raise
            raise MissingTableError(str(error)) from error
        self._dataset.count_rows()  # reads the table's list of pieces: damage shows now, not during the run

    @classmethod
    def created(cls, place: Address, name: str, schema: pa.Schema, confirm: Callable[[], None] | None = None) -> Table:
        """A new, empty table; the caller holds the lock for writing."""
        at = place.below(name + SUFFIX)
        lance.write_dataset(schema.empty_table(), at.uri, mode="create", storage_options=at.options or None)
        return cls(place, name, confirm)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._dataset.schema

    @property
    def dataset(self) -> lance.LanceDataset:
        """The dataset itself at its newest version, for indexes."""
        self._dataset.checkout_latest()
        newest: lance.LanceDataset = self._dataset
        return newest

    def version(self) -> int:
        """The number of the newest version."""
        return int(self.dataset.version)

    def count(self) -> int:
        """The number of rows."""
        return int(self.dataset.count_rows())

    def pieces(self) -> int:
        """How many versions a folder keeps, or of how many fragments a remote table consists."""
        if self._place.is_remote:
            return len(self.dataset.get_fragments())
        return len(os.listdir(os.path.join(self._place.uri, "_versions")))

    def scan(self, columns: list[str], where: str | None = None, *, numbers: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch, in the order of the table; `numbers` adds the column `_rowid`."""
        yield from self.dataset.scanner(columns=columns, filter=where, with_row_id=numbers).to_batches()

    def read(self, columns: list[str], where: str | None = None) -> pa.Table:
        """The same rows at once."""
        return self.dataset.to_table(columns=columns, filter=where)

    def take(self, rows: Sequence[int], columns: list[str]) -> Iterator[pa.Table]:
        """The rows of these numbers, part by part."""
        for start in range(0, len(rows), _TAKE_ROWS):
            yield self._dataset._take_rows(list(rows[start : start + _TAKE_ROWS]), columns=columns)

    def _owned(self) -> lance.LanceDataset:
        """The newest version, to commit on; read before the confirmation, so that a later fence stops the commit."""
        newest = self.dataset
        self._confirm()
        return newest

    def fence(self) -> None:
        """Make a version with which no commit is compatible that was begun on an older one. Changes no row."""
        newest: Any = self.dataset
        newest.restore()

    def append(self, rows: pa.Table) -> None:
        """Add rows."""
        self._dataset = lance.write_dataset(rows, self._owned(), mode="append")

    def delete(self, where: str) -> None:
        """Remove the rows that a condition names."""
        self._owned().delete(where)

    def delete_rows(self, rows: Sequence[int]) -> None:
        """Remove rows by their numbers: a hundred times faster than by hash. The caller keeps the numbers valid."""
        for start in range(0, len(rows), _TAKE_ROWS):
            self.delete(f"_rowid IN ({','.join(map(str, rows[start : start + _TAKE_ROWS]))})")

    def compact(self, grace: timedelta, *, deleted: bool = False) -> None:
        """Merge small fragments, bring indexes up to date, and drop versions that are older than `grace`.

        `deleted` removes every byte of deleted rows.
        """
        if deleted:
            self._set_one_apart()
        self._owned().optimize.compact_files()
        self._owned().optimize.optimize_indices()
        # Files that no version names may be those of a writer on another machine; in a folder our locks keep it out.
        self.dataset.cleanup_old_versions(older_than=grace, delete_unverified=not self._place.is_remote)

    def _set_one_apart(self) -> None:
        """Move one row to a new fragment: Lance rewrites a single fragment only when a tenth of it is deleted."""
        row = self.dataset.to_table(limit=1, with_row_id=True)
        if row.num_rows:
            self.append(row.drop_columns(["_rowid"]))
            self.delete(f"_rowid = {row['_rowid'][0].as_py()}")


def is_damage(error: BaseException) -> bool:
    """Whether Lance raised this by itself: damage raises all kinds of errors, panics included."""
    return isinstance(error, Exception) or type(error).__name__ == _PANIC


def is_fenced(error: BaseException) -> bool:
    """Whether Lance refused a commit because another writer has made a fence since."""
    return all(part in str(error) for part in _FENCED)


def table_names(place: Address) -> list[str]:
    """The tables at an address."""
    if place.is_remote:
        from sage_code.store.remote.objects import Objects

        return sorted(name.removesuffix(SUFFIX) for name in Objects(place).folders() if name.endswith(SUFFIX))
    entries = os.listdir(place.uri) if os.path.isdir(place.uri) else []
    return sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX))


def drop_table(place: Address, name: str) -> None:
    """Remove a table with all its files."""
    if place.is_remote:
        from sage_code.store.remote.objects import Objects

        objects = Objects(place)
        for key in list(objects.keys(name + SUFFIX)):
            objects.delete(key)
    else:
        shutil.rmtree(os.path.join(place.uri, name + SUFFIX))


def in_list(column: str, values: Iterable[str]) -> str:
    """The condition that a column has one of these values."""
    # Single quotes are strings in DataFusion (double quotes are identifiers); our keys are hexadecimal, doubled anyway.
    quoted = ",".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({quoted})"


def odd_entry(folder: str) -> str:
    """A pipe, a device or a dangling link in a table's folder, on which Lance would hang."""
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            if name in folders and not os.path.islink(path):
                continue
            if not os.path.isfile(path):
                return path
    return ""


def read_all(place: Address, name: str) -> None:
    """Read a whole table and forget it: an error says that it is damaged."""
    for _ in Table(place, name).dataset.to_batches():
        pass
