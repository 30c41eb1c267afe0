"""Follow callers and callees of a symbol, and see what breaks with a file, a symbol or the uncommitted changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import UsageError
from sage_web.answers import page, part
from sage_web.site import site_of

if TYPE_CHECKING:
    from sage_code.lookup.map import MapEntry
    from sage_code.project import Project
    from sage_code.xref.graph import Definition
    from sage_web.projects import ListedProject


_MAX_CHARS = 400
_MAX_OPENED_CHARS = 4_000
_SUGGESTIONS = 12
# A shorter beginning fits too many names to say anything.
_LEAST_CHARS = 2
# The symbols that most others use, for whoever has no name in mind.
_CENTRAL = 24
_CENTRAL_TOKENS = 3_000


def graph(request: Request) -> Response:
    """The graph around a symbol; without a name, where to begin."""
    listed, project = _project(request)
    name, file = _asked(request, "name"), _asked(request, "file")
    if not name:
        return page(request, "graph/start.html", title=f"Graph of {listed.name}", project=listed)
    note = project.refresh()
    found = _exactly(project.views.centres(name, file), name, file)
    shared: dict[str, Any] = {"project": listed, "name": name, "file": file, "note": note}
    if not found:
        nearest = project.nearest(name)
        return page(request, "graph/missing.html", 404, title=f"No {name}", nearest=nearest, **shared)
    if len(found) > 1:
        from sage_code.text.masking import mask_all  # lazy: its rules

        found = mask_all(found, [])
        return page(request, "graph/choose.html", title=f"Which {name}?", definitions=found, **shared)
    from sage_code.views.graph.neighbourhood import parse_opened  # lazy: NumPy
    from sage_web.drawing.graph_picture import picture

    opened = parse_opened(request.query_params.get("open", "")[:_MAX_OPENED_CHARS])
    shown = project.views.neighbourhood(found[0], opened)
    drawn = picture(listed.slug, shown)
    symbol = found[0].symbol
    return page(
        request, "graph/graph.html", title=symbol.qualname, centre=found[0], shown=shown, picture=drawn, **shared
    )


def _exactly(found: list[Definition], name: str, file: str) -> list[Definition]:
    """Of several definitions in the file that was asked for, the one whose whole name was given."""
    exact = [one for one in found if one.symbol.qualname == name]
    return exact if file and exact else found


def names(request: Request) -> Response:
    """The symbols whose names begin like what is typed."""
    listed, project = _project(request)
    typed = _asked(request, "name")
    found = []
    if len(typed) >= _LEAST_CHARS:
        from sage_code.languages.kinds import TEXT_KINDS

        matches = project.grep(typed, prefix=True, ignore_case=True, refresh=False)
        found = [one for one in matches if one["kind"] not in TEXT_KINDS]
    shown: dict[str, Any] = {"symbols": found[:_SUGGESTIONS], "left": max(len(found) - _SUGGESTIONS, 0)}
    return part(request, "graph/names.html", project=listed, typed=typed, least=_LEAST_CHARS, **shown)


def central(request: Request) -> Response:
    """The symbols that the rest of the project uses most."""
    listed, project = _project(request)
    entries: list[MapEntry] = list(project.map(max_tokens=_CENTRAL_TOKENS, refresh=False).entries[:_CENTRAL])
    return part(request, "graph/central.html", project=listed, entries=entries)


def impact(request: Request) -> Response:
    """What may break with a file, a symbol or a line."""
    listed, project = _project(request)
    what = _asked(request, "what")
    if not what:
        return page(request, "graph/impact.html", title="What breaks?", project=listed, what="", found=None, note="")
    note = project.refresh()
    try:
        found = project.views.breakage(what)
    except UsageError as error:
        return page(
            request, "graph/impact.html", 404, title="What breaks?", project=listed, what=what, found=None, note="",
            missing=error.message, nearest=project.nearest(what.rpartition("/")[2]),
        )  # fmt: skip
    return page(
        request, "graph/impact.html", title=f"What breaks with {what}?", project=listed, what=what, found=found,
        note=note,
    )  # fmt: skip


def changes(request: Request) -> Response:
    """The uncommitted changes, and what they may break."""
    from sage_code.text.masking import mask_all  # lazy: its rules

    listed, project = _project(request)
    note = project.refresh()
    found = project.views.uncommitted()
    stale = mask_all(found.stale, [])
    return page(request, "graph/changes.html", title="Uncommitted changes", project=listed, found=found, stale=stale,
                note=note)  # fmt: skip


def _project(request: Request) -> tuple[ListedProject, Project]:
    projects = site_of(request).projects
    listed = projects.find(request.path_params["slug"])
    return listed, projects.opened(listed.root)


def _asked(request: Request, name: str) -> str:
    """A word of the address; no name and no path has a NUL in it."""
    return request.query_params.get(name, "").replace("\0", "").strip()[:_MAX_CHARS]


ROUTES = (
    Route("/p/{slug}/graph", graph),
    Route("/p/{slug}/graph/names", names),
    Route("/p/{slug}/graph/central", central),
    Route("/p/{slug}/impact", impact),
    Route("/p/{slug}/changes", changes),
)
