"""The archive of an agent: list, search, tags, add, edit, delete with a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import Conflict, UsageError
from sage_web.answers import Form, changing
from sage_web.pages.agent_frame import done, linker, made_memory, memory_of, number_of, show, text_of
from sage_web.site import site_of

if TYPE_CHECKING:
    from sage_code.views.agents.opened import AgentMemory

_MAX_QUESTION = 2_000


def passages(request: Request) -> Response:
    """The passages, newest first, or those that answer a question."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Passages", about="passages")
    from sage_code.views.agents.passages import passage_list  # lazy: the tables

    text = request.query_params.get("q", "")[:_MAX_QUESTION].strip()
    tags = request.query_params.getlist("tag")
    problem = listed = None
    try:
        listed = passage_list(memory, text, tags, number_of(request.query_params.get("page")))
    except UsageError as error:
        problem = error
    return show(request, "passages.html", title="Passages", listed=listed, text=text, tags=tags, problem=problem)


def passage(request: Request) -> Response:
    """One passage, to be read and edited."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Passages", about="passages")
    return _passage_page(request, memory, request.path_params["id"])


def _passage_page(
    request: Request,
    memory: AgentMemory,
    passage_id: str,
    problem: UsageError | Conflict | None = None,
    typed: Form | None = None,
) -> Response:
    """A passage; after an edit that was refused with the problem and what was typed."""
    from sage_code.views.agents.blocks import DiffLine, difference
    from sage_code.views.agents.passages import passage_page

    found = passage_page(memory, passage_id, {one.root for one in site_of(request).projects.listed()})
    lines: tuple[DiffLine, ...] = ()
    if isinstance(problem, Conflict) and typed is not None:
        lines = difference(found.passage.content, text_of(typed, "content"))
    status = 200 if problem is None else 409 if isinstance(problem, Conflict) else 400
    return show(
        request, "passage.html", status, title="A passage", found=found, problem=problem, typed=typed, lines=lines,
        is_conflict=isinstance(problem, Conflict), digest=_digest(found.passage.content, found.passage.tags),
    )  # fmt: skip


def _digest(content: str, tags: tuple[str, ...]) -> str:
    """What a passage said when it was read: a passage has no versions."""
    import hashlib

    return hashlib.sha256("\0".join((content, *tags)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def save(request: Request, form: Form) -> Response:
    """Replace the text and the tags of a passage, if nobody has changed it since it was read."""
    from sage_code.views.agents.opened import masked

    memory, passage_id = made_memory(request), request.path_params["id"]
    old = memory.archive.show(passage_id).passage
    try:
        if form.get("digest") != _digest(masked(old.content), old.tags):
            raise Conflict("somebody has changed this passage since you read it; nothing was changed", "compare both")
        saved = memory.archive.edit(passage_id, text_of(form, "content"), form.get("tags", ""), expected=old).passage
    except (UsageError, Conflict) as error:
        return _passage_page(request, memory, passage_id, error, {**form, "content": text_of(form, "content")})

    address = linker(request)(f"/agents/passages/{passage_id}")

    def undo() -> str:
        memory.archive.edit(passage_id, old.content, old.tags, expected=saved)
        return address

    return done(request, "Saved.", undo, f"/agents/passages/{passage_id}")


def new(request: Request) -> Response:
    """The form for a new passage."""
    return show(request, "new_passage.html", title="A new passage", typed={}, problem=None)


def add(request: Request, form: Form) -> Response:
    """Store a passage. What resembles it is shown; nothing is merged."""
    memory = made_memory(request)
    try:
        saved = memory.archive.insert(text_of(form, "content"), form.get("tags", ""))
    except UsageError as error:
        typed = {**form, "content": text_of(form, "content")}
        return show(request, "new_passage.html", 400, title="A new passage", typed=typed, problem=error)
    said = "Stored."
    if saved.masked:
        said += f" Masked: {', '.join(sorted(set(saved.masked)))}."
    if saved.similar:
        said += f" {len(saved.similar)} other{'s say' if len(saved.similar) > 1 else ' says'} something similar."

    address = linker(request)("/agents/passages")

    def undo() -> str:
        memory.archive.delete(saved.passage.id)
        return address

    return done(request, said, undo, f"/agents/passages/{saved.passage.id}")


def delete(request: Request, _form: Form) -> Response:
    """Delete a passage."""
    memory = made_memory(request)
    gone = memory.archive.delete(request.path_params["id"])

    address = linker(request)(f"/agents/passages/{gone.id}")

    def undo() -> str:
        memory.archive.restore(gone)
        return address

    return done(request, "The passage was deleted.", undo, "/agents/passages")


ROUTES = (
    Route("/agents/passages", passages),
    Route("/agents/new-passage", new, methods=["GET"]),
    Route("/agents/new-passage", changing(add), methods=["POST"]),
    Route("/agents/passages/{id}", passage, methods=["GET"]),
    Route("/agents/passages/{id}", changing(save), methods=["POST"]),
    Route("/agents/passages/{id}/delete", changing(delete), methods=["POST"]),
)
