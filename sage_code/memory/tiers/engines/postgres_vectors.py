"""Vectors on a PostgreSQL server: half precision, nearest first by cosine, indexed in stretches.

To add a vector to an HNSW index costs far more than to store it. So vectors are added without one, and the newest
are compared one by one. When they have become many, `index_vectors` builds an index over the stretch of slots that has
none yet, beside readers and writers; neighbouring stretches are joined when the new one is as long as the last. Which
rows are found never depends on an index: one that is missing makes a search slower, and nothing else.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sage_code.memory.tiers.engines.postgres_facts import (
    COUNTED_ROWS,
    MODEL,
    SEARCH_WIDTH,
    Stretch,
    covered,
    model_in,
    stretch_of,
)
from sage_code.memory.tiers.engines.postgres_migrating import MIGRATION_LOCK
from sage_code.memory.tiers.engines.postgres_values import named, numbers_literal, translated
from sage_code.memory.tiers.engines.scoping import conditions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.postgres_driver import Connection
    from sage_code.memory.tiers.engines.postgres_facts import Facts
    from sage_code.memory.tiers.engines.protocol import Kind, Part
    from sage_code.memory.tiers.values import Scope

# Vectors without an index up to which a search compares them all; not measured yet.
UNINDEXED = 10_000
# Links of a vector, and candidates that are compared when they are made. 200,000 vectors of the bundled model take 161
# seconds of processor time. Of the ten nearest to made-up queries, 400 candidates find 0.96; with 12 and 48 links and
# candidates 0.93, with 8 and 32 0.87.
_LINKS, _BUILD_WIDTH = 16, 64
_WIDEST = 1000
# A row may have several vectors: more are asked for than rows are wanted.
_PARTS_OF_A_ROW = 1.5
# Rows that may answer up to which all of their vectors are compared.
_FEW = COUNTED_ROWS - 1
# While an index is built it is in memory; with less than it needs, building takes many times as long.
_LINK_BYTES, _LEAST_MEMORY, _MOST_MEMORY = 80, 64 << 20, 2 << 30
# Processes of the server that build one index together with the one that was asked to.
_WORKERS = 3
_COPY_HEAD = b"PGCOPY\n\xff\r\n\x00" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)
# Vectors that are sent at once.
_BATCH = 4096


def model_of(connection: Connection, *, lock: bool = False) -> tuple[str, int] | None:
    """The model that the stored vectors are made by, and its dimension. With `lock` it stays the model until the end of
    the transaction."""
    sql = "SELECT value FROM facts WHERE name = %s" + (" FOR SHARE" if lock else "")
    found = connection.execute(sql.encode(), (MODEL,)).fetchone()
    return None if found is None else model_in(found[0])


def use_model(connection: Connection, name: str, dim: int) -> bool:
    """Make the tables of vectors for a model; those of another one are dropped. Whether there were any."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        before = model_of(connection)
        if before == (name, dim):  # another process was faster
            return False
        connection.execute(
            "INSERT INTO facts (name, value) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (MODEL, f"{dim} {name}"),
        )
        kinds: tuple[Kind, ...] = ("message", "passage")
        for kind in kinds:
            connection.execute(named(kind, _TABLE).replace("$dim", str(int(dim))).encode())
        if before is None:
            return False
        connection.execute("INSERT INTO unembedded SELECT sequence FROM messages ON CONFLICT (sequence) DO NOTHING")
    return True


# Half precision: half the size of single precision.
_TABLE = """
    DROP TABLE IF EXISTS $parts;
    CREATE TABLE $parts (
        slot BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        sequence BIGINT NOT NULL,
        agent BIGINT NOT NULL,
        embedding halfvec($dim) NOT NULL
    );
    ALTER TABLE $parts ALTER embedding SET STATISTICS 0, ALTER embedding SET STORAGE PLAIN;
    CREATE INDEX $parts_of_row ON $parts (sequence);
"""


