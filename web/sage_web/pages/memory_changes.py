"""Changes of memories: add, edit, delete, confirm, finish, and undo. Each answer says how it is taken back."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from sage_code.errors import Conflict, SageError, UsageError
from sage_web.answers import Form, changing, gone_to, page
from sage_web.site import site_of
from sage_web.templating import address

if TYPE_CHECKING:
    from sage_code.memory.changing import Change, Kind, StoredText
    from sage_code.memory.editing import Draft
    from sage_code.project import Project
    from sage_code.values import Scope
    from sage_web.projects import ListedProject

# What a browser does about a change: it shows the line, with a button that sends `key` to `undo`.
UNDO_HEADER = "x-sage-undo"
TYPES = ("knowledge", "preference", "todo", "reference")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,120}")
_ID_WORDS = 6
_SAID = {
    "deleted": "Deleted", "edited": "Saved", "confirmed": "Still true: it refers to the code of today",
    "done": "Done", "reopened": "Open again", "restored": "Restored", "added": "Added",
    "marked": "Marked as a core file", "unmarked": "Not a core file any more",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Place:
    """What an address means."""

    slug: str
    listed: ListedProject
    project: Project

    @property
    def base(self) -> str:
        """The address of the project's memories."""
        return f"/p/{self.slug}/memory"


def _place(request: Request) -> _Place:
    projects, slug = site_of(request).projects, request.path_params["slug"]
    return _Place(slug, projects.find(slug), projects.open(slug))


def _named(request: Request) -> tuple[Kind, str]:
    from sage_code.memory.changing import kind_named  # lazy: the parser

    return kind_named(request.path_params["kind"]), request.path_params["id"]


def local(given: str, usual: str) -> str:
    """The address to go back to; one that leads out of the site is refused, before anything is changed."""
    if not given:
        return usual
    is_plain = given.isascii() and given.isprintable() and "\\" not in given  # as addresses are written
    if not given.startswith("/") or given.startswith("//") or not is_plain:
        raise UsageError("the page to go back to is not of this site", "go back to the list and try again")
    return given


def _said(
    request: Request, place: _Place, change: Change, back: str, masked: tuple[str, ...] = (), then: str = ""
) -> Response:
    """The answer to a change: where to go, what was done, and how to undo it."""
    answer = gone_to(request, back)
    line = _SAID.get(change.why, "Changed") if change.key or change.why == "added" else "Nothing had to be changed"
    if change.why == "restored":
        line = _SAID["restored"]
    if masked:
        line += f"; masked: {', '.join(dict.fromkeys(masked))}"
    way = "delete" if change.why == "added" else "restore"
    undo = f"{place.base}/{change.kind}/{change.id}/{way}" if change.key or change.why == "added" else ""
    answer.headers[UNDO_HEADER] = json.dumps({"said": line, "undo": undo, "key": change.key, "then": then})
    return answer


def _refusal(error: SageError) -> Response:
    """Why a button did nothing, for the script that shows it."""
    text = f"{error.message}; {error.hint}" if error.hint else error.message
    return PlainTextResponse(text, 409 if isinstance(error, Conflict) else 400)


def new_form(request: Request) -> Response:
    """A form for new knowledge; the address may bring what is known already."""
    from sage_code.memory.editing import Draft  # lazy: the parser

    given = request.query_params
    draft = Draft(given.get("content", ""), type=given.get("type", ""), refs=given.get("refs", ""))
    return _new_form(request, _place(request), draft, back=given.get("back", ""))


def _new_form(request: Request, place: _Place, draft: Draft, *, status: int = 200, **values: Any) -> Response:
    shown = {"error": "", "hint": "", "id_": "", "skill": "", "scope": "", "back": "", **values}
    shown["back"] = local(shown["back"], place.base)
    return page(request, "memory/new.html", status, title="New knowledge", project=place.listed, draft=draft,
                types=TYPES, memory_home=place.base, **shown)  # fmt: skip


