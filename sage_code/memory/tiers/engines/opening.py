"""Opens the database that the settings name: the user's own file, or a server's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sage_code.errors import ConfigError
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine

_POSTGRES = ("postgresql://", "postgres://")


def default_path() -> str:
    """The database of this user, in Sage's home."""
    return os.path.join(sage_home(), "memory", "memory.db")


def is_server(uri: str) -> bool:
    """Whether an address names a server, not a file."""
    return uri.startswith(_POSTGRES)


def is_there(uri: str = "") -> bool:
    """Whether the database at an address exists, so that opening it makes none. A server is asked when it is opened."""
    return is_server(uri) or os.path.isfile(os.path.expanduser(uri) if uri else default_path())


def open_engine(uri: str = "") -> Engine:
    """The database at an address: empty for the user's own, a path, or `postgresql://…`."""
    if is_server(uri):
        from sage_code.memory.tiers.engines.postgres import PostgresEngine  # lazy: psycopg comes with an extra

        return PostgresEngine(uri)
    if "://" in uri:
        raise ConfigError(
            f"memory_uri cannot be {uri.partition('://')[0]}://…", "allowed are a path and postgresql://…"
        )
    from sage_code.memory.tiers.engines.sqlite import SqliteEngine  # lazy: a server needs no SQLite

    return SqliteEngine(os.path.expanduser(uri) if uri else default_path())
