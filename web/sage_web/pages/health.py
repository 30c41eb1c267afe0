"""How the index, the memory and the machine are doing. What takes longer than a moment comes as a part, afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import SageError
from sage_code.text.masking import mask_all
from sage_web.answers import page, part
from sage_web.drawing import charts
from sage_web.drawing.times import ago, lasted
from sage_web.projects import ListedProject
from sage_web.running.kept import Kept
from sage_web.site import site_of
from sage_web.templating import address

if TYPE_CHECKING:
    from sage_code.doctor.findings import Finding
    from sage_code.transcripts.usage import UsageReport

SPANS = (7, 30, 90)
# Skipped or changed files that are listed; a filter finds the others.
_MOST_FILES = 200
_WAITING = {
    "doctor": "Examining: Python, model, store, agents and a round trip over MCP. This takes some seconds …",
    "usage": "Reading transcripts …",
}
# An examination takes seconds, and so do the transcripts of months.
_findings: Kept[tuple[list[Finding], str]] = Kept(300)
_used: Kept[UsageReport] = Kept(60)


def show_all(request: Request) -> Response:
    """The page about everything: all projects, the machine, the server."""
    return page(request, "health/all.html", title="Health", here_base="/health", **_frame(request))


def show(request: Request) -> Response:
    """The page about one project."""
    listed = _listed(request)
    assert listed is not None
    base = f"/p/{listed.slug}/health"
    values = {**_frame(request), "run": site_of(request).runs.last(listed.root)}
    return page(
        request, "health/project.html", title=f"Health of {listed.name}", project=listed, here_base=base, **values
    )


def _frame(request: Request) -> dict[str, Any]:
    """What both pages show at once."""
    from sage_code import __version__

    site = site_of(request)
    return {
        "version": __version__,
        "uptime": lasted(time.time() - site.live.started),
        "pid": os.getpid(),
        "events": site.live.recent(),
        "days": _days(request),
        "spans": SPANS,
        "clock": lambda at: time.strftime("%H:%M:%S", time.localtime(at)),
    }


def _days(request: Request) -> int:
    given = request.query_params.get("days", "")
    return int(given) if given in map(str, SPANS) else SPANS[1]


def _listed(request: Request) -> ListedProject | None:
    """The project of the address; None for an address about all."""
    slug = request.path_params.get("slug")
    return site_of(request).projects.find(slug) if slug else None


def _root(request: Request) -> str:
    """The project to examine: that of the address, or the one that the page was started in."""
    projects = site_of(request).projects
    listed = _listed(request) or projects.first()
    return listed.root if listed else projects.own


def _without_again(request: Request) -> str:
    """The address to ask again in a moment, which begins nothing anew."""
    given = request.query_params
    return address(request.url.path, **{name: given[name] for name in given if name != "again"})


def _part(template: str, make: Callable[[Request], dict[str, Any] | None]) -> Callable[[Request], Response]:
    """A handler for a part: one that is still being made says so, and what goes wrong is shown in its place."""

    def answer(request: Request) -> Response:
        try:
            values = make(request)
            if values is None:
                return part(request, "health/waiting.html", url=_without_again(request), words=_WAITING[template])
            return part(request, f"health/{template}.html", project=_listed(request), **values)
        except SageError as error:
            return part(request, "health/failed.html", message=error.message, hint=error.hint)

    return answer


def _freshness(request: Request) -> dict[str, Any]:
    """What is indexed, and what has changed since."""
    listed = _listed(request)
    assert listed is not None
    found = site_of(request).projects.open(listed.slug).status()
    return {
        "index": found,
        "advice": found.advice,
        "ago": ago(found.indexed_at),
        "changed": [*((path, "changed") for path in found.changed), *((path, "removed") for path in found.removed)],
        "most": _MOST_FILES,
    }


def _store(request: Request) -> dict[str, Any]:
    from sage_code.views.state.health import store_figures

    return {"figures": mask_all(store_figures(_root(request)), []), "size": charts.size}


def _memory(request: Request) -> dict[str, Any]:
    listed = _listed(request)
    assert listed is not None
    return {"figures": site_of(request).projects.open(listed.slug).views.memory_figures()}


def _skipped(request: Request) -> dict[str, Any]:
    listed = _listed(request)
    assert listed is not None
    wanted = request.query_params.get("q", "")
    groups = site_of(request).projects.open(listed.slug).views.skipped(wanted, _MOST_FILES)
    return {"groups": groups, "wanted": wanted, "count": sum(group.count for group in groups)}


def _beside(request: Request) -> dict[str, Any]:
    from sage_code.views.state.health import beside

    found = mask_all(beside(_root(request)), [])
    since = ago(found.watcher.since or "")
    return {"watcher": found.watcher, "hooks": found.hooks, "plugins": found.plugins, "since": since, "ago": ago}


def _doctor(request: Request) -> dict[str, Any] | None:
    """What the doctor finds: in a child process, because it opens the store and starts an MCP server."""
    from sage_code import __version__
    from sage_code.views.state.apart import findings

    root = _root(request)

    def examine() -> tuple[list[Finding], str]:
        return mask_all(findings(root, __version__), []), datetime.now(UTC).isoformat()

    kept = _findings.get(root, examine, again="again" in request.query_params)
    if kept is None:
        return None
    found, at = kept
    order = ("error", "warning", "note", "ok")
    ordered = sorted(found, key=lambda one: order.index(one.level))
    return {"findings": ordered, "examined": ago(at), "address_again": f"{request.url.path}?again=1"}


def _usage(request: Request) -> dict[str, Any] | None:
    """What agents have used, by day."""
    from sage_code.views.state.apart import used_by_day

    listed, today = _listed(request), datetime.now(UTC).astimezone().date()
    first = today - timedelta(days=_days(request) - 1)
    root = listed.root if listed else None
    report = _used.get((root, first), lambda: used_by_day(first, root))
    if report is None:
        return None
    chart = charts.usage_chart(report, first, today)
    return {"chart": chart, "short": charts.short, "dollars": charts.dollars, "unpriced": report.unpriced_models}


def _card(request: Request) -> dict[str, Any]:
    return {**_freshness(request), "run": site_of(request).runs.last(_root(request))}


_PARTS: dict[str, Callable[[Request], dict[str, Any] | None]] = {
    "freshness": _freshness,
    "store": _store,
    "memory": _memory,
    "skipped": _skipped,
    "beside": _beside,
    "doctor": _doctor,
    "usage": _usage,
    "card": _card,
}
_OF_ALL = ("beside", "doctor", "usage")

ROUTES = (
    Route("/health", show_all),
    *(Route(f"/health/{name}", _part(name, _PARTS[name])) for name in _OF_ALL),
    Route("/p/{slug}/health", show),
    *(Route(f"/p/{{slug}}/health/{name}", _part(name, make)) for name, make in _PARTS.items()),
)
