"""Runs one process of the server until it is ended, and ends it well.

The first SIGTERM or Ctrl-C: readiness says no, after `drain_delay_s` no connection is taken, requests under way are
finished within `grace_s`, exit 0. The second ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from sage_code.serving.connections import BoundedConnection
from sage_code.serving.metrics import Metrics
from sage_code.serving.request_log import RequestLog
from sage_code.serving.tokens import find_token
from sage_code.serving.users import KnownUsers, folder
from sage_serve.gate import Gate
from sage_serve.served import Served
from sage_serve.status import Status

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from sage_serve.settings import ServeSettings

SECRET_VARIABLE = "SAGE_SERVE_SECRET"  # noqa: S105 - its name
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class _Server(uvicorn.Server):
    """uvicorn without its handlers of signals, which would end the process by the signal and not with exit code 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to this module."""
        yield


async def serve(settings: ServeSettings, listener: socket.socket, figures_folder: str = "", parent: int = -1) -> None:
    """Serve until a signal, or until the process at the other end of the pipe `parent` is gone."""
    from sage_mcp.server import many_users_app
    from sage_web.application import make_pages
    from sage_web.site import Site

    secret, _ = find_token(SECRET_VARIABLE, "secret", os.path.join(folder(), "secret"))
    metrics, log = Metrics(), RequestLog(settings.log_format)
    status = Status(Served(settings.projects), metrics, figures_folder)
    site = Site(secret, settings.port)
    mcp, pages = many_users_app(), make_pages(site)
    gate = Gate(mcp, pages, settings, KnownUsers(), secret.encode(), status, metrics, log)
    config = uvicorn.Config(
        _Joined(gate, mcp, pages),
        http=BoundedConnection,
        ws="none",
        lifespan="on",
        log_level="warning",
        server_header=False,
        proxy_headers=False,  # the gate reads them, from proxies that are trusted
        timeout_graceful_shutdown=max(1, round(settings.grace_s)),
    )
    server = _Server(config)

    def end() -> None:
        if status.is_draining:
            log.write("ended at once", pid=os.getpid())
            sys.stderr.flush()
            os._exit(1)
        status.is_draining = True
        log.write("draining", pid=os.getpid(), grace_s=settings.grace_s)
        loop.call_later(settings.drain_delay_s, stop)

    def stop() -> None:
        site.live.end()
        server.should_exit = True

    def orphaned() -> None:
        loop.remove_reader(parent)
        if not status.is_draining:
            end()

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    if parent >= 0:
        loop.add_reader(parent, orphaned)
    saving = asyncio.create_task(status.keep_saving())
    log.write("serving", pid=os.getpid(), port=settings.port, host=settings.host)
    await server.serve(sockets=[listener])
    saving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await saving
    log.write("ended", pid=os.getpid())


class _Joined:
    """The gate for requests, and the beginning and the end of both applications behind it."""

    def __init__(self, gate: Gate, mcp: ASGIApp, pages: Starlette) -> None:
        assert isinstance(mcp, Starlette)
        self._gate, self._inner = gate, (mcp, pages)
        self._lifespan = Starlette(lifespan=self._both)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request, or the server's own start and end."""
        await (self._gate if scope["type"] == "http" else self._lifespan)(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _both(self, _app: Starlette) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in self._inner:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield
