"""See a project as a map: the area of a file is its size, its colour its language, use, age or staleness."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_web.answers import page
from sage_web.site import site_of

if TYPE_CHECKING:
    from sage_code.views.graph.measures import Measure

# Rows of the table below the map.
_MAX_ROWS = 300
_MAX_CHARS = 1_000
_LABELS: dict[Measure, str] = {"size": "Size", "use": "Use", "age": "Age", "stale": "Stale memories"}


def show(request: Request) -> Response:
    """The map of a folder of a project."""
    from sage_web.drawing.map_picture import ago, crumbs, map_picture

    projects = site_of(request).projects
    listed = projects.find(request.path_params["slug"])
    project = projects.opened(listed.root)
    below = request.query_params.get("below", "").strip("/")[:_MAX_CHARS]
    by: Measure = next((one for one in _LABELS if one == request.query_params.get("by")), "size")
    note = project.refresh()
    only = "code" if request.query_params.get("only") == "code" else ""
    shown = project.views.measures(by, below, only_code=bool(only))
    now = time.time()
    return page(
        request,
        "treemap/map.html",
        title=f"Map of {below or listed.name}",
        project=listed,
        note=note,
        below=below,
        by=by,
        only=only,
        labels=_LABELS,
        shown=shown,
        picture=map_picture(listed.slug, shown, by, now, only),
        crumbs=crumbs(below),
        rows=shown.children[:_MAX_ROWS],
        ago=lambda then: ago(then, now),
    )


ROUTES = (Route("/p/{slug}/map", show),)
