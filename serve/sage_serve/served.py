"""Which projects are served, to whom, and whether the server is ready to answer about them."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from sage_code.errors import SageError
from sage_code.serving.requester import ADMIN, Requester

if TYPE_CHECKING:
    from sage_code.serving.users import User

# The registry and the database are looked at so often, not with each request.
_KEPT_S = 2.0
_DATABASE_KEPT_S = 5.0
_DATABASE_PATIENCE_S = 2


class Served:
    """The projects of a server."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._lock = threading.Lock()
        self._roots: dict[str, str] = {}  # of each served project: its name by its folder
        self._until = 0.0
        self._database = ("", 0.0)

    def requester(self, user: User) -> Requester:
        """A user with the projects that are served to that user; an admin has all of them.

        The fleet is read by users without a limit, of a server without one; a limit on projects that has the full name
        of one of the fleet's repositories allows that one.
        """
        roots = self.roots()
        if user.projects and ADMIN not in user.scopes:
            wanted = [os.path.realpath(one) if os.sep in one else one for one in user.projects]
            chosen = [root for one in wanted for root, name in roots.items() if one in (root, name)]
            named = user.projects if not self._names else tuple(one for one in user.projects if one in self._names)
            return Requester(user.name, frozenset(user.scopes), tuple(dict.fromkeys(chosen)), named)
        return Requester(user.name, frozenset(user.scopes), tuple(roots), self._names or None)

    def roots(self) -> dict[str, str]:
        """The served projects, the first of the command line first; may be a moment old."""
        with self._lock:
            if time.monotonic() > self._until:
                self._roots = self._found()
                self._until = time.monotonic() + _KEPT_S
            return self._roots

    def _found(self) -> dict[str, str]:
        """The served projects as the registry has them now."""
        from sage_code.discover.roots import why_unusual  # lazy: the port is open before anything is loaded
        from sage_code.index import registry

        known = {entry.root: entry.name for entry in registry.projects()}
        known = {root: name for root, name in known.items() if os.path.isdir(root) and not why_unusual(root)}
        if not self._names:
            return known
        wanted = [(given, os.path.realpath(given)) for given in self._names]
        return {
            root: name for given, folder in wanted for root, name in known.items() if folder == root or given == name
        }

    def ages(self) -> dict[str, float]:
        """For each served project with an index: the seconds since it was published."""
        from sage_code.paths import manifest_path

        found = {}
        for root, name in self.roots().items():
            try:
                found[name] = max(0.0, time.time() - os.stat(manifest_path(root)).st_mtime)
            except OSError:
                continue
        return found

    def why_not_ready(self) -> str:
        """What keeps the server from answering well; empty if it is ready. Waits for the database: not for the loop."""
        roots = self.roots()
        if not roots:
            return "no indexed project is served"
        if len(self.ages()) < len(roots):
            return "the index of a project cannot be read"
        return self._why_no_database()

    def _why_no_database(self) -> str:
        """Why the team's PostgreSQL server cannot be reached; empty if it can, or if none is configured."""
        said, until = self._database
        if time.monotonic() < until:
            return said
        from sage_code.settings.loading import load_settings  # lazy: settings are read when readiness is asked

        try:
            address, said = load_settings(None).memory_uri, ""
        except SageError:
            address, said = "", "the server's settings cannot be read"
        if address.startswith(("postgresql://", "postgres://")):
            said = _database_problem(address)
        self._database = (said, time.monotonic() + _DATABASE_KEPT_S)
        return said


def _database_problem(address: str) -> str:
    """Why a PostgreSQL server does not answer; empty if it does."""
    try:
        import psycopg  # lazy: an extra
    except ImportError:
        return "PostgreSQL is configured and psycopg is not installed"
    try:
        with psycopg.connect(address, connect_timeout=_DATABASE_PATIENCE_S) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:  # its text may have the address with a password
        return "PostgreSQL cannot be reached"
    return ""
