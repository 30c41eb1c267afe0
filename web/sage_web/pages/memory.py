"""What was concluded about a project: lists by day, search and filters, one memory at a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_web.answers import page, part
from sage_web.drawing.markdown import blocks
from sage_web.site import site_of
from sage_web.templating import address

TABS = (
    ("all", "Timeline"),
    ("checkpoints", "Checkpoints"),
    ("knowledge", "Knowledge"),
    ("todos", "Todos"),
    ("core", "Core files"),
    ("deleted", "Deleted"),
)
STATES = ("holds", "moved", "changed", "gone")
_MAX_QUESTION_CHARS = 500


def show(request: Request) -> Response:
    """The list: a tab, and what of it is wanted."""
    site, slug = site_of(request), request.path_params["slug"]
    found, project = site.projects.find(slug), site.projects.open(slug)
    tab = _one_of([name for name, _ in TABS], request.query_params.get("tab", "")) or "all"
    if tab == "core":
        return page(request, "memory/core.html", title="Core files", project=found, tab=tab, tabs=TABS,
                    files=project.core_files())  # fmt: skip
    if tab == "deleted":
        from sage_code.memory.changing import recently_deleted  # lazy: the parser

        versions = recently_deleted(project.memory)
        return page(request, "memory/deleted.html", title="Deleted memories", project=found, tab=tab, tabs=TABS,
                    versions=versions, ago=ago)  # fmt: skip
    return _list(request, found, project, tab)


def _list(request: Request, found: Any, project: Any, tab: str) -> Response:
    """A page of memories."""
    from sage_code.views.remembered.memories import MemoryQuery

    given = request.query_params
    query = MemoryQuery(
        tab,
        given.get("q", "").strip()[:_MAX_QUESTION_CHARS],
        _one_of(STATES, given.get("state", "")),
        given.get("keyword", "")[:100],
        _number(given.get("page", ""), 1),
    )
    waits = bool(query.state) and request.headers.get("hx-request") != "true" and not project.views.checks_quickly()
    shown = None if waits else project.views.memories(project.memory, query)
    base = f"/p/{found.slug}/memory"

    def to(**changed: Any) -> str:
        """The address of the same list with something else asked for; another question begins at the first page."""
        asked = {"tab": tab, "q": query.text, "state": query.state, "keyword": query.keyword, "page": 0, **changed}
        return address(base, **{**asked, "tab": "" if asked["tab"] == "all" else asked["tab"]})

    return page(
        request, "memory/list.html", title="Memory", project=found, tab=tab, tabs=TABS, states=STATES, query=query,
        shown=shown, to=to, day_name=day_name, memory_home=base, here_address=_here(request),
    )  # fmt: skip


def state(request: Request) -> Response:
    """The health of one memory of a list, for a list that did not wait for it."""
    from sage_code.memory.changing import kind_named
    from sage_code.views.remembered.memories import memory_health

    project = site_of(request).projects.open(request.path_params["slug"])
    kind = kind_named(request.path_params["kind"])
    return part(request, "memory/health.html", health=memory_health(project.memory, kind, request.path_params["id"]))


def read(request: Request) -> Response:
    """One memory."""
    from sage_code.memory.changing import kind_named

    site, slug = site_of(request), request.path_params["slug"]
    found, project = site.projects.find(slug), site.projects.open(slug)
    view = project.views.memory(project.memory, kind_named(request.path_params["kind"]), request.path_params["id"])
    base = f"/p/{slug}/memory"
    return page(
        request, "memory/read.html", title=view.question or view.title or view.id, project=found, memory=view,
        memory_home=base, own=f"{base}/{view.kind}/{view.id}", blocks=blocks, ago=ago,
    )  # fmt: skip


def day_name(day: str) -> str:
    """A day for people: `Today`, `Yesterday`, `Tuesday, 17 November 2026`."""
    try:
        when = date.fromisoformat(day)
    except ValueError:
        return "Without a date"
    passed = datetime.now(UTC).date() - when
    names = {timedelta(0): "Today, ", timedelta(1): "Yesterday, "}
    return f"{names.get(passed, f'{when:%A}, ')}{when.day} {when:%B %Y}"


def ago(when: str) -> str:
    """A time in UTC for people."""
    try:
        found = datetime.fromisoformat(when)
    except ValueError:
        return when
    return f"{found.day} {found:%b %Y, %H:%M} UTC"


def _here(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _one_of(names: Any, given: str) -> str:
    return given if given in names else ""


def _number(text: str, least: int) -> int:
    return max(int(text), least) if text.isascii() and text.isdigit() and len(text) < 8 else least


ROUTES = (
    Route("/p/{slug}/memory", show),
    Route("/p/{slug}/memory/{kind}/{id}", read),
    Route("/p/{slug}/memory/{kind}/{id}/state", state),
)
