"""How requests are answered: whole pages, parts of pages, changes, and errors that say what to do next.

A handler is a plain function and runs in a thread. A request by htmx gets only the part of the page that changes: its
templates extend `layout`, which is the whole page or nothing but the content.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from sage_code.errors import NotIndexed, SageError
from sage_web.site import site_of

# The longest text that a memory takes is far shorter.
_MAX_FORM_BYTES = 1 << 20
_MAX_FIELDS = 200
CHANGE_HEADER = "x-sage-change"
CHANGE_FIELD = "_change"
THEMES = ("light", "dark")

Handler = Callable[[Request], Response]
Form = dict[str, str]


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A template as an answer; for htmx without what surrounds the content."""
    site = site_of(request)
    is_part = request.headers.get("hx-request") == "true" and request.headers.get("hx-request-type") != "full"
    theme = request.cookies.get("sage_theme", "")
    made = f"{time.time():.3f}"
    shared = {
        "layout": "part.html" if is_part else "page.html",
        "is_part": is_part,
        "change_key": site.change_key,
        "theme": theme if theme in THEMES else "",
        "here": request.url.path,
        "listed_projects": site.projects.listed() if not is_part else [],
        "project": None,
        "query_text": "",
        "made": made,
    }
    text = site.templates.get_template(template).render({**shared, **values})
    # The moment at which the page was made tells its script whether something has changed since.
    headers = {"vary": "HX-Request, HX-Request-Type, Cookie", "x-sage-made": made}
    return HTMLResponse(text, status, headers=headers)


def part(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A template that is always a part of a page."""
    site = site_of(request)
    text = site.templates.get_template(template).render({"change_key": site.change_key, "project": None, **values})
    return HTMLResponse(text, status)


def gone_to(request: Request, address: str) -> Response:
    """The answer to a change: go and look at this address of the site."""
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204, headers={"hx-redirect": address})
    return RedirectResponse(address, 303)


def changing(handler: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """A handler of POST requests, which gets the fields of the form; one without the page's key is refused."""

    async def answer(request: Request) -> Response:
        form = await _form(request)
        if form is None:
            return PlainTextResponse("the form is too long", 413)
        key = request.headers.get(CHANGE_HEADER) or form.pop(CHANGE_FIELD, "")
        if not hmac.compare_digest(key.encode("utf-8", "replace"), site_of(request).change_key.encode()):
            return PlainTextResponse("this change does not come from a page of this site: reload the page", 403)
        form.pop(CHANGE_FIELD, None)
        return await run_in_threadpool(handler, request, form)

    answer.__doc__ = handler.__doc__
    return answer


async def _form(request: Request) -> Form | None:
    """The fields of a form; None if there is too much of it."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_FORM_BYTES:
            return None
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return None
    return dict(pairs)


def refused(request: Request, error: Exception) -> Response:
    """What went wrong, and what to do next."""
    assert isinstance(error, SageError)
    status = 404 if isinstance(error, NotIndexed) else 400
    return page(request, "error.html", status, title="That did not work", message=error.message, hint=error.hint)


def not_found(request: Request, error: Exception) -> Response:
    """An address that leads nowhere, or that takes no such request."""
    assert isinstance(error, HTTPException)
    message = f"There is no page {request.url.path[:200]}"
    hint = "Search, or go to a project."
    if error.status_code == 405:
        message, hint = f"{request.url.path[:200]} takes no {request.method}", "Go back and use the page's own buttons."
    return page(request, "error.html", error.status_code, title="Not found", message=message, hint=hint)


def broken(request: Request, error: Exception) -> Response:
    """A bug: the page says so, and the log of the server has the rest."""
    hint = "This is a bug: the terminal in which `sage web` runs shows where."
    message = f"Unexpected {type(error).__name__}"
    return page(request, "error.html", 500, title="That did not work", message=message, hint=hint)
