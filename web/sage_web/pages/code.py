"""Read code with its names linked and its memories beside it, and browse the folders of a project."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from sage_code.errors import UsageError
from sage_web.answers import page, part
from sage_web.drawing.code_lines import BLOCK_LINES, block, blocks, code_address
from sage_web.editor import editor_link, editor_name
from sage_web.site import site_of

if TYPE_CHECKING:
    from sage_code.lookup.related import Use
    from sage_code.project import Project
    from sage_code.views.code.coloured import ColouredLines
    from sage_code.views.code.folders import Folder

# How many lines of a README a folder shows, and how much of the map.
_README_LINES = 24
_MAP_TOKENS = 1_200
# Uses that a panel shows, and how long it looks for them.
_MOST_USES, _USES_S = 300, 4.0
# The most lines that one request gets; a page asks for a block.
_MOST_LINES = 4 * BLOCK_LINES


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a path, for breadcrumbs and the tree."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class TreeLevel:
    """A folder of the tree, and which of its folders is open."""

    folder: Folder
    opened: TreeLevel | None = None


@dataclass(frozen=True, slots=True)
class ShownUse:
    """A use of a definition, with its line of code."""

    use: Use
    text: str
    address: str


def show(request: Request) -> Response:
    """A file or a folder."""
    path = request.path_params["path"]
    listed = site_of(request).projects.find(request.path_params["slug"])
    project = site_of(request).projects.opened(listed.root)
    try:
        if _is_folder(project, path.rstrip("/")):
            return _folder(request, project, path.rstrip("/"))
        return _file(request, project, path)
    except UsageError as error:
        values = {"message": error.message, "hint": error.hint, "project": listed}
        return page(request, "code/missing.html", 404, title="Not shown", steps=_steps(path), **values)


def _is_folder(project: Project, path: str) -> bool:
    if not path:
        return True
    try:
        project.views.folder(path)
    except UsageError:
        return False
    return True


def _folder(request: Request, project: Project, path: str) -> Response:
    """A folder: what is in it, what its README says, what is used most."""
    found = project.views.folder(path)
    readme: tuple[str, ...] = ()
    if found.readme:
        try:
            shown = project.views.coloured(found.readme, 1, _README_LINES, at_once=True)
            readme = tuple("".join(leaf.text for leaf in line) for line in shown.lines)
        except UsageError:
            readme = ()  # it has just been deleted
    listed = site_of(request).projects.find(request.path_params["slug"])
    return page(
        request,
        "code/folder.html",
        title=path or listed.name,
        project=listed,
        folder=found,
        steps=_steps(path),
        readme=readme,
        has_more=len(readme) == _README_LINES,
    )


def _file(request: Request, project: Project, path: str) -> Response:
    """A file. A long one comes in colour at its beginning; `code.js` asks for the rest when it is looked at."""
    from sage_code.paths import has_memories

    slug = request.path_params["slug"]
    shown = project.views.coloured(path, at_once=True)
    return page(
        request,
        "code/file.html",
        title=path,
        project=site_of(request).projects.find(slug),
        shown=shown,
        name=path.rpartition("/")[2],
        steps=_steps(path),
        tree=_tree(project, path),
        lines=blocks(slug, shown),
        has_memories=has_memories(project.root),
        own=code_address(slug, path),
        editor=editor_name(),
        editor_link=editor_link(os.path.join(project.root, path), 1),
    )


def _steps(path: str) -> list[Step]:
    """The folders on the way to a path, and its last step."""
    names = [name for name in path.split("/") if name]
    return [Step(name, "/".join(names[: number + 1])) for number, name in enumerate(names)]


def _tree(project: Project, path: str) -> TreeLevel | None:
    """The root of the tree with the folders open that lead to a file."""
    level: TreeLevel | None = None
    for step in reversed(_steps(path)):
        above = step.path.rpartition("/")[0]
        if _is_folder(project, above):
            level = TreeLevel(project.views.folder(above), level)
    return level or TreeLevel(project.views.folder(""))


def tree(request: Request) -> Response:
    """A folder of the tree, when it is opened."""
    project = site_of(request).projects.open(request.path_params["slug"])
    found = project.views.folder(request.path_params["path"])
    listed = site_of(request).projects.find(request.path_params["slug"])
    return part(request, "code/tree.html", project=listed, level=TreeLevel(found), current="")


def lines(request: Request) -> Response:
    """A block of a file with its links; refused if the file is not the one that the page shows any more."""
    slug, path = request.path_params["slug"], request.path_params["path"]
    project = site_of(request).projects.open(slug)
    first = _number(request, "first", 1)
    last = min(_number(request, "last", first), first + _MOST_LINES - 1)
    if request.query_params.get("links") == "0":
        return _block(request, project.views.coloured(path, first, last), "later")
    note = project.refresh()
    found = project.views.linked(path, first, last, is_stale=bool(note))
    state = "none" if not found.is_current else "some" if note or not found.is_complete else "all"
    return _block(request, found.shown, state, note)


def _block(request: Request, shown: ColouredLines, state: str, note: str = "") -> Response:
    """Lines as an answer, and which of their links are there, and why not all."""
    if shown.content_hash != request.query_params.get("was", ""):
        return PlainTextResponse("the file has changed", 409)
    made = block(request.path_params["slug"], shown.path, shown.lines, shown.first)
    headers = {"x-sage-links": state, "x-sage-note": quote(note)}
    return Response(str(made), media_type="text/html", headers=headers)


def _number(request: Request, name: str, otherwise: int) -> int:
    given = request.query_params.get(name, "")
    return int(given) if given.isdecimal() and len(given) < 9 else otherwise


def outline(request: Request) -> Response:
    """The definitions of a file."""
    slug, path = request.path_params["slug"], request.path_params["path"]
    project = site_of(request).projects.open(slug)
    _check(project, path)
    found = project.outline(os.path.join(project.root, path))
    listed = site_of(request).projects.find(slug)
    return part(request, "code/outline.html", project=listed, outline=found, own=code_address(slug, path))


def _check(project: Project, path: str) -> None:
    """Only files of the project are outlined or compared with memories."""
    if not project.views.content_hash(path):
        raise UsageError(f"there is no file {path} in this project", "go back to its folder")


def margin(request: Request) -> Response:
    """The memories about a file."""
    slug, path = request.path_params["slug"], request.path_params["path"]
    project = site_of(request).projects.open(slug)
    _check(project, path)
    notes = project.views.margin(path)
    listed = site_of(request).projects.find(slug)
    return part(request, "code/margin.html", project=listed, notes=notes, own=code_address(slug, path))


def uses(request: Request) -> Response:
    """Where a definition is used; a page of its own for those who open the link in another tab."""
    slug = request.path_params["slug"]
    name, file = request.query_params.get("name", ""), request.query_params.get("file", "")
    project = site_of(request).projects.open(slug)
    found = project.related(name, "references", seconds=_USES_S, most=_MOST_USES)
    of_file = [use for use in found.uses if not file or use.definition.file == file]  # type: ignore[union-attr]  # usages
    chosen = sorted(of_file, key=lambda use: (use.file != file, use.file, use.line))[:_MOST_USES]
    texts = project.views.masked(project.lines_at((use.file, use.line) for use in chosen))
    rows = [
        ShownUse(use, text, code_address(slug, use.file, use.line)) for use, text in zip(chosen, texts, strict=True)
    ]
    return page(
        request,
        "code/uses.html",
        title=f"Uses of {name}",
        project=site_of(request).projects.find(slug),
        name=name,
        file=file,
        line=_number(request, "line", 1),
        uses=rows,
        left=len(of_file) - len(chosen),
        found=found,
        defined=code_address(slug, file, _number(request, "line", 1)) if file else "",
    )


def fresh(request: Request) -> Response:
    """Whether a file is still as a page shows it."""
    project = site_of(request).projects.open(request.path_params["slug"])
    now = project.views.content_hash(request.query_params.get("file", ""))
    return JSONResponse({"fresh": bool(now) and now == request.query_params.get("was", ""), "gone": not now})


def most_used(request: Request) -> Response:
    """What the rest of the project uses most of a folder."""
    slug = request.path_params["slug"]
    project = site_of(request).projects.open(slug)
    found = project.map(request.query_params.get("in", ""), _MAP_TOKENS)
    listed = site_of(request).projects.find(slug)
    return part(request, "code/most_used.html", project=listed, entries=found.entries, slug=slug)


def to_root(request: Request) -> Response:
    """The address without its last slash."""
    return RedirectResponse(f"/p/{request.path_params['slug']}/code/", 307)


ROUTES = (
    Route("/p/{slug}/code", to_root),
    Route("/p/{slug}/code/{path:path}", show),
    Route("/p/{slug}/tree/{path:path}", tree),
    Route("/p/{slug}/lines/{path:path}", lines),
    Route("/p/{slug}/outline/{path:path}", outline),
    Route("/p/{slug}/margin/{path:path}", margin),
    Route("/p/{slug}/uses", uses),
    Route("/p/{slug}/fresh", fresh),
    Route("/p/{slug}/most-used", most_used),
)
