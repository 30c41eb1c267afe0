"""The application: the pages with their addresses, the headers of every answer, and what an error looks like."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from sage_code.errors import SageError
from sage_code.serving.guard import Guard
from sage_web import answers, entering
from sage_web.pages import agents, code, graph, health, index_runs, memory, memory_changes, search, stale, treemap
from sage_web.running import live
from sage_web.site import FOLDER, Site

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGES = (search, code, graph, treemap, memory_changes, memory, stale, agents, health, index_runs)
# Nothing inline, nothing from elsewhere, no frames around the page.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # To this site only: with less, a browser sends a plain form without its `Origin`, and the guard refuses it.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# What a page shows is private and may have changed when somebody comes back; static files have their own validators.
_NO_STORE = (b"cache-control", b"no-store")
_REVALIDATE = (b"cache-control", b"no-cache")


class _Headers:
    """Adds the headers that protect every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                caching = _REVALIDATE if scope["path"].startswith("/static/") else _NO_STORE
                message["headers"] = [*message.get("headers", ()), *_HEADERS, caching]
            await send(message)

        await self._app(scope, receive, send_with_headers)


def make_application(site: Site) -> tuple[ASGIApp, entering.Tickets]:
    """The application behind its guard, and the tickets that let browsers in."""
    app = make_pages(site)
    tickets: entering.Tickets = app.state.tickets
    return Guard(app, site.port, entering.judge_of(site)), tickets


def make_pages(site: Site) -> Starlette:
    """The pages without a guard, for a server that judges each request by itself."""
    static = StaticFiles(directory=os.path.join(FOLDER, "static"))
    routes = [*entering.ROUTES, *live.ROUTES, *(route for one in PAGES for route in one.ROUTES)]
    app = Starlette(
        routes=[*routes, Mount("/static", static)],
        middleware=[Middleware(_Headers)],
        exception_handlers={
            SageError: answers.refused,
            HTTPException: answers.not_found,
            Exception: answers.broken,
        },
        lifespan=live.lifespan(site.live),
    )
    app.state.site = site
    app.state.tickets = entering.Tickets()
    return app
