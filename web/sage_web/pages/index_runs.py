"""Start an index run, see how it goes on, and stop it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import Busy
from sage_code.text.masking import mask_all
from sage_web.answers import Form, changing, part
from sage_web.drawing.times import lasted
from sage_web.projects import ListedProject
from sage_web.site import site_of


def show(request: Request) -> Response:
    """The run of a project, as it is now."""
    return _answer(request, _listed(request))


@changing
def start(request: Request, form: Form) -> Response:
    """Begin a run; if one goes on already, show that one."""
    listed = _listed(request)
    problem = ""
    try:
        site_of(request).runs.start(listed.root, listed.slug, full=form.get("full") == "1")
    except Busy as error:
        problem = error.message
    return _answer(request, listed, problem)


@changing
def stop(request: Request, _form: Form) -> Response:
    """Have the run of a project end."""
    listed = _listed(request)
    site_of(request).runs.stop(listed.root)
    return _answer(request, listed)


def _listed(request: Request) -> ListedProject:
    return site_of(request).projects.find(request.path_params["slug"])


def _answer(request: Request, listed: ListedProject, problem: str = "") -> Response:
    run = mask_all(site_of(request).runs.last(listed.root), [])
    return part(request, "health/run.html", project=listed, run=run, problem=problem, lasted=lasted)


ROUTES = (
    Route("/p/{slug}/health/run", show),
    Route("/p/{slug}/index", start, methods=["POST"]),
    Route("/p/{slug}/index/stop", stop, methods=["POST"]),
)
