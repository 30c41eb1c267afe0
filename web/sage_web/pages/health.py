"""How the index, the memory and the machine are doing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_web.answers import page


def show(request: Request) -> Response:
    """The page."""
    return page(request, "empty.html", title="health")


ROUTES = (Route("/health", show),)
