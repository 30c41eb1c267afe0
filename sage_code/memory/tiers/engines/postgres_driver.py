"""Reaches a PostgreSQL server: what an address means, a pool of connections, and what an error of the server means.

Everything that knows psycopg is here. It is imported when a server is asked for, because it comes with an extra and
takes 0.4 s. No message of an error has the password: an address that libpq could misread, and then quote in pieces, is
refused before it is used.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote

from sage_code.errors import Busy, ConfigError, SageError, StoreError
from sage_code.memory.tiers.engines.postgres_values import moment_loader, number_loader

if TYPE_CHECKING:
    import psycopg
    import psycopg_pool

    Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]
    Pool: TypeAlias = psycopg_pool.ConnectionPool[Connection]

SCHEMA = "sage"
# The setting that names the server of conversations and agents; that of a team has another one.
MEMORY_SETTING = "memory_uri"
# Another transaction holds an agent or a table for at most this long before the caller is told.
LOCK_PATIENCE_S = 30
# No statement of an answer takes this long; maintenance has no limit.
STATEMENT_PATIENCE_S = 120
# A process that hangs in the middle of a transaction gives its locks back after this time.
IDLE_PATIENCE_S = 600
# Connections of one process. A server allows 100 by default, and a team shares it.
MOST_CONNECTIONS = 8
_CONNECT_PATIENCE_S = 10
# A connection to a machine that is switched off is given up after half a minute, not after two hours.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
_SESSION = {
    "timezone": "UTC",
    "lock_timeout": f"{LOCK_PATIENCE_S}s",
    "statement_timeout": f"{STATEMENT_PATIENCE_S}s",
    "idle_in_transaction_session_timeout": f"{IDLE_PATIENCE_S}s",
    # Which plan is right depends on the values: an agent may have ten rows or a million.
    "plan_cache_mode": "force_custom_plan",
    # Plans are simple; to compile one takes longer than to run it.
    "jit": "off",
}
# Lines that a COPY sends together.
_LINES_AT_ONCE = 200
_EXAMPLE = "write it as postgresql://user:password@host:5432/database, special characters of the password as %XX"
_EXTRA = "pip install 'sage-code[postgres]'"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is. `text` has the password, `shown` has not."""

    text: str
    shown: str
    secrets: tuple[str, ...]
    setting: str = MEMORY_SETTING  # that names it, for messages

    def without_secrets(self, said: str) -> str:
        """A text in which no password is."""
        for secret in self.secrets:
            said = said.replace(secret, "***")
        return said


def load_driver(setting: str = MEMORY_SETTING) -> None:
    """Import psycopg and its pool, or say how they are installed."""
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"{setting} names a PostgreSQL server, but its driver is not installed", _EXTRA) from error
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of is raised to the caller


def address_of(uri: str, setting: str = MEMORY_SETTING) -> Address:
    """What an address means. One that libpq could misread is refused: it would quote pieces of the password."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        known = {name: str(value) for name, value in conninfo_to_dict(uri).items()}
    except psycopg.Error:
        raise ConfigError(f"{setting} is no address of a PostgreSQL server", _EXAMPLE) from None
    host, port, database = (known.get(name, "") for name in ("host", "port", "dbname"))
    if "@" in host or "@" in database or (port and not re.fullmatch(r"[\d,]+", port)):
        raise ConfigError(f"{setting} is no address of a PostgreSQL server", _EXAMPLE)
    raw = re.match(r"\w+://[^:@/]*:([^@/]*)@", uri)
    secrets = {known.get("password", ""), known.get("sslpassword", ""), *([raw[1], unquote(raw[1])] if raw else [])}
    user = f"{quote(known['user'])}@" if known.get("user") else ""
    shown = f"postgresql://{user}{quote(host, safe=',')}{':' if port else ''}{port}/{quote(database)}"
    return Address(uri, shown, tuple(sorted((one for one in secrets if one), key=len, reverse=True)), setting)


def connected(address: Address, patience_s: int = _CONNECT_PATIENCE_S) -> Connection:
    """A connection of its own, outside of the pool, in autocommit."""
    import psycopg

    connection = psycopg.connect(address.text, autocommit=True, **_settings(address, patience_s))
    try:
        prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def new_pool(address: Address) -> Pool:
    """A pool that connects when it is asked to; no connection is held by a process that does nothing."""
    import psycopg_pool

    return psycopg_pool.ConnectionPool(
        address.text,
        kwargs={"autocommit": True, **_settings(address)},
        min_size=0,
        max_size=MOST_CONNECTIONS,
        configure=prepare,
        reconnect_timeout=_CONNECT_PATIENCE_S,
        open=True,
    )


def copy_lines(connection: Connection, sql: str, lines: Iterable[str]) -> None:
    """Send lines to a COPY. The server stores the first ones while the others are made."""
    rest = iter(lines)
    with connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
        while some := list(islice(rest, _LINES_AT_ONCE)):
            copy.write(("\n".join(some) + "\n").encode())


def prepare(connection: Connection) -> None:
    """Set what every connection of Sage has: names are looked up in Sage's schema and where pgvector is, only."""
    from psycopg.types.string import TextLoader

    connection.adapters.register_loader("uuid", TextLoader)
    connection.adapters.register_loader("numeric", number_loader())
    connection.adapters.register_loader("timestamptz", moment_loader())
    path = (
        "SELECT set_config('search_path', concat_ws(', ', %s::text, (SELECT quote_ident(nspname) FROM pg_namespace"
        " JOIN pg_extension ON extnamespace = pg_namespace.oid WHERE extname = 'vector')), false)"
    )
    others = ", ".join("set_config(%s, %s, false)" for _ in _SESSION)
    values = [SCHEMA, *(word for pair in _SESSION.items() for word in pair)]
    connection.execute(f"{path}, {others}", values)


