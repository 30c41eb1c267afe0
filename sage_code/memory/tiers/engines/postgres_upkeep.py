"""What keeps a database on a PostgreSQL server fast, sound and free of what was deleted.

PostgreSQL leaves deleted rows in its files until their space is used again. `erase` rewrites the tables, so that their
files have nothing of them any more. The server's write-ahead log, its replicas and its backups are the administrator's
business: they keep what was written for as long as they are kept.
"""

from __future__ import annotations

import re
from time import monotonic, sleep
from typing import TYPE_CHECKING

from sage_code.errors import Busy, StoreError
from sage_code.memory.tiers.engines.postgres_driver import SCHEMA
from sage_code.memory.tiers.engines.postgres_migrating import MAINTENANCE_LOCK
from sage_code.memory.tiers.engines.postgres_values import named
from sage_code.memory.tiers.engines.postgres_vectors import index_vectors, model_of
from sage_code.memory.tiers.engines.postgres_words import count_common_words

if TYPE_CHECKING:
    import psycopg

    from sage_code.memory.tiers.engines.postgres_driver import Connection
    from sage_code.memory.tiers.engines.protocol import Kind

KINDS: tuple[Kind, ...] = ("message", "passage")
# Rows of vectors up to which `erase` rewrites their table: its indexes are built again, and a million take minutes.
_REWRITTEN_VECTORS = 100_000
# How long `erase` waits for transactions that still see what was deleted.
_ERASE_PATIENCE_S = 10.0
_ERASE_PAUSE_S = 0.2


def maintain(connection: Connection) -> None:
    """Index vectors that have no index yet, and count which words are common. One process does it at a time."""
    if connection.execute("SELECT pg_try_advisory_lock(%s)", (MAINTENANCE_LOCK,)).fetchone() != (True,):
        return
    connection.execute(_WITHOUT_LIMITS)
    for kind in KINDS:
        for sql in ("VACUUM (ANALYZE) $words", "ANALYZE $rows"):
            connection.execute(named(kind, sql).encode())
        with connection.transaction():
            count_common_words(connection, kind)
        if model_of(connection) is not None:
            index_vectors(connection, kind)


_WITHOUT_LIMITS = "SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)"


def erase(connection: Connection) -> None:
    """Rewrite the tables, so that their files have no deleted row.

    Nobody can use a table while it is rewritten: 220,000 messages with their vectors took 13 s on a busy machine. Of
    more than `_REWRITTEN_VECTORS` vectors, the deleted ones are cleared in the index; in the table, their space is free
    and used again by and by.
    """
    connection.execute("SELECT set_config('statement_timeout', '0', false)")
    for kind in KINDS:
        with connection.transaction():
            count_common_words(connection, kind)
    found = connection.execute(
        "SELECT c.relname, c.reltuples FROM pg_class c WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r'"
        " ORDER BY c.relname",
        (SCHEMA,),
    ).fetchall()
    end = monotonic() + _ERASE_PATIENCE_S
    for table, rows in found:
        full = not (table.endswith("_parts") and rows > _REWRITTEN_VECTORS)
        while not _rewritten(connection, table, full=full):
            if monotonic() > end:
                raise Busy(
                    "another session still reads a state of the database with what was deleted; nobody else finds it,"
                    " but it is not erased from the files yet",
                    "try again when that session has ended",
                )
            sleep(_ERASE_PAUSE_S)


def _rewritten(connection: Connection, table: str, *, full: bool) -> bool:
    """Vacuum a table; False if it still has deleted rows, because a transaction sees them."""
    said: list[tuple[str, str, str]] = []

    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        said.append(
            (diagnostic.severity_nonlocalized or "", diagnostic.message_primary or "", diagnostic.message_detail or "")
        )

    connection.add_notice_handler(note)
    try:
        options = "FULL, VERBOSE" if full else "VERBOSE"
        connection.execute(f'VACUUM ({options}) "{table}"'.encode())
    finally:
        connection.remove_notice_handler(note)
    if refused := [primary for severity, primary, _ in said if severity == "WARNING"]:
        raise StoreError(refused[0], "only the user that owns the tables can erase: let memory_uri name it")
    # "0 dead row versions cannot be removed yet", in the language of the server.
    left = [int(found[0]) for _, _, detail in said if full and (found := re.match(r"\d+", detail))]
    return not any(left)


def verify(connection: Connection) -> list[str]:
    """What is wrong: rows without words or vectors, words and vectors without a row, broken references and indexes."""
    wrong = []
    checks = [(kind, what, sql) for kind in KINDS for what, sql in _CHECKS.items()]
    checks += [("message", what, sql) for what, sql in _COUNT_CHECKS.items()]
    if model_of(connection) is not None:
        checks += [(kind, what, sql) for kind in KINDS for what, sql in _VECTOR_CHECKS.items()]
        checks += [("message", what, sql) for what, sql in _EMBEDDING_CHECKS.items()]
    for kind, what, sql in checks:
        found = connection.execute(named(kind, f"SELECT count(*) FROM {sql}").encode()).fetchone()
        if found and found[0]:
            wrong.append(f"{found[0]} {named(kind, what)}")
    for what, sql in _CATALOGUE_CHECKS.items():
        wrong += [f"{what}: {name}" for (name,) in connection.execute(sql.encode(), (SCHEMA,)).fetchall()]
    return wrong


_CHECKS = {
    "$rows have no words": "$rows r LEFT JOIN $words w ON w.sequence = r.sequence WHERE w.sequence IS NULL",
    "words have no row in $rows": "$words w LEFT JOIN $rows r ON r.sequence = w.sequence WHERE r.sequence IS NULL",
    "$rows belong to no agent": "$rows r LEFT JOIN agents a ON a.id = r.agent_id WHERE a.id IS NULL",
}
_COUNT_CHECKS = {
    "agents have a wrong count of messages": "agents a LEFT JOIN (SELECT agent_id, count(*) AS messages FROM messages"
    " GROUP BY agent_id) r ON r.agent_id = a.id WHERE a.message_count <> coalesce(r.messages, 0)",
}
_VECTOR_CHECKS = {
    "vectors have no row in $rows": "$parts p LEFT JOIN $rows r ON r.sequence = p.sequence WHERE r.sequence IS NULL",
    "vectors in $parts belong to another agent": "$parts p JOIN $rows r ON r.sequence = p.sequence"
    " JOIN agents a ON a.id = r.agent_id WHERE a.number <> p.agent",
}
_EMBEDDING_CHECKS = {
    "messages have neither vectors nor a note that they need them": "messages r WHERE"
    " NOT EXISTS (SELECT 1 FROM message_parts p WHERE p.sequence = r.sequence)"
    " AND NOT EXISTS (SELECT 1 FROM unembedded u WHERE u.sequence = r.sequence)",
}
_CATALOGUE_CHECKS = {
    # One whose builder was killed is built again by maintenance and is no damage; every other one is.
    "an index is not complete": "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " WHERE c.relnamespace = to_regnamespace(%s) AND NOT i.indisvalid AND c.relname NOT LIKE '%%\\_hnsw\\_%%'",
    "a reference is not enforced": "SELECT conname FROM pg_constraint"
    " WHERE connamespace = to_regnamespace(%s) AND contype = 'f' AND NOT convalidated",
}


def size(connection: Connection) -> int:
    """The bytes of all tables with their indexes."""
    found = connection.execute(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
        " WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind = 'r'",
        (SCHEMA,),
    ).fetchone()
    return int(found[0]) if found else 0
