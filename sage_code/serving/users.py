"""The users of `sage serve`: `serve/users.json` in Sage's home, private, with hashes of tokens and never a token.

A token is 256 random bits, so one round of SHA-256 protects it as well as a slow hash would. The file is read again
when it has changed: a revoked token is refused from the next request on.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from sage_code.errors import ConfigError, UsageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import open_regular
from sage_code.files.locks import locked
from sage_code.files.private import make_private
from sage_code.paths import sage_home
from sage_code.serving.requester import SCOPES

# 1: name, hash, scopes, projects, created, rotated.
FORMAT = 1
TOKEN_PREFIX = "sage_"  # noqa: S105 - scanners of secrets know a token by it
_TOKEN_BYTES = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_MAX_BYTES = 4 << 20
_MAX_TOKEN_CHARS = 256
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class User:
    """A user as the file keeps one."""

    name: str
    hash: str  # SHA-256 of the token, in hex
    scopes: tuple[str, ...]
    projects: tuple[str, ...]  # names or folders; none: every project that is served
    created: float
    rotated: float

    def shown(self) -> dict[str, Any]:
        """The user without the hash."""
        kept = asdict(self)
        del kept["hash"]
        return {**kept, "scopes": list(self.scopes), "projects": list(self.projects)}


def folder() -> str:
    """Where a server keeps what is its own."""
    return os.path.join(sage_home(), "serve")


def path() -> str:
    """The file of the users."""
    return os.path.join(folder(), "users.json")


def listed() -> tuple[User, ...]:
    """All users, by name."""
    try:
        with open_regular(path()) as file:
            if os.name != "nt" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
                raise ConfigError(f"others may read the users in {path()}", f"chmod 600 {path()}")
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"{path()} cannot be read: {error.strerror}", "it must be a file of your own") from error
    try:
        found = json.loads(data)
        if found["version"] != FORMAT:
            raise ConfigError(f"{path()} has format {found['version']!r}", f"update Sage, which reads {FORMAT}")
        users = (
            User(
                str(one["name"]), str(one["hash"]), tuple(map(str, one["scopes"])), tuple(map(str, one["projects"])),
                float(one["created"]), float(one["rotated"]),
            )
            for one in found["users"]
        )  # fmt: skip
        return tuple(sorted(users, key=lambda one: one.name))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path()} is damaged", "move it away and add the users again") from error


def add(name: str, scopes: Iterable[str], projects: Iterable[str] = ()) -> tuple[User, str]:
    """A new user and the token, which is kept nowhere."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} cannot be a user's name", "use a-z, 0-9, `.`, `_` and `-`, at most 63")
    wanted = _checked(scopes)
    token = _new_token()
    now = round(time.time(), 3)
    user = User(name, _hashed(token), wanted, tuple(dict.fromkeys(projects)), now, now)

    def changed(users: tuple[User, ...]) -> tuple[User, ...]:
        if any(one.name == name for one in users):
            raise UsageError(f"there is a user {name} already", f"`sage serve user rotate {name}` gives a new token")
        return (*users, user)

    _change(changed)
    return user, token


def revoke(name: str) -> None:
    """Remove a user: the token is refused from now on."""

    def changed(users: tuple[User, ...]) -> tuple[User, ...]:
        _named(users, name)
        return tuple(one for one in users if one.name != name)

    _change(changed)


def rotate(name: str) -> tuple[User, str]:
    """A new token for a user; the old one is refused from now on."""
    token = _new_token()
    made: list[User] = []

    def changed(users: tuple[User, ...]) -> tuple[User, ...]:
        made.append(replace(_named(users, name), hash=_hashed(token), rotated=round(time.time(), 3)))
        return (*(one for one in users if one.name != name), made[-1])

    _change(changed)
    return made[-1], token


class KnownUsers:
    """The users as a running server sees them."""

    def __init__(self) -> None:
        self._users: tuple[User, ...] = ()
        self._stamp: tuple[int, int, int] = (-1, -1, -1)
        self._lock = threading.Lock()

    def by_token(self, token: str) -> User | None:
        """The user with this token; every one is compared, in time that does not depend on the token."""
        if not token or len(token) > _MAX_TOKEN_CHARS:
            return None
        given = _hashed(token)
        found = None
        for one in self.all():
            if hmac.compare_digest(one.hash, given):
                found = one
        return found

    def by_name(self, name: str) -> User | None:
        """The user of this name."""
        return next((one for one in self.all() if one.name == name), None)

    def all(self) -> tuple[User, ...]:
        """The users in the file now. A file that is damaged lets in only those who were known before."""
        stamp = (0, 0, 0)
        with contextlib.suppress(OSError):
            found = os.stat(path())
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        with self._lock:
            if stamp != self._stamp:
                with contextlib.suppress(ConfigError):
                    self._users = listed()
                self._stamp = stamp
            return self._users


def _named(users: Iterable[User], name: str) -> User:
    for one in users:
        if one.name == name:
            return one
    raise UsageError(f"there is no user {name[:80]!r}", "`sage serve user list` shows them")


def _checked(scopes: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(dict.fromkeys(scope.strip() for scope in scopes if scope.strip()))
    if unknown := [scope for scope in wanted if scope not in SCOPES]:
        raise UsageError(f"there is no scope {unknown[0][:80]!r}", f"there are {', '.join(SCOPES)}")
    if not wanted:
        raise UsageError("a user without scopes may do nothing", f"give --scopes of {', '.join(SCOPES)}")
    return wanted


def _change(changed: Callable[[tuple[User, ...]], tuple[User, ...]]) -> None:
    make_private(folder())
    with locked(f"{path()}.lock", timeout_s=_PATIENCE_S):
        kept = sorted(changed(listed()), key=lambda one: one.name)
        data = {"version": FORMAT, "users": [asdict(one) for one in kept]}
        write_bytes(path(), json.dumps(data, indent=1).encode(), mode=PRIVATE_FILE)


def _new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
