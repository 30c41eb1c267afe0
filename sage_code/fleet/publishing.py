"""The one commit that makes a run visible: outdated rows go and new ones come in the same version of the table.

A run is committed once, even if two coordinators try, one of them long after it was taken for dead: every commit names
a fragment that the commit before it has left, so that two commits made from the same version are in conflict, and a
coordinator looks for the run's own files in the table first. (Lance adds fragments to any newer version otherwise.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import lance
import numpy as np
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata

from sage_code.errors import Conflict
from sage_code.store.fleet_table import fleet_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sage_code.store.remote.address import Address

# Repositories whose rows are looked for in one scan.
_SCANNED_TOGETHER = 64
# Versions that readers on other machines may still have open.
_GRACE = timedelta(days=1)
# Fragments of small runs that are worth writing together: each costs every search a file.
_CROWDED, _SMALL_ROWS = 256, 10_000


class FleetTable:
    """The fleet's table, which exists after `prepare`."""

    def __init__(self, address: Address, dim: int) -> None:
        self.address, self._dim = address, dim
        self._options = address.options or None

    def prepare(self) -> None:
        """Create the table, empty, if it does not exist."""
        if self.opened() is not None:
            return
        schema = fleet_schema(self._dim)
        try:
            lance.write_dataset(
                schema.empty_table(), self.address.uri, schema=schema, mode="create", storage_options=self._options
            )
        except OSError:
            if self.opened() is None:  # not because another coordinator was first
                raise

    def opened(self) -> lance.LanceDataset | None:
        """The newest version of the table, None if there is none."""
        try:
            return lance.dataset(self.address.uri, storage_options=self._options)
        except (ValueError, FileNotFoundError) as error:
            if "not found" in str(error).lower():
                return None
            raise

    def rows(self) -> int:
        """How many rows there are."""
        dataset = self.opened()
        return int(dataset.count_rows()) if dataset is not None else 0

    def publish(
        self,
        run: str,
        gone: Mapping[str, frozenset[str] | None],
        fragments: Iterable[dict[str, Any]],
        still_alone: Callable[[], None] = lambda: None,
    ) -> bool:
        """Take away the rows of these files (None: of all files) by repository, and add the fragments, in one commit.

        False if the run was published before. `Conflict` if another commit came first; then nothing has happened.
        `still_alone` raises when another coordinator has taken over: it is asked after the version is known that the
        commit is made on, since a later version may hold the run in files of other names.
        """
        dataset = self.opened()
        assert dataset is not None, "prepare() was called"
        still_alone()
        new = [FragmentMetadata.from_json(_text(fragment)) for fragment in fragments]
        present = {fragment.fragment_id: fragment.metadata for fragment in dataset.get_fragments()}
        here = {file.path for metadata in present.values() for file in metadata.files}
        if any(file.path in here for metadata in new for file in metadata.files):
            return False
        removed, updated = _without(dataset, gone)
        if not new and not removed and not updated:
            return False
        operation: Any
        if present:
            if not removed and not updated:
                updated = [next(iter(present.values()))]  # unchanged: it only makes two commits conflict
            operation = lance.LanceOperation.Update(
                removed_fragment_ids=removed, updated_fragments=updated, new_fragments=new
            )
        else:
            for index in dataset.describe_indices():
                dataset.drop_index(index.name)  # of fragments that are gone, whose numbers are given out again
            dataset = self.opened()
            assert dataset is not None
            for number, metadata in enumerate(new):
                metadata.id = number
            operation = lance.LanceOperation.Merge(fragments=new, schema=dataset.lance_schema)
        try:
            lance.LanceDataset.commit(
                self.address.uri,
                operation,
                read_version=dataset.version,
                storage_options=self._options,
                max_retries=0,
                commit_message=f"sage fleet run {run}",
            )
        except CommitConflictError as error:
            hint = "run `sage fleet index` again: it goes on where this run is"
            raise Conflict(f"another process has changed {self.address} during the run", hint) from error
        return True

    def tidy(self) -> None:
        """Write many small fragments as few, and delete versions and files that none uses any more."""
        dataset = self.opened()
        if dataset is None:
            return
        small = sum(fragment.count_rows() < _SMALL_ROWS for fragment in dataset.get_fragments())
        if small > _CROWDED:
            dataset.optimize.compact_files()
        dataset.cleanup_old_versions(older_than=_GRACE)


def _without(
    dataset: lance.LanceDataset, gone: Mapping[str, frozenset[str] | None]
) -> tuple[list[int], list[FragmentMetadata]]:
    """Fragments that lose all rows, by number, and fragments that lose some, as they are then."""
    found: list[NDArray[np.uint64]] = []
    names = sorted(name for name, keys in gone.items() if keys is None or keys)
    for start in range(0, len(names), _SCANNED_TOGETHER):
        listed = ", ".join(
            f"'{name}'" for name in names[start : start + _SCANNED_TOGETHER]
        )  # names have no quotes: see the roster
        rows = dataset.scanner(
            columns=["repository", "file_key"], filter=f"repository IN ({listed})", with_row_address=True
        ).to_table()
        pairs = zip(rows["repository"].to_pylist(), rows["file_key"].to_pylist(), strict=True)
        is_gone = np.fromiter(
            ((keys := gone[name]) is None or key in keys for name, key in pairs), np.bool_, rows.num_rows
        )
        found.append(rows["_rowaddr"].to_numpy()[is_gone])
    if not found:
        return [], []
    addresses = np.sort(np.concatenate(found))
    removed, updated = [], []
    for fragment in dataset.get_fragments():
        first = np.uint64(fragment.fragment_id) << np.uint64(32)
        start, end = np.searchsorted(addresses, [first, first + np.uint64(1 << 32)])
        if start == end:
            continue
        listed = ", ".join(map(str, addresses[start:end]))
        rest = fragment.delete(f"_rowaddr IN ({listed})") if end - start < fragment.count_rows() else None
        if rest is None:
            removed.append(fragment.fragment_id)
        else:
            updated.append(rest)
    return removed, updated


def _text(fragment: dict[str, Any]) -> str:
    import json  # Lance reads its own format of JSON from a text

    return json.dumps(fragment)
