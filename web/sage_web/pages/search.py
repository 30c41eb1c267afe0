"""Find code and what is known about it: search as somebody types, facets, why a hit was found, and the home."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from sage_code.errors import SageError, UsageError
from sage_code.serving.requester import ADMIN, MEMORY_READ, may
from sage_code.views.found.facets import Chosen
from sage_web import editor
from sage_web.answers import Form, changing, page, part
from sage_web.searching.asked import Asked, asked_of
from sage_web.searching.facet_links import chips_of, groups_of, modes_of
from sage_web.searching.finders import finders_of
from sage_web.site import site_of

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.views.found.code_search import Found
    from sage_code.views.found.remembered import Remembered
    from sage_web.projects import ListedProject

# Names the page and the search, so that a newer search of the same page takes the place of one that waits.
PAGE_HEADER, TURN_HEADER = "x-sage-page", "x-sage-turn"
_AROUND = 24  # lines of a preview before and after the hit
_OF_PROJECTS = ("checkpoint", "knowledge")
_BESIDE, _ALONE = 3, 20  # memories of a kind beside code, and alone
_HOME_CHECKPOINTS = 5
_TITLE_CHARS = 160
_EXAMPLES = (
    ("where are retries backed off", "a question in words"),
    ("parse_config", "a name"),
    ("connection refused by peer", "an error message"),
    ("kind:class path:src lang:python cache", "with filters"),
)


def show(request: Request) -> Response:
    """The page, or the part of it that changes with the question."""
    asked, projects = asked_of(request), site_of(request).projects
    listed = projects.listed()
    project = projects.find(asked.slug) if asked.slug else None
    shared: dict[str, Any] = {
        "project": project,
        "query_text": asked.text,
        "asked": asked,
        "listed": listed,
        "by_root": {one.root: one for one in listed},
        "editor": editor.editor_name(),
        "editor_link": editor.editor_link,
        "none_chosen": Chosen(),
    }
    if not asked.text.strip():
        return page(request, "search/home.html", title="Search", examples=_EXAMPLES, **shared)
    if asked.memory_only:
        return page(
            request, "search/search.html", title=asked.text, **shared, **_memory_values(request, asked, project)
        )
    with finders_of(request).turn(asked, *_turn_of(request)) as is_ours:
        if not is_ours:
            return Response(status_code=204)
        found, problem = _found(request, asked, project, listed)
    values: dict[str, Any] = {
        "found": found,
        "problem": problem,
        "groups": groups_of(asked, found.facets, listed) if found else [],
        "chips": chips_of(asked),
        "modes": modes_of(asked),
        "remembered": None,
    }
    return page(request, "search/search.html", title=asked.text, **shared, **values)


def _turn_of(request: Request) -> tuple[str, int]:
    """The page that a search is for, and its number there."""
    number = request.headers.get(TURN_HEADER, "")
    return request.headers.get(PAGE_HEADER, "")[:64], int(number) if number.isdecimal() and len(number) < 12 else 0


def _found(
    request: Request, asked: Asked, project: ListedProject | None, listed: list[ListedProject]
) -> tuple[Found | None, SageError | None]:
    """What was found, or what is wrong with the question."""
    roots = [project.root] if project else [one.root for one in listed]
    try:
        return finders_of(request).find(asked, roots), None
    except SageError as error:
        return None, error


def _memory_values(request: Request, asked: Asked, project: ListedProject | None) -> dict[str, Any]:
    """The values of the page if only memories are wanted."""
    return {
        "found": None,
        "problem": None,
        "groups": groups_of(asked, None, site_of(request).projects.listed()),
        "chips": chips_of(asked),
        "modes": modes_of(asked),
        "remembered": _remembered(request, asked, project, _ALONE),
    }


def _remembered(request: Request, asked: Asked, project: ListedProject | None, limit: int) -> tuple[Remembered, ...]:
    """What is remembered about the question, in one project or in all."""
    if not may(MEMORY_READ):
        return ()
    projects = site_of(request).projects
    searched = [projects.opened(one.root) for one in ([project] if project else projects.listed())]
    said_in = project.root if project else ""
    found = finders_of(request).remembered(asked.text, searched, limit, said_in=said_in, alone=asked.memory_only)
    # What was said and what agents keep belongs to no project that a user could have been given.
    return found if may(ADMIN) else tuple(one for one in found if one.kind in _OF_PROJECTS)


def memories(request: Request) -> Response:
    """What is remembered about a question, beside code."""
    asked, projects = asked_of(request), site_of(request).projects
    project = projects.find(asked.slug) if asked.slug else None
    found = _remembered(request, asked, project, _BESIDE)
    by_root = {one.root: one for one in projects.listed()}
    return part(request, "search/remembered.html", remembered=found, asked=asked, by_root=by_root, alone=False)


def fresh(request: Request) -> Response:
    """Whether the indexes behind an answer are up to date."""
    asked, projects = asked_of(request), site_of(request).projects
    searched = [projects.find(asked.slug)] if asked.slug else projects.listed()
    ages = finders_of(request).ages
    found = [(one, ages.age(one.root)) for one in searched]
    return JSONResponse(
        [{"in": one.slug, "name": one.name, "state": age.state, "note": age.note} for one, age in found]
    )


@changing
def refresh(request: Request, form: Form) -> Response:
    """Bring the index of a project up to date if few files have changed; otherwise say how many."""
    found = site_of(request).projects.find(form.get("in", ""))
    age = finders_of(request).ages.update(found.root)
    return JSONResponse({"in": found.slug, "name": found.name, "state": age.state, "note": age.note})


def preview(request: Request) -> Response:
    """The code around a hit."""
    from sage_code.views.found.marked_lines import marked_words  # lazy: the masker

    listed, file = _file_of(request)
    line = _number(request.query_params.get("line", ""))
    project = site_of(request).projects.opened(listed.root)
    _check_belongs(project, file)
    shown = project.views.coloured(file, max(line - _AROUND, 1), line + _AROUND)
    words = finders_of(request).words(request.query_params.get("q", ""))
    return part(
        request, "search/preview.html", shown=shown, file=file, line=line, words=words, listed=listed,
        marked=marked_words,
    )  # fmt: skip


def why(request: Request) -> Response:
    """How the score of a hit comes about."""
    from sage_code.search.explanation import steps  # lazy: with the search

    listed, file = _file_of(request)
    asked = asked_of(request)
    found = finders_of(request).code.explained(asked.text, listed.root, asked.chosen, file)
    if found is None:
        raise UsageError("this hit is no longer found", "search again")
    hit, explanation = found
    large, small = explanation.listed(8)
    rows = [
        *large,
        *([("everything else", sum(small))] if small else []),
        ("usual for any candidate", explanation.bias),
    ]
    return part(
        request, "search/why.html", rows=rows, most=max(abs(share) for _, share in rows) or 1.0, hit=hit,
        explanation=explanation, steps=steps(explanation),
    )  # fmt: skip


@changing
def edit(request: Request, form: Form) -> Response:
    """Open a file in the user's editor."""
    listed, file = _file_of(request)
    _check_belongs(site_of(request).projects.opened(listed.root), file)
    if not editor.open_at(os.path.join(listed.root, file), _number(form.get("line", ""))):
        return PlainTextResponse("no editor with a window is set: `export VISUAL=code` before `sage web`", 409)
    return Response(status_code=204)