@changing
def add(request: Request, form: Form) -> Response:
    """Save new knowledge; what was typed stays in the form if it cannot be saved."""
    from sage_code.memory.changing import Change
    from sage_code.memory.editing import as_sent, keywords_in, named_lines
    from sage_code.memory.files.knowledge import KnowledgeItem

    place = _place(request)
    back = local(form.get("back", ""), "")
    draft = _draft(form)
    try:
        memory = place.project.memory
        content = as_sent(draft.content).strip("\n")
        wanted = form.get("id", "").strip()
        if wanted and not _ID.fullmatch(wanted):
            raise UsageError(f"{wanted[:60]!r} is no id", "use letters, digits, - and _, or leave it empty")
        id_ = memory.knowledge.unused_id(wanted or _first_words(content), "")
        if wanted and id_ != wanted:
            raise UsageError(f"there is already something called {wanted}", "choose another id, or edit that one")
        kind = draft.type or "knowledge"
        item = KnowledgeItem(id_, content, kind, keywords_in(draft.keywords), form.get("skill", "").strip(),
                             draft.source.strip(), due=draft.due.strip() if kind == "todo" else "")  # fmt: skip
        scope: Scope | None = "user" if form.get("scope") == "user" else None
        saved, masked = memory.save_knowledge(item, refs=named_lines(draft.refs), scope=scope)
    except SageError as error:
        kept = {"id_": form.get("id", ""), "skill": form.get("skill", ""), "scope": form.get("scope", "")}
        return _new_form(request, place, draft, status=422, error=error.message, hint=error.hint, back=back, **kept)
    change = Change("knowledge", saved.item.id, "added", "")
    return _said(request, place, change, back or f"{place.base}/knowledge/{saved.item.id}", masked,
                 then=back or place.base)  # fmt: skip


def _draft(form: Form) -> Draft:
    from sage_code.memory.editing import Draft

    names = ("content", "keywords", "type", "source", "due", "confidence", "refs")
    return Draft(**{name: form.get(name, "") for name in names})


def _first_words(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower())[:_ID_WORDS])[:60] or "note"


def edit_form(request: Request) -> Response:
    """A form with what a memory says now."""
    from sage_code.memory.changing import stored
    from sage_code.memory.editing import draft_of

    place = _place(request)
    kind, id_ = _named(request)
    found = stored(place.project.memory, kind, id_)
    draft = draft_of(place.project.memory, found)
    back = request.query_params.get("back", "")
    return _edit_form(request, place, found, draft, back=back, renews=bool(request.query_params.get("renew")))


def _edit_form(
    request: Request, place: _Place, found: StoredText, draft: Draft, *, status: int = 200, **values: Any
) -> Response:
    own = f"{place.base}/{found.kind}/{found.id}"
    view = place.project.views.memory(place.project.memory, found.kind, found.id)
    shown = {"error": "", "hint": "", "back": "", "renews": False, "theirs": (), **values}
    shown["back"] = local(shown["back"], own)
    return page(request, "memory/edit.html", status, title=f"Edit {found.id}", project=place.listed, memory=view,
                draft=draft, types=TYPES, own=own, version=found.version, **shown)  # fmt: skip


@changing
def save(request: Request, form: Form) -> Response:
    """Save an edit. If somebody else has changed the memory meanwhile, both versions are shown and neither is lost."""
    from sage_code.memory.changing import stored
    from sage_code.memory.editing import draft_of, edit

    place = _place(request)
    kind, id_ = _named(request)
    back = local(form.get("back", ""), f"{place.base}/{kind}/{id_}")
    draft, renews = _draft(form), form.get("renew") == "1"
    memory = place.project.memory
    try:
        found = stored(memory, kind, id_)
    except (UsageError, OSError):
        return page(request, "memory/gone.html", 409, title=f"{id_} was deleted", project=place.listed, id_=id_,
                    kind=kind, draft=draft, memory_home=place.base)  # fmt: skip
    kept = {"back": back, "renews": renews}
    if form.get("version", "") != found.version:
        theirs = _difference(draft_of(memory, found).content, draft.content)
        return _edit_form(request, place, found, draft, status=409, theirs=theirs, **kept)
    try:
        done = edit(memory, found, draft, renew=renews)
    except Conflict:
        now = stored(memory, kind, id_)
        theirs = _difference(draft_of(memory, now).content, draft.content)
        return _edit_form(request, place, now, draft, status=409, theirs=theirs, **kept)
    except SageError as error:
        return _edit_form(request, place, found, draft, status=422, error=error.message, hint=error.hint, **kept)
    return _said(request, place, done.change, back, done.masked)


