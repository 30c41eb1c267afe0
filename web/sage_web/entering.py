"""Who may see the page: a browser that has come once with the token, which it then shows as a cookie."""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sage_code.serving.guard import has_bearer
from sage_web.answers import page
from sage_web.site import Site, site_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from sage_code.serving.guard import Headers

# What may be read without a token has nothing of the user in it.
_OPEN = ("/static/",)
_ENTER = "/enter"
_REFUSAL = "open the address that `sage web` prints: it lets this browser in"


def judge_of(site: Site) -> Callable[[Scope, Headers], str]:
    """What the guard asks about each request: the reason of a refusal, or nothing."""

    def judge(scope: Scope, headers: Headers) -> str:
        path = scope["path"]
        if path == _ENTER or path.startswith(_OPEN) or has_bearer(headers, site.token):
            return ""
        return "" if _has_cookie(headers, site) else _REFUSAL

    return judge


def _has_cookie(headers: Headers, site: Site) -> bool:
    for line in headers.get(b"cookie", ()):
        try:
            found = SimpleCookie(line.decode("latin-1")).get(site.cookie_name)
        except CookieError:
            continue
        if found is not None and hmac.compare_digest(found.value.encode(), site.cookie.encode()):
            return True
    return False


class Tickets:
    """Tickets let one browser in, once: the address that opens a browser may be seen in the list of processes."""

    def __init__(self) -> None:
        self._open: set[str] = set()

    def new(self) -> str:
        """A ticket for one browser."""
        ticket = secrets.token_urlsafe(24)
        self._open.add(ticket)
        return ticket

    def take(self, ticket: str) -> bool:
        """Whether a ticket is good; it is not good any more after that."""
        for one in self._open:
            if hmac.compare_digest(one.encode(), ticket.encode("utf-8", "replace")):
                self._open.discard(one)
                return True
        return False


def enter(request: Request) -> Response:
    """Let a browser in that brings the token or a ticket."""
    site = site_of(request)
    given = request.query_params.get("token", "")
    tickets: Tickets = request.app.state.tickets
    is_token = hmac.compare_digest(given.encode("utf-8", "replace"), site.token.encode())
    if not (is_token or tickets.take(given)):
        hint = "Open the address that `sage web` prints in its terminal."
        return page(request, "outside.html", 401, title="Who is there?", message="This page is private.", hint=hint)
    answer = RedirectResponse("/", 303)
    answer.set_cookie(site.cookie_name, site.cookie, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
    return answer


ROUTES = (Route(_ENTER, enter),)