def home_project(request: Request) -> Response:
    """What the home says about one project: how fresh it is, what was concluded last, what has gone stale."""
    from sage_code.text.masking import mask  # lazy: dozens of patterns

    found = site_of(request).projects.find(request.path_params["slug"])
    project = site_of(request).projects.opened(found.root)
    age = finders_of(request).ages.age(found.root)
    newest = [one for one, _ in islice(project.memory.checkpoints.newest(), _HOME_CHECKPOINTS)]
    titles = [mask(_shortened(one.thesis))[0] for one in newest]
    stale = len(project.stale())
    return part(
        request,
        "search/home_project.html",
        listed=found,
        age=age,
        checkpoints=newest,
        titles=titles,
        stale=stale,
    )


def _file_of(request: Request) -> tuple[ListedProject, str]:
    """The project and the file that an address names; a path need not be text."""
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = os.fsdecode(unquote_to_bytes(raw.partition(b"?")[0]))
    _, _, _, slug, file = path.split("/", 4)
    return site_of(request).projects.find(slug), file


def _check_belongs(project: Project, file: str) -> None:
    """Refuse what is not indexed; a path that climbs is none of an index."""
    if os.path.isabs(file) or ".." in file.split("/") or not project.contains(file):
        raise UsageError(f"{file[:200]} is not among the files of this project", "search again")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and 0 < len(text) < 9 else 1


ROUTES = (
    Route("/", show),
    Route("/search/memory", memories),
    Route("/search/fresh", fresh),
    Route("/search/refresh", refresh, methods=["POST"]),
    Route("/search/home/{slug}", home_project),
    Route("/search/preview/{slug}/{path:path}", preview),
    Route("/search/why/{slug}/{path:path}", why),
    Route("/search/edit/{slug}/{path:path}", edit, methods=["POST"]),
)