def add_vectors(connection: Connection, kind: Kind, parts: Sequence[Part], vectors: NDArray[np.float32]) -> None:
    """Store vectors, in one COPY. All rows have the same length, so that NumPy lays them out."""
    if not parts:
        return
    dim = vectors.shape[1]
    layout = np.dtype(
        [
            ("fields", ">i2"), ("sequence_bytes", ">i4"), ("sequence", ">i8"), ("agent_bytes", ">i4"), ("agent", ">i8"),
            ("embedding_bytes", ">i4"), ("dim", ">i2"), ("unused", ">i2"), ("embedding", ">f2", (dim,)),
        ]
    )  # fmt: skip
    rows = np.zeros(len(parts), layout)
    rows["fields"], rows["sequence_bytes"], rows["agent_bytes"] = 3, 8, 8
    rows["embedding_bytes"], rows["dim"] = 4 + 2 * dim, dim
    rows["sequence"], rows["agent"] = [part.sequence for part in parts], [part.agent for part in parts]
    rows["embedding"] = vectors
    sql = named(kind, "COPY $parts (sequence, agent, embedding) FROM STDIN WITH (FORMAT binary)")
    with connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
        copy.write(_COPY_HEAD)
        for start in range(0, len(rows), _BATCH):
            copy.write(rows[start : start + _BATCH].tobytes())
        copy.write(_COPY_END)


def nearest(
    connection: Connection, kind: Kind, vector: NDArray[np.float32], scope: Scope, limit: int, facts: Facts
) -> list[tuple[int, float]]:
    """The rows with the nearest vectors."""
    if limit <= 0:
        return []
    condition, values = conditions(kind, scope)
    wanted = math.ceil(limit * _PARTS_OF_A_ROW)
    literal = _literal(vector)
    given: list[object]
    if facts.in_scope <= _FEW:
        text, given = _OF_FEW.replace("$condition", translated(condition)), [*values, literal, limit]
    else:
        if wanted > SEARCH_WIDTH:
            connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(min(wanted, _WIDEST)),))
        wanted_rows, of_rows = "p.agent = %s", [scope.agent.number, *(() if scope.is_whole else values)]
        if not scope.is_whole:
            inner = "SELECT 1 FROM $rows r WHERE r.sequence = p.sequence AND "
            # `OFFSET 0` keeps the planner from joining the tables whole.
            wanted_rows += f" AND EXISTS ({inner}{translated(condition)} OFFSET 0)"
        indexed = facts.stretches
        text = _union(indexed).replace("$filter", wanted_rows)
        given = [*(literal, *of_rows, literal, wanted) * (len(indexed) + 1), limit]
    rows = connection.execute(named(kind, text).encode(), given).fetchall()
    return [(sequence, 1.0 - distance) for sequence, distance in rows]


# The rows that may answer first, then their vectors.
_OF_FEW = """
    WITH r AS MATERIALIZED (SELECT r.sequence FROM $rows r WHERE $condition)
    SELECT p.sequence, min(p.embedding <=> %s::halfvec) AS distance
    FROM r CROSS JOIN LATERAL (SELECT * FROM $parts p WHERE p.sequence = r.sequence OFFSET 0) p
    GROUP BY p.sequence ORDER BY distance, p.sequence LIMIT %s
"""
# The nearest of one stretch, nearly in order; the whole answer is sorted.
_OF_STRETCH = """
    (SELECT p.sequence, p.embedding <=> %s::halfvec AS distance FROM $parts p
    WHERE p.slot > $low$high AND $filter ORDER BY p.embedding <=> %s::halfvec LIMIT %s)
"""


def _union(found: Sequence[Stretch]) -> str:
    """A query over all stretches with an index and the rest that has none."""
    texts = [_OF_STRETCH.replace("$low", str(one.low)).replace("$high", f" AND p.slot <= {one.high}") for one in found]
    texts.append(_OF_STRETCH.replace("$low", str(found[-1].high if found else 0)).replace("$high", ""))
    return (
        "SELECT sequence, min(distance) AS distance FROM (" + " UNION ALL ".join(texts) + ") near"
        " GROUP BY sequence ORDER BY distance, sequence LIMIT %s"
    )


