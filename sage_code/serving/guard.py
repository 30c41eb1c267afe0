"""Judges each request of a server on this machine before anything else sees it.

Any page in a browser can send requests to a port of this machine. So each request must name this server in `Host` (DNS
may make a foreign name point here), come from here if it has an `Origin`, and carry what proves that the user has let
it in: for programs a token in `Authorization`, for the page a cookie.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from starlette.types import ASGIApp, Receive, Scope, Send

    # Header names in lower case, each with all values that were given.
    Headers: TypeAlias = Mapping[bytes, Sequence[bytes]]

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost")


def has_bearer(headers: Headers, token: str) -> bool:
    """Whether a request carries the token in its one `Authorization` header."""
    given = headers.get(b"authorization", ())
    return len(given) == 1 and hmac.compare_digest(given[0], f"Bearer {token}".encode())


class Guard:
    """Lets requests through that name this server, come from here and are let in by `judge`.

    `judge` gets the scope and the headers, and returns the reason of a refusal, or nothing.
    """

    def __init__(self, app: ASGIApp, port: int, judge: Callable[[Scope, Headers], str]) -> None:
        self._app, self._judge = app, judge
        self._hosts = {f"{name}:{port}".encode() for name in _NAMES}
        self._origins = {f"http://{name}:{port}".encode() for name in _NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the application's own start and end."""
        status, reason = (0, "") if scope["type"] == "lifespan" else self._refusal(scope)
        if status:
            await _refuse(send, status, reason)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str]:
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
        reason = self._judge(scope, given)
        return (401, reason) if reason else (0, "")


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
