"""What the tiers ask of a database: transactions with plain SQL, words and vectors that are searched.

The SQL of `tables/` is written once. It uses what SQLite and PostgreSQL have in common, with `?` for each value:
`INSERT … ON CONFLICT … DO NOTHING`, `RETURNING`, `WITH`. Times go in as `datetime` and come out through `moment`, lists
of texts go in as tuples and come out through `texts`, anything else that is nested goes in as `Json` and comes out
through `nested`. An id is a UUID in its usual spelling. What the engines do differently (migrations, full text,
vectors) is behind the methods of `Engine`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.memory.tiers.values import Scope

Row: TypeAlias = tuple[Any, ...]
# What has words and vectors: the messages of conversations, the passages of the archive.
Kind: TypeAlias = Literal["message", "passage"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Json:
    """A nested value on its way into a column."""

    value: object


class Part(NamedTuple):
    """A vector on its way into the index: of which row (`sequence`), and whose (`Agent.number`)."""

    sequence: int
    agent: int


class Transaction(Protocol):
    """One transaction. It is committed when its `with` block ends, and rolled back if that raises."""

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        """The first row of a query."""

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Run a statement; returns how many rows it changed."""

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each of the rows."""

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[int]:
        """Insert rows into a table that numbers them; returns their sequences, in order. Their ids have to be new."""

    def lock_agent(self, agent_id: str) -> None:
        """Wait until no other transaction changes what belongs to this agent; until the end of this one none does."""


class Engine(Protocol):
    """An open database. Safe to share between threads; after a fork, open another one.

    `reading` and `writing` raise `StoreError` with a hint if the database refuses (disk full, server gone) and `Busy`
    if another process holds it for too long. Nothing of a failed block is stored.
    """

    @property
    def uri(self) -> str:
        """Where the database is, without a password."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database and changes nothing."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that may change rows."""

    def add_words(self, rows: Transaction, kind: Kind, words: Sequence[tuple[int, str]]) -> None:
        """Index the words of rows, by sequence; words are separated by blanks, parts of a text by line ends."""

    def words_of(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> dict[int, str]:
        """The words of rows, as they were added."""

    def frequencies(self, rows: Transaction, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
        """How many rows have each word, over all agents; rough for words that are everywhere."""

    def with_words(
        self, rows: Transaction, kind: Kind, weights: Mapping[str, float], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        """The sequences of the rows that fit the weighted words best, best first, with a score.

        A word that most rows have may be left out where rarer words find enough.
        """

    def add_vectors(self, rows: Transaction, kind: Kind, parts: Sequence[Part], vectors: NDArray[np.float32]) -> None:
        """Index vectors of unit length; a row may have several, one for each part of its text."""

    def nearest(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], scope: Scope, limit: int
    ) -> list[tuple[int, float]]:
        """The sequences of the rows with the nearest vectors and the cosine of the best part, nearest first."""

    def cosines(
        self, rows: Transaction, kind: Kind, vector: NDArray[np.float32], sequences: Sequence[int]
    ) -> dict[int, float]:
        """The cosine of the best part of each of these rows, if it has vectors."""

    def remove(self, rows: Transaction, kind: Kind, sequences: Sequence[int]) -> None:
        """Take rows out of the indexes of words and vectors; the rows themselves are deleted by the caller."""

    def use_model(self, name: str, dim: int) -> bool:
        """Say which model the vectors are made by. If the database has vectors of another one, they are dropped, and
        the result is True: every row has to be embedded again."""

    def leading(self, job: str) -> AbstractContextManager[Callable[[], bool]]:
        """Be the only process that does a job for this database. The function says whether it is this one now, and asks
        for it otherwise; who leads stays it until the block ends or its process dies. It never waits."""

    def maintain(self) -> None:
        """Do the work that keeps later searches fast, if there is any. It may take minutes after a large import."""

    def erase(self) -> None:
        """Make sure that nothing that was deleted can be read from the files any more."""

    def verify(self) -> list[str]:
        """What is wrong with the database; empty if it is sound."""

    def size(self) -> int:
        """The bytes of the database with its indexes."""

    def close(self) -> None:
        """Close all connections and files."""


def moment(value: object) -> datetime:
    """A time that an engine has read."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    assert isinstance(value, int)
    return _EPOCH + timedelta(microseconds=value)


def seconds(value: object) -> float:
    """A time that an engine has read, in seconds since 1970."""
    return value / 1e6 if isinstance(value, int) else moment(value).timestamp()


def microseconds(value: datetime) -> int:
    """A time as SQLite stores it. A time without a zone is local."""
    return (value.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def texts(value: object) -> tuple[str, ...]:
    """A list of texts that an engine has read."""
    found = json.loads(value) if isinstance(value, str) else value
    return tuple(map(str, found)) if isinstance(found, list) else ()


def nested(value: object) -> Any:
    """A nested value that an engine has read."""
    return json.loads(value) if isinstance(value, str) else value


def marks(values: Sequence[object]) -> str:
    """As many question marks as there are values, for `IN (…)`."""
    return ", ".join("?" * len(values))
