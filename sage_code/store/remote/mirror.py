"""A copy on this machine of some tables of a remote store, so that questions about them need no network.

Lance never changes a file of a table: a new version is a new manifest, and the files that are new in it. So a copy is
brought up to date with the files that it lacks, and the manifest comes last: a reader of the copy sees a whole version.

The store is asked for a newer version once in a while. When it does not answer, the last copied version is used, and
`Mirrored.note` says so. When it answers that this user may not read, the copy is of no use either. Tables that are
larger than the limit are not copied. A large copy is made over several questions, which ask the store meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import lance
import orjson
import xxhash

from sage_code.errors import Busy, StoreError
from sage_code.files.atomic import PRIVATE_FILE, remove, sweep, whole_file, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.files.private import make_private
from sage_code.paths import sage_home
from sage_code.store.remote.address import Address
from sage_code.store.remote.objects import Objects, StoreUnreachableError, is_refusal

if TYPE_CHECKING:
    from typing import Any

# History of the file of a copy's state: 1: first version.
FORMAT = 1
# After so many seconds the store is asked again, also one that did not answer: a person asks several questions in a
# minute, and a fleet is indexed a few times a day.
LOOKED_AFTER = 60.0
# What one question may copy before it is answered: some seconds of an ordinary network.
AT_ONCE_BYTES = 256 << 20
_DOWNLOADS = 6
_MANIFESTS, _DATA, _INDEXES = "_versions", "data", "_indices"
# Names of files come from the store: nothing that leads out of the table's folder, or hides.
_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*")
_MANIFEST = re.compile(r"\d{20}\.manifest")
_MAX_MANIFEST = 256 << 20
_MAX_STATE = 1 << 16


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Where the tables are to be read: in the copy, or (None) in the store; and what the user should know of it."""

    place: Address | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of the copy."""

    manifests: dict[str, str] = field(default_factory=dict)  # by table, the name of the copied version's
    asked_at: float = 0.0  # when the store was asked last
    good_at: float = 0.0  # and when it has answered last
    problem: str = ""  # why it did not answer


class Mirror:
    """The copy of some tables; the first one is the one that must be there."""

    def __init__(self, store: Address, tables: Sequence[str], limit: int) -> None:
        self._store, self._tables, self._limit = store, tuple(tables), limit
        name = "\n".join((store.options.get("endpoint", ""), store.uri, *tables))
        self._folder = os.path.join(sage_home(), "cache", "fleet", xxhash.xxh3_64_hexdigest(name.encode()))
        self._objects: Objects | None = None

    def current(self) -> Mirrored:
        """The tables as they are, or as they were when the store answered last."""
        if not self._limit:
            return Mirrored(None)
        state = self._state()
        if 0 <= time.time() - state.asked_at < LOOKED_AFTER:
            return self._here(state)
        make_private(self._folder)
        try:
            with locked(os.path.join(self._folder, "copying.lock"), timeout_s=0):
                return self._asked(self._state())
        except Busy:  # another process is copying
            return self._here(state)

    def _here(self, state: _State) -> Mirrored:
        """The copy, if there is one."""
        if not state.manifests:
            return Mirrored(None)
        note = ""
        if state.problem:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(state.good_at))
            note = f"{self._store} does not answer ({state.problem}); this is its state of {when}"
        return Mirrored(Address(self._folder), note)

    def _asked(self, state: _State) -> Mirrored:
        """Ask the store what is newest and copy it."""
        now = time.time()
        try:
            newest = self._newest()
            if newest == state.manifests:
                left: int | None = 0
            else:
                left = self._copy(state, newest) if self._tables[0] in newest else None
        except StoreUnreachableError as error:
            if is_refusal(error):
                self._drop()
                raise
            if not state.manifests:
                raise
            return self._here(self._remember(replace(state, asked_at=now, problem=error.message)))
        except OSError as error:
            return Mirrored(None, f"the fleet's table cannot be copied to {self._folder}: {error}")
        if left is None:
            self._drop()
            newest = {}
        elif left:
            return Mirrored(None, f"copying the fleet's table to this machine: {left / 1e6:,.0f} MB are left")
        return self._here(self._remember(_State(newest, now, now)))

    def _newest(self) -> dict[str, str]:
        """The manifest of the newest version of each table that is there: Lance numbers them downwards."""
        found = {}
        for table in self._tables:
            names = [key.rpartition("/")[2] for key in self._remote().keys(f"{table}/{_MANIFESTS}/")]
            if manifests := list(filter(_MANIFEST.fullmatch, names)):
                found[table] = min(manifests)
        return found

    def _copy(self, state: _State, newest: dict[str, str]) -> int | None:
        """Copy what is missing; returns the bytes that are left for the next question, None if it is not to be copied.

        Files of the version before stay, since another process may be reading it.
        """
        needed: dict[str, int] = {}
        for table, name in newest.items():
            files = self._files(table, name)
            if files is None:
                return None
            needed |= files
        if sum(needed.values()) > self._limit:
            return None
        before = {file for table, name in state.manifests.items() for file in self._files_here(table, name)}
        self._sweep({*needed, *before})
        missing = {name: size for name, size in needed.items() if not os.path.exists(self._path(name))}
        left = sum(missing.values())
        objects = Objects(self._store)
        with ThreadPoolExecutor(_DOWNLOADS) as pool:
            jobs, chosen = [], 0
            for name, size in missing.items():
                if chosen and chosen + size > AT_ONCE_BYTES:
                    break
                chosen += size
                jobs.append(pool.submit(self._fetch, objects, name, size))
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # one that fails is enough
                raise
        if left > chosen:
            return left - chosen
        for table, name in newest.items():
            folder = self._path(f"{table}/{_MANIFESTS}")
            make_private(folder)
            os.replace(self._path(f"{table}/new/{_MANIFESTS}/{name}"), os.path.join(folder, name))
            for other in os.listdir(folder):
                if other != name:
                    remove(os.path.join(folder, other))
        return 0

    def _files(self, table: str, manifest: str) -> dict[str, int] | None:
        """The files of a version with their bytes; None if they are not all below the table's own folder."""
        key, folder = f"{table}/{_MANIFESTS}/{manifest}", self._path(f"{table}/new")
        if not os.path.exists(self._path(f"{table}/new/{_MANIFESTS}/{manifest}")):
            remove(folder)
            found = self._remote().get(key, _MAX_MANIFEST)
            if found is None:
                raise StoreError(f"{key} in {self._store} is gone", "ask again: the fleet is being indexed")
            make_private(os.path.join(folder, _MANIFESTS))
            write_bytes(os.path.join(folder, _MANIFESTS, manifest), found.data, mode=PRIVATE_FILE)
        dataset = lance.dataset(folder)
        data, others, indexes = _parts(dataset)
        files = {f"{table}/{name}": size for name, size in data.items()}
        wanted = {f"{table}/{name}" for name in others}
        for parent in {name.rpartition("/")[0] for name in wanted}:
            files |= {name: size for name, size in self._remote().sizes(f"{parent}/").items() if name in wanted}
        for uuid in indexes:
            files |= self._remote().sizes(f"{table}/{_INDEXES}/{uuid}/")
        if dataset.base_paths() or not all(map(_NAME.fullmatch, files)):
            return None
        return files

    def _files_here(self, table: str, manifest: str) -> set[str]:
        """The files of the version that is copied."""
        if not os.path.exists(self._path(f"{table}/{_MANIFESTS}/{manifest}")):
            return set()
        data, others, indexes = _parts(lance.dataset(self._path(table)))
        found = {f"{table}/{name}" for name in (*data, *others)}
        for uuid in indexes:
            folder = f"{table}/{_INDEXES}/{uuid}"
            found.update(f"{folder}/{name}" for name in os.listdir(self._path(folder)))
        return found

    def _fetch(self, objects: Objects, name: str, size: int) -> None:
        path = self._path(name)
        make_private(os.path.dirname(path))
        with whole_file(path, mode=PRIVATE_FILE) as file:
            for part in objects.parts(name, size):
                file.write(part)

    def _sweep(self, kept: set[str]) -> None:
        """Remove the files of older versions and what a killed process has begun; manifests are not touched."""
        for table in self._tables:
            for kind in (_DATA, _INDEXES, "_deletions"):
                for folder, _, files in os.walk(self._path(f"{table}/{kind}")):
                    sweep(folder)
                    for file in files:
                        path = os.path.join(folder, file)
                        if os.path.relpath(path, self._folder).replace(os.sep, "/") not in kept:
                            remove(path)

    def _drop(self) -> None:
        """Remove the copy; the lock, which is held, stays."""
        for name in os.listdir(self._folder):
            if not name.endswith(".lock"):
                remove(os.path.join(self._folder, name))

    def _remote(self) -> Objects:
        if self._objects is None:
            self._objects = Objects(self._store, patient=False)
        return self._objects

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, *name.split("/"))

    def _state(self) -> _State:
        try:
            data = orjson.loads(read_regular(self._path("state.json"), _MAX_STATE))
            if data["format"] != FORMAT:
                return _State()
            manifests = {str(table): str(name) for table, name in data["manifests"].items()}
            return _State(manifests, float(data["asked_at"]), float(data["good_at"]), str(data["problem"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return _State()

    def _remember(self, state: _State) -> _State:
        known = {
            "format": FORMAT, "manifests": state.manifests, "asked_at": state.asked_at, "good_at": state.good_at,
            "problem": state.problem,
        }  # fmt: skip
        write_bytes(self._path("state.json"), orjson.dumps(known), mode=PRIVATE_FILE)
        return state


def _parts(dataset: Any) -> tuple[dict[str, int], list[str], list[str]]:
    """What a version consists of, by its manifest alone: data files with their bytes, other files, and indexes."""
    data: dict[str, int] = {}
    others = []
    for fragment in dataset.get_fragments():
        for file in fragment.metadata.files:
            if file.file_size_bytes:
                data[f"{_DATA}/{file.path}"] = file.file_size_bytes
            else:
                others.append(f"{_DATA}/{file.path}")
        if (deleted := fragment.deletion_file()) is not None:
            others.append(deleted)
    return data, others, [segment.uuid for index in dataset.describe_indices() for segment in index.segments]
