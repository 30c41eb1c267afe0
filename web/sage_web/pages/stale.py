"""The stale memories as a work queue: what each said, what the code was and is now, and what to do about it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_web.answers import page
from sage_web.drawing.markdown import blocks
from sage_web.site import site_of
from sage_web.templating import address

_MAX_KEY_CHARS = 140


def show(request: Request) -> Response:
    """The queue at one memory; comparing thousands of memories with the code takes seconds, which the page says."""
    site, slug = site_of(request), request.path_params["slug"]
    found, project = site.projects.find(slug), site.projects.open(slug)
    given = request.query_params
    at, done = given.get("at", "")[:_MAX_KEY_CHARS], given.get("done", "")
    count = int(done) if done.isascii() and done.isdigit() and len(done) < 6 else 0
    waits = request.headers.get("hx-request") != "true" and not project.views.checks_quickly()
    queue = None if waits else project.views.stale_queue(project.memory, at, count)
    base = f"/p/{slug}/stale"

    def to(key: str, settled: int = count) -> str:
        """The address of the queue at another memory."""
        return address(base, at=key, done=settled)

    here = to(at) if at else to("")
    return page(
        request, "memory/stale.html", title="Stale memories", project=found, queue=queue, to=to, blocks=blocks,
        memory_home=f"/p/{slug}/memory", here_address=here, done=count,
    )  # fmt: skip


ROUTES = (Route("/p/{slug}/stale", show),)