def _settings(address: Address, patience_s: int = _CONNECT_PATIENCE_S) -> dict[str, Any]:
    """What a connection is opened with, unless the address says otherwise."""
    wanted = {"connect_timeout": patience_s, "application_name": "sage", **_KEEPALIVE}
    return {name: value for name, value in wanted.items() if f"{name}=" not in address.text}


def is_lost(error: Exception) -> bool:
    """Whether an error means that the connection is gone."""
    import psycopg

    state = getattr(error, "sqlstate", None) or ""
    return isinstance(error, psycopg.OperationalError) and (not state or state.startswith(("08", "57P")))


def explained(error: Exception, address: Address) -> SageError:
    """An error of psycopg as an error of Sage, with what to do next."""
    said = address.without_secrets(_said(error))
    state = getattr(error, "sqlstate", None) or _state_of(said)
    for prefix, (kind, what, hint) in _MEANINGS.items():
        if state.startswith(prefix):
            return kind(f"{address.shown}: {what} ({said})", hint.replace(MEMORY_SETTING, address.setting))
    if is_lost(error):
        hint = _UNREACHABLE.replace(MEMORY_SETTING, address.setting)
        return StoreError(f"{address.shown} cannot be reached: {said}", hint)
    return StoreError(f"{address.shown}: {said}", "look at the server's log; nothing was half-written")


def _said(error: Exception) -> str:
    """The message, without the detail, which quotes values of rows."""
    primary = None
    with suppress(AttributeError):
        primary = error.diag.message_primary  # type: ignore[attr-defined]
    lines = [line.strip() for line in (primary or str(error)).splitlines() if line.strip()]
    return lines[0].removeprefix("connection failed: ") if lines else type(error).__name__


def _state_of(said: str) -> str:
    """The state that a refused connection stands for: libpq hands on only the words."""
    return next((state for words, state in _REFUSALS.items() if words in said), "")


_UNREACHABLE = "check that the server runs and that memory_uri names it; nothing was half-written"
_AGAIN = "try again; nothing was half-written"
# What the states of the SQL standard and of PostgreSQL mean, by their beginnings.
_MEANINGS: dict[str, tuple[type[SageError], str, str]] = {
    "23505": (Busy, "another transaction stored the same id", _AGAIN),
    "28": (StoreError, "the server refuses this user", "check the user and the password of memory_uri"),
    "3D000": (StoreError, "there is no such database", "create it, or correct memory_uri"),
    "40": (Busy, "another transaction came in between", _AGAIN),
    "55P03": (Busy, "another transaction holds these rows", _AGAIN),
    "57014": (Busy, "the statement took too long", _AGAIN),
    "25006": (StoreError, "the server is read-only, perhaps a replica", "let memory_uri name the primary server"),
    "42501": (StoreError, "the user may not do that", "let the administrator grant it, or use the user that owns it"),
    "53100": (StoreError, "the server's disk is full", "free some space on the server; nothing was half-written"),
    "53200": (StoreError, "the server is out of memory", _AGAIN),
    "53300": (StoreError, "the server has no connection left", "try again later, or let it allow more connections"),
    "53400": (StoreError, "a limit of the server is reached", "let the administrator raise it"),
    "57P03": (StoreError, "the server is starting or stopping", "try again in a moment"),
    "58030": (StoreError, "the server cannot read or write its disk", "look at the server's log"),
    "XX00": (StoreError, "the server says that its files are damaged", "look at the server's log; restore a backup"),
}
_REFUSALS = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "too many clients": "53300",
    "too many connections": "53300",
    "remaining connection slots": "53300",
    "the database system is": "57P03",
}