def _difference(theirs: str, ours: str) -> tuple[str, ...]:
    """The lines of two texts, marked with what only one of them has; never empty."""
    from sage_code.memory.editing import as_sent

    lines = difflib.ndiff(as_sent(theirs).split("\n"), as_sent(ours).split("\n"))
    return tuple(line for line in lines if not line.startswith("?"))


@changing
def delete(request: Request, form: Form) -> Response:
    """Delete a memory; what it said is kept for some time."""
    from sage_code.memory import changing as changes

    place = _place(request)
    back = local(form.get("back", ""), place.base)
    try:
        kind, id_ = _named(request)
        change = changes.delete(place.project.memory, kind, id_, form.get("version", ""))
    except SageError as error:
        return _refusal(error)
    return _said(request, place, change, back, then=local(form.get("then", ""), ""))


@changing
def still_true(request: Request, form: Form) -> Response:
    """Confirm a memory: it refers to the code as it is now."""
    from sage_code.memory import changing as changes

    place = _place(request)
    back = local(form.get("back", ""), f"{place.base}/{request.path_params['kind']}/{request.path_params['id']}")
    try:
        change = changes.still_true(place.project.memory, *_named(request))
    except SageError as error:
        return _refusal(error)
    return _said(request, place, change, back, then=local(form.get("then", ""), ""))


@changing
def restore(request: Request, form: Form) -> Response:
    """Take a change back, or take an earlier version although the memory was changed again since (`anyway`)."""
    from sage_code.memory import changing as changes

    place = _place(request)
    kind, id_ = request.path_params["kind"], request.path_params["id"]
    usual = address(place.base, tab="core") if kind == changes.CORE else f"{place.base}/{kind}/{id_}"
    back = local(form.get("back", ""), usual)
    try:
        key = form.get("key", "")
        if key.partition("-")[2] != f"{kind}-{id_}":
            raise UsageError("this version belongs to another memory", "reload the page")
        change = changes.undo(place.project.memory, key, is_forced=form.get("anyway") == "1")
    except SageError as error:
        return _refusal(error)
    return _said(request, place, change, back)


@changing
def todo(request: Request, form: Form) -> Response:
    """Mark a todo as done, or open it again."""
    from sage_code.memory import changing as changes

    place = _place(request)
    back = local(form.get("back", ""), address(place.base, tab="todos"))
    try:
        what = request.path_params["what"]
        if what not in ("done", "reopen"):
            raise UsageError("a todo can be done or reopened", "nothing was changed")
        change = changes.finish(place.project.memory, request.path_params["id"], is_done=what == "done")
    except SageError as error:
        return _refusal(error)
    return _said(request, place, change, back)


@changing
def core(request: Request, form: Form) -> Response:
    """Mark a file as core, change its summary, or remove the mark."""
    from sage_code.memory import changing as changes

    place = _place(request)
    back = local(form.get("back", ""), address(place.base, tab="core"))
    path, memory = form.get("path", "").strip(), place.project.memory
    try:
        what = request.path_params["what"]
        if what not in ("mark", "unmark"):
            raise UsageError("a file can be marked or unmarked", "nothing was changed")
        if what == "unmark":
            change = changes.unmark_core(memory, path)
        else:
            if not place.project.contains(path):
                raise UsageError(f"{path[:200] or 'that'} is no file of this project", "name it from the root")
            change = changes.mark_core(memory, path, form.get("summary", ""))
    except SageError as error:
        return _refusal(error)
    return _said(request, place, change, back)


_MEMORY = "/p/{slug}/memory"
ROUTES = (
    Route(f"{_MEMORY}/knowledge/new", new_form),
    Route(f"{_MEMORY}/knowledge/new", add, methods=["POST"]),
    Route(f"{_MEMORY}/todo/{{id}}/{{what}}", todo, methods=["POST"]),
    Route(f"{_MEMORY}/core/{{what}}", core, methods=["POST"]),
    Route(f"{_MEMORY}/{{kind}}/{{id}}/edit", edit_form),
    Route(f"{_MEMORY}/{{kind}}/{{id}}/edit", save, methods=["POST"]),
    Route(f"{_MEMORY}/{{kind}}/{{id}}/delete", delete, methods=["POST"]),
    Route(f"{_MEMORY}/{{kind}}/{{id}}/restore", restore, methods=["POST"]),
    Route(f"{_MEMORY}/{{kind}}/{{id}}/still-true", still_true, methods=["POST"]),
)
