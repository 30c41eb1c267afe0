"""Makes the tables, functions and roles of a team's database, and the roles of persons. Run by its administrator.

Three roles that cannot log in: `sage_team_owner` owns everything, `sage_team_member` may call the functions, and
`sage_team_server` may act for every member (`SET ROLE`), for a server that knows its users by their tokens.
"""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from sage_code.errors import FormatTooNew, UsageError
from sage_code.memory.tiers.engines.postgres_migrating import MIGRATION_LOCK

if TYPE_CHECKING:
    from sage_code.memory.team.connecting import TeamDatabase
    from sage_code.memory.tiers.engines.postgres_driver import Connection

OWNER, MEMBER, SERVER = "sage_team_owner", "sage_team_member", "sage_team_server"
_FOLDER = Path(__file__).parent / "migrations"
_FILE = re.compile(r"(\d{4})_\w+\.sql")
# Names of roles that a person may have: without quotes, and none of PostgreSQL's or Sage's own. Without `--`, since
# the name of a file that holds a shared memory ends with `--` and its author.
_NAME = re.compile(r"(?!pg_|sage_team_|.*--)[a-z][a-z0-9_-]{0,61}[a-z0-9]")
_TEAM = re.compile(r"[a-z0-9][a-z0-9_.-]{0,62}")


def initialise(database: TeamDatabase) -> int:
    """Make everything, or bring it up to date; returns the number of the newest migration."""
    newest = 0
    with database.alone() as connection:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            _make_roles(connection)
            if connection.execute("SELECT to_regnamespace('sage_team')").fetchone() == (None,):
                connection.execute(f"CREATE SCHEMA sage_team AUTHORIZATION {OWNER}".encode())
            connection.execute(f"SET LOCAL ROLE {OWNER}".encode())
            connection.execute(
                "CREATE TABLE IF NOT EXISTS sage_team.migrations"
                " (number INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"
            )
            row = connection.execute("SELECT coalesce(max(number), 0) FROM sage_team.migrations").fetchone()
            version = int(row[0]) if row else 0
            for path in sorted(_FOLDER.iterdir()):
                if match := _FILE.fullmatch(path.name):
                    newest = int(match[1])
                    if newest > version:
                        connection.execute(path.read_text(encoding="utf-8").encode())
                        connection.execute("INSERT INTO sage_team.migrations (number) VALUES (%s)", (newest,))
            if version > newest:
                raise FormatTooNew(f"{database.address.shown} was written by a newer Sage", "update Sage")
    return newest


def make_login(database: TeamDatabase, name: str, *, is_server: bool = False) -> str | None:
    """Give a person, or a server, a role that can log in; returns its new password, None if the role was there.

    The server gets only the password's hash, so that no log has it.
    """
    from psycopg import sql

    checked_member(name)
    with database.alone() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        password = None
        role = sql.Identifier(name)
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is None:
            password = secrets.token_urlsafe(24)
            hashed = connection.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN {} PASSWORD {}").format(
                    role, sql.SQL("NOINHERIT" if is_server else "INHERIT"), sql.Literal(hashed)
                )
            )
        if is_server:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(SERVER), role))
        else:
            connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(MEMBER), role))
            connection.execute(sql.SQL("GRANT {} TO {}").format(role, sql.Identifier(SERVER)))
    return password


def checked_member(name: str) -> str:
    """The name of a member, which is that of a role; UsageError for one that is not possible."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name[:80]!r} is no name of a member", "use small letters, digits, _ and -, two of them or more"
        )
    return name


def checked_team(name: str) -> str:
    """The name of a team; UsageError for one that is not possible."""
    if not _TEAM.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is no name of a team", "use small letters, digits, _ . and -")
    return name


def _make_roles(connection: Connection) -> None:
    """Make the roles that are not there. A role belongs to the whole server, and another database may have made it."""
    for role in (OWNER, MEMBER, SERVER):
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
            inherits = "NOINHERIT" if role == SERVER else "INHERIT"
            connection.execute(f"CREATE ROLE {role} NOLOGIN {inherits}".encode())
    row = connection.execute("SELECT rolsuper, pg_has_role(%s, 'MEMBER') FROM pg_roles WHERE rolname = current_user",
                             (OWNER,)).fetchone()  # fmt: skip
    if row and not row[0] and not row[1]:
        connection.execute(f"GRANT {OWNER} TO CURRENT_USER".encode())
