"""Makes the tables on a PostgreSQL server and brings them up to date, once, however many processes begin at a time.

The numbered files of `migrations/` are applied in order, each in one transaction that also notes its number. All of
Sage's tables are in a schema of their own. The extension `vector` is the only thing that is made outside of it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sage_code.errors import FormatTooNew, StoreError
from sage_code.memory.tiers.engines.postgres_driver import SCHEMA, prepare

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.postgres_driver import Address, Connection

# Whoever holds these locks of the server's is the only one that changes tables, or that builds indexes of vectors.
MIGRATION_LOCK = 0x5361_6765_0001
MAINTENANCE_LOCK = 0x5361_6765_0002
_FOLDER = Path(__file__).parent / "migrations"
_FILE = re.compile(r"(\d{4})_\w+\.sql")
# `halfvec` comes with pgvector 0.7, and searches that go on until a filter is satisfied with 0.8.
_OLDEST_VECTOR = (0, 8)


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """All migrations by number, as SQL."""
    found = [(int(match[1]), path) for path in _FOLDER.iterdir() if (match := _FILE.fullmatch(path.name))]
    return tuple((number, path.read_text(encoding="utf-8")) for number, path in sorted(found))


def migrate(connection: Connection, address: Address) -> None:
    """Bring the tables up to date."""
    newest = migrations()[-1][0]
    version = _version(connection)
    if version < newest:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            _make_extension(connection, address)
            _make_schema(connection, address)
        prepare(connection)  # the schema of the extension is known only now
        for number, sql in migrations():
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                if number > _version(connection):
                    connection.execute(sql.encode())
                    connection.execute("INSERT INTO sage_migrations (number) VALUES (%s)", (number,))
        version = _version(connection)
    if version > newest:
        raise FormatTooNew(f"{address.shown} was written by a newer Sage", "update Sage; nothing was changed")
    _check_extension(connection, address)


def _version(connection: Connection) -> int:
    """The newest migration that the database has; 0 if it has none."""
    if connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.sage_migrations",)).fetchone() == (None,):
        return 0
    found = connection.execute("SELECT coalesce(max(number), 0) FROM sage.sage_migrations").fetchone()
    return int(found[0]) if found else 0


def _make_schema(connection: Connection, address: Address) -> None:
    """Make Sage's schema and the table that notes migrations, if they are not there."""
    import psycopg

    if connection.execute("SELECT to_regnamespace(%s)", (SCHEMA,)).fetchone() == (None,):
        try:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")
        except psycopg.errors.InsufficientPrivilege:
            raise StoreError(
                f"{address.shown}: the user may not create the schema {SCHEMA}",
                f"let the administrator run: CREATE SCHEMA {SCHEMA} AUTHORIZATION {connection.info.user}",
            ) from None
    connection.execute(
        "CREATE TABLE IF NOT EXISTS sage.sage_migrations"
        " (number INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
    )


def _make_extension(connection: Connection, address: Address) -> None:
    """pgvector goes where the server puts it, not into Sage's schema: others in the database may use it too."""
    import psycopg

    if _extension(connection):
        return
    hint = f"let the administrator run in the database {connection.info.dbname}: CREATE EXTENSION vector"
    try:
        connection.execute("CREATE EXTENSION vector WITH SCHEMA public")
    except psycopg.errors.InsufficientPrivilege:
        raise StoreError(f"{address.shown}: the user may not create the extension vector", hint) from None
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported):
        raise StoreError(
            f"{address.shown}: the server has no extension vector", f"install pgvector on the server, then {hint}"
        ) from None


def _check_extension(connection: Connection, address: Address) -> None:
    version = _extension(connection)
    if tuple(map(int, re.findall(r"\d+", version)))[:2] < _OLDEST_VECTOR:
        wanted = ".".join(map(str, _OLDEST_VECTOR))
        raise StoreError(
            f"{address.shown}: the extension vector is {version or 'missing'}, Sage needs {wanted}",
            "let the administrator install a newer pgvector and run: ALTER EXTENSION vector UPDATE",
        )


def _extension(connection: Connection) -> str:
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return str(found[0]) if found else ""