def cosines(
    connection: Connection, kind: Kind, vector: NDArray[np.float32], sequences: Sequence[int]
) -> dict[int, float]:
    """The cosine of the best part of each of these rows."""
    sql = named(
        kind,
        "SELECT sequence, 1 - min(embedding <=> %s::halfvec) FROM $parts WHERE sequence = ANY (%s::bigint[])"
        " GROUP BY sequence",
    )
    return dict(connection.execute(sql.encode(), (_literal(vector), numbers_literal(sequences))).fetchall())


def remove_vectors(connection: Connection, kind: Kind, sequences: Sequence[int]) -> None:
    """Delete the vectors of rows."""
    connection.execute(named(kind, "DELETE FROM $parts WHERE sequence = ANY (%s)").encode(), (list(sequences),))


def stretches(connection: Connection, kind: Kind) -> list[Stretch]:
    """What has an index, in order and without a gap from the first slot on."""
    return covered(one for one, valid in _indexes(connection, kind).items() if valid)


def _indexes(connection: Connection, kind: Kind) -> dict[Stretch, bool]:
    """The indexes of vectors that there are, and whether each is complete."""
    sql = named(
        kind,
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid = to_regclass('$parts')",
    )
    found = connection.execute(sql.encode()).fetchall()
    return {one: valid for name, valid in found if (one := stretch_of(name)) is not None}


def index_vectors(connection: Connection, kind: Kind, *, unindexed: int = UNINDEXED) -> bool:
    """Build an index for the vectors that have none, if they are many. Whether one was built."""
    for one, valid in _indexes(connection, kind).items():
        if not valid:  # its builder was killed
            _drop(connection, kind, one)
    covered = stretches(connection, kind)
    sql = named(kind, "SELECT coalesce(max(slot), 0) FROM $parts")
    row = connection.execute(sql.encode()).fetchone()
    high = int(row[0]) if row else 0
    low = covered[-1].high if covered else 0
    if high - low <= unindexed:
        return False
    while covered and covered[-1].high - covered[-1].low <= high - low:
        low = covered.pop().low
    stretch = Stretch(low, high)
    _build(connection, kind, stretch)
    for one in _indexes(connection, kind):
        if one != stretch and one.low >= stretch.low and one.high <= stretch.high:
            _drop(connection, kind, one)
    return True


def _build(connection: Connection, kind: Kind, stretch: Stretch) -> None:
    """Build an index, beside readers and writers."""
    import psycopg

    sql = named(
        kind,
        f"CREATE INDEX CONCURRENTLY {_name(stretch)} ON $parts USING hnsw (embedding halfvec_cosine_ops)"
        f" WITH (m = {_LINKS}, ef_construction = {_BUILD_WIDTH}) WHERE slot > {stretch.low} AND slot <= {stretch.high}",
    )
    model = model_of(connection)
    each = 2 * (model[1] if model else 0) + _LINKS * _LINK_BYTES
    memory = min(max((stretch.high - stretch.low) * each, _LEAST_MEMORY), _MOST_MEMORY)
    for workers in (_WORKERS, 0):
        connection.execute(
            "SELECT set_config('maintenance_work_mem', %s, false),"
            " set_config('max_parallel_maintenance_workers', %s, false)",
            (f"{memory // 1024}kB", str(workers)),
        )
        try:
            connection.execute(sql.encode())
        except psycopg.errors.DiskFull:  # also said of shared memory, of which a container has little
            _drop(connection, kind, stretch)
            if not workers:
                raise
        else:
            return


def _drop(connection: Connection, kind: Kind, stretch: Stretch) -> None:
    connection.execute(named(kind, f"DROP INDEX CONCURRENTLY IF EXISTS {_name(stretch)}").encode())


def _name(stretch: Stretch) -> str:
    return f"$parts_hnsw_{stretch.low}_{stretch.high}"


def _literal(vector: NDArray[np.float32]) -> str:
    return "[" + ",".join(map(repr, np.asarray(vector, np.float32).tolist())) + "]"
