"""The server over streamable HTTP: on this machine only, and only for clients that know its token.

Any page in a browser can send requests to a port of this machine. So each request must carry the token, name this
server in `Host` (DNS may make a foreign name point here) and, if it has an `Origin`, come from here.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import stat
import sys
from typing import TYPE_CHECKING, Any

import anyio

from sage_code.errors import ConfigError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import open_regular
from sage_code.files.locks import locked
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN_VARIABLE = "SAGE_MCP_TOKEN"  # noqa: S105 - its name
DEFAULT_PORT = 7243
_LOOPBACK = "127.0.0.1"
_NAMES = (_LOOPBACK, "localhost")
_TOKEN_BYTES = 32
_PATIENCE_S = 10.0
# A shorter one could be guessed in many requests.
_LEAST_TOKEN_CHARS = 16
_MAX_TOKEN_CHARS = 1_024
# A session that is silent for so long ends, and its client begins another; one with an open stream stays.
SESSION_IDLE_S = 1_800.0
# Far more than one user's agents need, and still little memory.
MAX_SESSIONS = 1_000
# The longest text that a tool takes is far shorter.
MAX_BODY_BYTES = 4 << 20


def find_token(file: str | None = None) -> tuple[str, str]:
    """The token and its source: the environment, or a file of the user, which is made when it is missing."""
    if token := os.environ.get(TOKEN_VARIABLE, "").strip():
        return _checked(token, TOKEN_VARIABLE), TOKEN_VARIABLE
    path = file or os.path.join(sage_home(), "mcp-token")
    try:
        return _checked(_read(path), path), path
    except FileNotFoundError:
        return _made(path), path
    except OSError as error:  # a link, a folder, a pipe, or the token of another user
        raise ConfigError(
            f"the token file {path} cannot be read: {error.strerror}",
            "give a file of your own with --token-file; a missing one is made",
        ) from error


def _checked(token: str, where: str) -> str:
    if not _LEAST_TOKEN_CHARS <= len(token) <= _MAX_TOKEN_CHARS or not token.isascii() or not token.isprintable():
        raise ConfigError(
            f"the token in {where} is not {_LEAST_TOKEN_CHARS} to {_MAX_TOKEN_CHARS} plain characters",
            "delete it, and the server makes a good one",
        )
    return token


def _read(path: str) -> str:
    with open_regular(path) as file:
        if os.name != "nt" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ConfigError(f"others may read the token in {path}", f"chmod 600 {path}")
        return file.read(_MAX_TOKEN_CHARS + 2).decode("utf-8", "replace").strip()


def _made(path: str) -> str:
    """A new token, written to `path`; the one that is there if another server was faster."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with locked(f"{path}.lock", timeout_s=_PATIENCE_S):  # if two servers start at once, one makes it
            if not os.path.lexists(path):
                write_bytes(path, f"{token}\n".encode(), mode=PRIVATE_FILE)
        return _checked(_read(path), path)
    except OSError as error:
        raise ConfigError(
            f"the token cannot be written to {path}: {error.strerror}",
            "give another file with --token-file, or the token itself in SAGE_MCP_TOKEN",
        ) from error


class Guard:
    """Lets requests through that name this server, come from here and carry the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._bearer = f"Bearer {token}".encode()
        self._hosts = {f"{name}:{port}".encode() for name in _NAMES}
        self._origins = {f"http://{name}:{port}".encode() for name in _NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the application's own start and end."""
        status, reason = (0, "") if scope["type"] == "lifespan" else self._judge(scope)
        if status:
            await _refuse(send, status, reason)
        else:
            await self._app(scope, receive, send)

    def _judge(self, scope: Scope) -> tuple[int, str]:
        """The status and the reason of a refusal; 0 lets the request through."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope.get("headers", ()):
            given.setdefault(name.lower(), []).append(value)
        if scope["type"] != "http":
            return 403, "only HTTP is served here"
        if len(given.get(b"host", ())) != 1 or given[b"host"][0].lower() not in self._hosts:
            return 421, "the Host header names another server"
        if any(origin.lower() not in self._origins for origin in given.get(b"origin", ())):
            return 403, "requests from that Origin are not served"
        tokens = given.get(b"authorization", [])
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self._bearer):
            return 401, "the Authorization header must be `Bearer` and the token of this server"
        return 0, ""


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def serve(server: MCPServer[Any], port: int | None, token_file: str | None) -> None:
    """Serve until the process is ended."""
    token, source = find_token(token_file)
    port = DEFAULT_PORT if port is None else port
    # The protocol by its number: asyncio turns Nagle's delay (40 ms an answer) off only for what says that it is TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        if os.name != "nt":  # there it would let another program take the port over
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_LOOPBACK, port))
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
            refused = f"port {port} cannot be used: {why}"
            raise ConfigError(refused, "give another --port; 0 takes a free one") from error
        listener.listen()  # before the address is printed: a client that is faster than the server waits
        number = listener.getsockname()[1]
        sys.stderr.write(f"sage-mcp: http://{_LOOPBACK}:{number}/mcp, the token is in {source}\n")
        sys.stderr.flush()
        app = server.streamable_http_app(
            session_idle_timeout=SESSION_IDLE_S, max_sessions=MAX_SESSIONS, max_request_body_size=MAX_BODY_BYTES
        )
        anyio.run(_run, server, listener, Guard(app, token, number))


async def _run(server: MCPServer[Any], listener: socket.socket, app: Guard) -> None:
    import uvicorn  # lazy: only this transport needs it

    from sage_mcp.connections import BoundedConnection

    level = server.settings.log_level.lower()
    config = uvicorn.Config(
        app, http=BoundedConnection, ws="none", log_level=level, server_header=False, timeout_graceful_shutdown=2
    )
    await uvicorn.Server(config).serve(sockets=[listener])
