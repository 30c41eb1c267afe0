"""The token of a server: from the environment, or from a private file of the user, which is made when it is missing."""

from __future__ import annotations

import os
import secrets
import stat

from sage_code.errors import ConfigError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import open_regular
from sage_code.files.locks import locked
from sage_code.files.private import make_private
from sage_code.paths import sage_home

_TOKEN_BYTES = 32
_PATIENCE_S = 10.0
# A shorter one could be guessed in many requests.
_LEAST_CHARS = 16
_MAX_CHARS = 1_024


def find_token(variable: str, name: str, file: str | None = None) -> tuple[str, str]:
    """The token and its source: the variable, `file`, or the file called `name` in Sage's home."""
    if token := os.environ.get(variable, "").strip():
        return _checked(token, variable), variable
    path = file or os.path.join(sage_home(), name)
    try:
        return _checked(_read(path), path), path
    except FileNotFoundError:
        return _made(path, variable), path
    except OSError as error:  # a link, a folder, a pipe, or the token of another user
        raise ConfigError(
            f"the token file {path} cannot be read: {error.strerror}",
            "give a file of your own with --token-file; a missing one is made",
        ) from error


def _checked(token: str, where: str) -> str:
    if not _LEAST_CHARS <= len(token) <= _MAX_CHARS or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"the token in {where} is not {_LEAST_CHARS} to {_MAX_CHARS} plain characters",
            "delete it, and the server makes a good one",
        )
    return token


def _read(path: str) -> str:
    with open_regular(path) as file:
        if os.name != "nt" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ConfigError(f"others may read the token in {path}", f"chmod 600 {path}")
        return file.read(_MAX_CHARS + 2).decode("utf-8", "replace").strip()


def _made(path: str, variable: str) -> str:
    """A new token, written to `path`; the one that is there if another server was faster."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        folder = os.path.dirname(os.path.abspath(path))
        if folder == sage_home():
            make_private(folder)
        else:
            os.makedirs(folder, exist_ok=True)  # the user's own, which may be open to others
        with locked(f"{path}.lock", timeout_s=_PATIENCE_S):  # if two servers start at once, one makes it
            if not os.path.lexists(path):
                write_bytes(path, f"{token}\n".encode(), mode=PRIVATE_FILE)
        return _checked(_read(path), path)
    except OSError as error:
        raise ConfigError(
            f"the token cannot be written to {path}: {error.strerror}",
            f"give another file with --token-file, or the token itself in {variable}",
        ) from error
