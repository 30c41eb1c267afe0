"""Judges every request before the tools or the page see it, and says afterwards what it cost.

In this order: request id, health, Host and Origin, who asks, how much that user has asked, what the user may do, and
whether there is room. Bodies are read whole and bounded before a slot is taken, so that a slow client holds none.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from sage_code.serving.limits import Buckets, Full, Slots
from sage_code.serving.request_log import RequestLog, request_id
from sage_code.serving.requester import ADMIN, Requester, acting_as
from sage_serve import page_rights, signing_in
from sage_serve.addresses import Addresses
from sage_serve.settings import FAILURE_BURST, FAILURE_RATE, QUEUE_PATIENCE_S, ServeSettings

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sage_code.serving.metrics import Metrics
    from sage_code.serving.users import KnownUsers, User
    from sage_serve.status import Status

MCP_PATH = "/mcp"
_MAX_BODY_BYTES = 4 << 20
_MAX_LOGGED = 300
_INDEX_TOOL = "sage_index_code"
# Runs over whole projects take minutes: they have a line of their own, so that searches do not wait behind them.
_INDEX_RUNS, _INDEX_QUEUE, _INDEX_PATIENCE_S = 1, 8, 600.0


class Refusal(Exception):  # noqa: N818 - no error of the server
    """A request that is not answered, and why."""

    def __init__(self, status: int, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry_after = status, reason, retry_after


@dataclass(slots=True)
class _Request:
    """One request while it is judged and answered."""

    id: str
    scope: Scope
    headers: dict[bytes, list[bytes]]
    route: str
    address: str = ""
    user: str = ""
    tool: str = ""
    query: str = ""
    status: int = 0
    began: float = field(default_factory=time.monotonic)


class Gate:
    """The one door of the server."""

    def __init__(
        self, mcp: ASGIApp, pages: ASGIApp, settings: ServeSettings, users: KnownUsers, secret: bytes, status: Status,
        metrics: Metrics, log: RequestLog,
    ) -> None:  # fmt: skip
        self._mcp, self._pages, self._settings = mcp, pages, settings
        self._users, self._secret, self._status, self._metrics, self._log = users, secret, status, metrics, log
        self._addresses = Addresses(settings)
        self._asked = Buckets(settings.rate, settings.burst)
        self._failed = Buckets(FAILURE_RATE, FAILURE_BURST)
        self._slots = Slots(settings.searches, settings.queue, QUEUE_PATIENCE_S)
        self._index_slots = Slots(_INDEX_RUNS, _INDEX_QUEUE, _INDEX_PATIENCE_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope.get("headers", ()):
            headers.setdefault(name.lower(), []).append(value)
        asked = _Request(request_id(headers.get(b"x-request-id", [])), scope, headers, _route_of(scope["path"]))

        async def send_noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                asked.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", asked.id.encode())]
            await send(message)

        self._metrics.add("sage_in_flight")
        try:
            await self._answer(asked, receive, send_noting)
        except Refusal as refusal:
            await self._refuse(asked, refusal, send_noting)
        except Exception as error:
            self._log.write("error", id=asked.id, error=f"{type(error).__name__}: {error}"[:_MAX_LOGGED])
            if asked.status:  # half of an answer is out: the connection is ended
                raise
            await self._refuse(asked, Refusal(500, "this is a bug of Sage; its log has the rest"), send_noting)
        finally:
            self._metrics.add("sage_in_flight", -1)
            self._note(asked)

    async def _answer(self, asked: _Request, receive: Receive, send: Send) -> None:
        """Judge a request, and have it answered."""
        path, method = asked.scope["path"], asked.scope["method"]
        asked.address = self._addresses.client(asked.scope, asked.headers)
        if asked.route == "health":
            await _send(send, *await self._status.answer(path))
            return
        if problem := self._addresses.problem(asked.headers):
            self._metrics.add("sage_refused_total", kind="host")
            raise Refusal(*problem)
        if asked.route == "static":
            await self._pages(asked.scope, receive, send)
            return
        if (wait := self._failed.wait(asked.address)) > 0:
            self._metrics.add("sage_rate_limited_total", kind="failures")
            raise Refusal(429, "too many wrong tokens from this address", wait)
        if path == signing_in.PATH:
            await self._sign_in(asked, receive, send)
            return
        user = self._user_of(asked)
        asked.user = user.name
        if (wait := self._asked.take(user.name)) > 0:
            self._metrics.add("sage_rate_limited_total", kind="user")
            raise Refusal(429, "you ask faster than this server answers you", wait)
        requester = await asyncio.to_thread(self._status.served.requester, user)
        if path == "/metrics":
            _need(requester, ADMIN)
            await _send(send, 200, await self._status.metrics_text(), b"text/plain; version=0.0.4; charset=utf-8")
            return
        if asked.route == "page":
            _need(requester, page_rights.scope_of(method, path))
        body = await _body_of(receive) if method not in ("GET", "HEAD") else b""
        await self._pass_on(asked, requester, body, receive, send)

    async def _pass_on(self, asked: _Request, requester: Requester, body: bytes, receive: Receive, send: Send) -> None:
        """Have the tools or the page answer, in a slot if that is work."""
        if asked.route == "mcp":
            method, asked.tool, asked.query = _call_in(body)
            app, is_work = self._mcp, method == "tools/call"
        else:
            app, is_work = self._pages, asked.scope["path"] != "/live"
            asked.query = parse_qs(asked.scope["query_string"].decode("latin-1"), max_num_fields=200).get("q", [""])[0]
        try:
            async with self._slot(asked.tool) if is_work else nullcontext():
                with acting_as(requester):
                    await app(asked.scope, _replayed(body, receive), send)
        except Full:
            self._metrics.add("sage_rate_limited_total", kind="queue")
            raise Refusal(503, "the server is busy", 1.0) from None

    def _slot(self, tool: str) -> AbstractAsyncContextManager[None]:
        return (self._index_slots if tool == _INDEX_TOOL else self._slots).one()

    def _user_of(self, asked: _Request) -> User:
        """Who asks: programs show a token, browsers a cookie, which the tools do not take."""
        given = asked.headers.get(b"authorization", [])
        user = None
        if len(given) == 1 and given[0][:7].lower() == b"bearer ":
            user = self._users.by_token(given[0][7:].decode("latin-1").strip())
        elif not given and asked.route != "mcp":
            user = signing_in.user_of(asked.headers.get(b"cookie", ()), self._users, self._secret)
        if user is not None:
            return user
        if given:
            self._failed.take(asked.address)
        self._metrics.add("sage_refused_total", kind="token")
        if asked.route == "page" and not given and b"text/html" in b",".join(asked.headers.get(b"accept", [])):
            raise Refusal(303, signing_in.PATH)
        raise Refusal(401, "the Authorization header must be `Bearer` and a token of a user of this server")

    async def _sign_in(self, asked: _Request, receive: Receive, send: Send) -> None:
        """Show the form, or take a token and give a cookie for it."""
        if asked.scope["method"] != "POST":
            await _send(send, 200, signing_in.form(), None, signing_in.HEADERS)
            return
        body = await _body_of(receive, signing_in.MAX_FORM_BYTES)
        user = self._users.by_token(signing_in.token_in(body))
        if user is None:
            self._failed.take(asked.address)
            self._metrics.add("sage_refused_total", kind="token")
            await _send(send, 401, signing_in.form("That is no token of this server."), None, signing_in.HEADERS)
            return
        asked.user = user.name
        is_secure = self._addresses.is_https(asked.scope, asked.headers)
        cookie = signing_in.cookie_for(user, self._secret, is_secure=is_secure)
        await _send(send, 303, b"", b"text/plain", ((b"location", b"/"), (b"set-cookie", cookie)))

    async def _refuse(self, asked: _Request, refusal: Refusal, send: Send) -> None:
        """Answer a request that is refused."""
        more: list[tuple[bytes, bytes]] = [(b"cache-control", b"no-store")]
        if refusal.retry_after:
            more.append((b"retry-after", str(math.ceil(refusal.retry_after)).encode()))
        if refusal.status == 401:
            more.append((b"www-authenticate", b"Bearer"))
        if refusal.status == 303:
            await _send(send, 303, b"", b"text/plain", ((b"location", refusal.reason.encode()),))
            return
        said = json.dumps({"error": refusal.reason, "request_id": asked.id}).encode()
        await _send(send, refusal.status, said, b"application/json", tuple(more))

    def _note(self, asked: _Request) -> None:
        """Count a request that was answered, and log it."""
        seconds = time.monotonic() - asked.began
        self._metrics.add("sage_requests_total", route=asked.route, status=str(asked.status or 499))
        if asked.scope["path"] != "/live":  # a stream lasts as long as a page is open
            self._metrics.observe(asked.route, seconds)
        if asked.route in ("health", "static") and asked.status < 500:
            return  # probes and files would hide the rest
        fields: dict[str, Any] = {
            "id": asked.id, "user": asked.user, "address": asked.address, "method": asked.scope["method"],
            "path": asked.scope["path"][:_MAX_LOGGED], "status": asked.status or 499, "ms": round(seconds * 1000, 1),
        }  # fmt: skip
        if asked.tool:
            fields["tool"] = asked.tool[:100]
        if self._settings.log_queries and asked.query:
            fields["query"] = asked.query[:_MAX_LOGGED]
        self._log.write("request", **fields)


def _need(requester: Requester, scope: str) -> None:
    if not scope or not requester.may(scope):
        raise Refusal(403, f"that needs the scope {scope}, which you do not have" if scope else "that is not served")


def _route_of(path: str) -> str:
    """The class of an address, for figures: there are few."""
    if path in ("/healthz", "/readyz"):
        return "health"
    if path == "/metrics":
        return "metrics"
    if path == MCP_PATH:
        return "mcp"
    if path == signing_in.PATH:
        return "enter"
    return "static" if path.startswith("/static/") else "page"


def _call_in(body: bytes) -> tuple[str, str, str]:
    """The method, the tool and the question of a message; what is no message is refused by the tools' own server."""
    try:
        message = json.loads(body)
        parameters = message.get("params") or {}
        query = (parameters.get("arguments") or {}).get("query", "")
        return str(message.get("method", "")), str(parameters.get("name", "")), str(query)
    except (ValueError, AttributeError, RecursionError):
        return "", "", ""


async def _body_of(receive: Receive, limit: int = _MAX_BODY_BYTES) -> bytes:
    """The whole body of a request, if it is not too long. The connection's own clock ends one that does not come."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(499, "the client has gone")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            raise Refusal(413, f"a request has at most {limit:,} bytes")
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, as the application reads it; after it, what the connection says."""
    pending = [body]

    async def again() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return again


async def _send(
    send: Send, status: int, body: bytes, kind: bytes | None = b"text/plain; charset=utf-8",
    more: tuple[tuple[bytes, bytes], ...] = (),
) -> None:  # fmt: skip
    own = [(b"content-type", kind)] if kind else []
    headers = [*own, (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
