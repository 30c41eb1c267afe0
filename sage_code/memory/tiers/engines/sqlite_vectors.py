"""Vectors in SQLite: `facts` says which model made them, the tables of parts say which slot belongs to which row.

The vectors themselves are in files (`vector_files.py`). The files of a model have the number of their generation in
their names: a new model, or files that are missing or damaged, begin a new generation. Then every message is listed in
`unembedded`, and `use_model` says that every row has to be embedded again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sage_code.errors import UsageError, explain
from sage_code.memory.tiers.engines.protocol import Kind, Part
from sage_code.memory.tiers.engines.sqlite_words import KINDS, allowed_of, sequences_of
from sage_code.memory.tiers.engines.vector_files import VectorFiles, VectorsDamaged, delete_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.sqlite_transaction import SqliteTransaction
    from sage_code.memory.tiers.values import Scope

_FACT = "vectors"
# A scope of up to so many rows is listed by SQL, in 11 ms of processor time, before vectors are compared.
_LISTED = 50_000
# Rows that are found for each one that is wanted, where the scope allows only some of them.
_OVERSAMPLED = 8


@dataclass(frozen=True, slots=True)
class Generation:
    """What the files of vectors were made with."""

    number: int
    model: str
    dim: int
    # Whether vectors were dropped and nobody was told yet.
    dropped: bool = False


class SqliteVectors:
    """The vectors of one database. One process writes at a time: the one whose transaction has SQLite's lock."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.damaged = False  # noticed while reading; the engine then calls `drop`
        self._files: dict[tuple[int, Kind], VectorFiles] = {}

    def add(self, rows: SqliteTransaction, kind: Kind, parts: Sequence[Part], vectors: NDArray[np.float32]) -> None:
        """See `Engine.add_vectors`."""
        if not parts:
            return
        generation = self._generation(rows)
        if generation is None:
            raise UsageError("vectors are added before `use_model`", "say first which model makes them")
        if vectors.shape != (len(parts), generation.dim):
            raise UsageError(
                f"{vectors.shape} numbers for {len(parts)} vectors of {generation.dim} dimensions",
                "the model has changed: call `use_model` and embed again",
            )
        agents = np.array([part.agent for part in parts], np.uint32)
        sequences = np.array([part.sequence for part in parts], np.int64)
        try:
            first = self._last(rows, kind) + 1
            try:
                self._of(generation, kind).write(first, agents, sequences, vectors)
            except VectorsDamaged:
                generation = self._begin(rows, replace(generation, number=generation.number + 1, dropped=True))
                first = 1
                self._of(generation, kind).write(first, agents, sequences, vectors)
        except OSError as error:
            raise explain(error) from error
        rows.many(
            f"INSERT INTO {kind}_parts (slot, sequence) VALUES (?, ?)",
            ((first + place, part.sequence) for place, part in enumerate(parts)),
        )
        if kind == "message" and rows.one("SELECT 1 FROM unembedded LIMIT 1"):
            rows.many("DELETE FROM unembedded WHERE sequence = ?", ((part.sequence,) for part in parts))

    def nearest(
        self, rows: SqliteTransaction, kind: Kind, vector: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        """See `Engine.nearest`."""
        files, last = self._readable(rows, kind, vector)
        if files is None or limit <= 0:
            return []
        try:
            number = scope.agent.number
            listed = None if scope.is_whole else sequences_of(rows, kind, scope, _LISTED)
            wanted = limit if scope.is_whole or listed is not None else _OVERSAMPLED * limit
            found = self._in_scope(rows, kind, scope, files.nearest(vector, number, last, wanted, listed), limit)
            if len(found) < limit and listed is None and not scope.is_whole:
                listed = sequences_of(rows, kind, scope, last)
                found = self._in_scope(rows, kind, scope, files.nearest(vector, number, last, limit, listed), limit)
        except VectorsDamaged:
            self.damaged = True
            return []
        return found

    def cosines(
        self, rows: SqliteTransaction, kind: Kind, vector: NDArray[np.float32], sequences: Sequence[int]
    ) -> dict[int, float]:
        """See `Engine.cosines`."""
        files, last = self._readable(rows, kind, vector)
        if files is None or not sequences:
            return {}
        try:
            slots = np.array(self._slots(rows, kind, sequences), np.int64)
            found, cosines = files.of_slots(vector, np.sort(slots[slots <= last]), last)
        except VectorsDamaged:
            self.damaged = True
            return {}
        return dict(zip(found.tolist(), cosines.tolist(), strict=True))

    def remove(self, rows: SqliteTransaction, kind: Kind, sequences: Sequence[int]) -> None:
        """Take rows out of the tables; their vectors are overwritten after the commit."""
        slots = self._slots(rows, kind, sequences)
        rows.many(f"DELETE FROM {kind}_parts WHERE slot = ?", ((slot,) for slot in slots))
        if kind == "message":
            rows.many("DELETE FROM unembedded WHERE sequence = ?", ((sequence,) for sequence in sequences))
        generation = self._generation(rows)
        if generation is not None and slots:
            files = self._of(generation, kind)
            rows.after_commit.append(lambda: files.clear(np.array(slots, np.int64)))

    def use_model(self, rows: SqliteTransaction, name: str, dim: int, *, may_write: bool) -> bool | None:
        """Whether every row has to be embedded again; None if that has to be asked with a transaction that writes."""
        if dim < 1:
            raise UsageError(f"a model of {dim} dimensions", "a vector has at least one component")
        known = self._generation(rows)
        same = known is not None and (known.model, known.dim) == (name, dim)
        sound = self._is_complete(rows)
        if same and sound and known is not None and not known.dropped:
            return False
        if not may_write:
            return None
        if known is None:
            self._store(rows, Generation(1, name, dim))
            return False
        if not (same and sound):
            self._begin(rows, Generation(known.number + 1, name, dim))
        else:
            self._store(rows, replace(known, dropped=False))
        return True

    def drop(self, rows: SqliteTransaction) -> None:
        """Begin a new generation if files are missing or too short."""
        known = self._generation(rows)
        if known is not None and not self._is_complete(rows):
            self._begin(rows, replace(known, number=known.number + 1, dropped=True))

    def tidy(self, rows: SqliteTransaction) -> None:
        """Overwrite what no row has any more and delete the files of older generations. Holds the writer's lock."""
        generation = self._generation(rows)
        self._delete_all_but(generation.number if generation else 0)
        if generation is None:
            return
        try:
            for kind in KINDS:
                if last := self._last(rows, kind):
                    files = self._of(generation, kind)
                    known = rows.all(f"SELECT slot FROM {kind}_parts")
                    unknown = np.setdiff1d(files.used(last), np.fromiter((slot for (slot,) in known), np.int64))
                    files.clear(unknown)
        except VectorsDamaged:
            self.damaged = True

    def problems(self, rows: SqliteTransaction) -> list[str]:
        """What is wrong with the vectors of each kind."""
        generation = self._generation(rows)
        found = []
        for kind in KINDS if generation else ():
            assert generation is not None
            last = self._last(rows, kind)
            known = rows.all(f"SELECT slot, sequence FROM {kind}_parts ORDER BY slot")
            if not known:
                continue
            slots, sequences = np.array(known, np.int64).T
            try:
                wrong = len(self._of(generation, kind).wrong(slots, sequences, last))
            except VectorsDamaged as error:
                found.append(f"{error} is missing or too short; the {kind}s are embedded again when they are searched")
            else:
                if wrong:
                    found.append(f"{wrong} vectors of {kind}s are empty or of another row")
        return found

    def close(self) -> None:
        """Let all files go."""
        for files in list(self._files.values()):
            files.close()
        self._files.clear()

    def _in_scope(
        self,
        rows: SqliteTransaction,
        kind: Kind,
        scope: Scope,
        found: tuple[NDArray[np.int64], NDArray[np.float32]],
        limit: int,
    ) -> list[tuple[int, float]]:
        """The first of the found rows that exist and are in the scope; files alone never decide whose a row is."""
        cosines = dict(zip(found[0].tolist(), found[1].tolist(), strict=True))
        chosen: list[tuple[int, float]] = []
        ranked = list(cosines)
        step = 2 * limit
        for start in range(0, len(ranked), step):
            allowed = allowed_of(rows, kind, scope, ranked[start : start + step])
            chosen += [(sequence, cosines[sequence]) for sequence in allowed]
            if len(chosen) >= limit:
                break
        return chosen[:limit]

    def _readable(
        self, rows: SqliteTransaction, kind: Kind, vector: NDArray[np.float32]
    ) -> tuple[VectorFiles | None, int]:
        """The files with the slots that this transaction knows; none if there are none, or of another dimension."""
        generation = self._generation(rows)
        last = self._last(rows, kind) if generation is not None else 0
        if generation is None or not last or vector.shape != (generation.dim,):
            return None, 0
        return self._of(generation, kind), last

    def _is_complete(self, rows: SqliteTransaction) -> bool:
        generation = self._generation(rows)
        try:
            for kind in KINDS if generation is not None else ():
                assert generation is not None
                if last := self._last(rows, kind):
                    self._of(generation, kind).check(last)
        except VectorsDamaged:
            return False
        return True

    def _begin(self, rows: SqliteTransaction, generation: Generation) -> Generation:
        """Forget all vectors and list every message as not embedded."""
        for kind in KINDS:
            rows.run(f"DELETE FROM {kind}_parts")
            rows.run("DELETE FROM sqlite_sequence WHERE name = ?", (f"{kind}_parts",))
        rows.run("INSERT INTO unembedded SELECT sequence FROM messages WHERE true ON CONFLICT DO NOTHING")
        self._store(rows, generation)
        rows.after_commit.append(lambda: self._delete_all_but(generation.number))
        return generation

    def _delete_all_but(self, number: int) -> None:
        for key in [key for key in self._files if key[0] != number]:
            self._files.pop(key).close()
        delete_files(self.folder, keep=f"-{number}")

    def _generation(self, rows: SqliteTransaction) -> Generation | None:
        found = rows.one("SELECT value FROM facts WHERE name = ?", (_FACT,))
        return Generation(**json.loads(found[0])) if found is not None else None

    def _store(self, rows: SqliteTransaction, generation: Generation) -> None:
        rows.run(
            "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (_FACT, json.dumps(asdict(generation))),
        )

    def _last(self, rows: SqliteTransaction, kind: Kind) -> int:
        """The greatest slot that was ever given, so that no slot is given twice."""
        found = rows.one("SELECT seq FROM sqlite_sequence WHERE name = ?", (f"{kind}_parts",))
        return int(found[0]) if found is not None else 0

    def _slots(self, rows: SqliteTransaction, kind: Kind, sequences: Sequence[int]) -> list[int]:
        found = rows.all(
            f"SELECT p.slot FROM json_each(?) c CROSS JOIN {kind}_parts p ON p.sequence = c.value",
            (json.dumps(list(sequences)),),
        )
        return [slot for (slot,) in found]

    def _of(self, generation: Generation, kind: Kind) -> VectorFiles:
        key = (generation.number, kind)
        files = self._files.get(key)
        if files is None:
            files = self._files[key] = VectorFiles(self.folder, f"{kind}-{generation.number}", generation.dim)
        return files


def folder_of(path: str) -> str:
    """The folder of the vectors of a database."""
    return f"{os.fspath(path)}-vectors"
