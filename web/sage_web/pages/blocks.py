"""The blocks of an agent: read, edit without losing anybody's text, go back to an old version, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import Conflict, UsageError
from sage_web.answers import Form, changing
from sage_web.pages.agent_frame import done, linker, made_memory, memory_of, number_of, show, text_of

if TYPE_CHECKING:
    from sage_code.memory.tiers.core_memory import CoreMemory, Edited
    from sage_code.views.agents.opened import AgentMemory


def blocks(request: Request) -> Response:
    """All blocks, and those that were deleted."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Blocks", about="blocks")
    from sage_code.views.agents.blocks import block_list  # lazy: the tables

    return show(request, "blocks.html", title="Blocks", listed=block_list(memory))


def block(request: Request) -> Response:
    """One block: its text to be edited, its versions, and what one of them changed."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Blocks", about="blocks")
    return _block_page(request, memory, request.path_params["label"])


def _block_page(
    request: Request, memory: AgentMemory, label: str, problem: UsageError | None = None, typed: str | None = None
) -> Response:
    """A block; after an edit that was refused with the problem and the text that was typed."""
    from sage_code.views.agents.blocks import block_history, version_change

    version = number_of(request.query_params.get("version"), 0) if problem is None else 0
    to_now = request.query_params.get("against") == "now"
    change = version_change(memory, label, version, to_now=to_now) if version else None
    return show(
        request, "block.html", 400 if problem else 200, title=f"Block {label}", history=block_history(memory, label),
        change=change, to_now=to_now, problem=problem, typed=typed,
    )  # fmt: skip


def save(request: Request, form: Form) -> Response:
    """Replace the text of a block, if nobody has changed it since it was read."""
    memory, label = made_memory(request), request.path_params["label"]
    core, text, read = memory.core(only_reads=False), text_of(form, "value"), number_of(form.get("version"), 0)
    try:
        edited = core.set(label, text, expected_version=read, by_person=True)
    except Conflict:
        return _conflict(request, memory, label, read, text)
    except UsageError as error:
        return _block_page(request, memory, label, error, text)
    return _saved(request, core, edited, f"Saved as version {edited.block.version}.", read)


def _conflict(request: Request, memory: AgentMemory, label: str, read: int, text: str) -> Response:
    """Both texts, and what each has changed since the version that was read: the person decides."""
    from sage_code.views.agents.blocks import block_history, difference, version_change

    history = block_history(memory, label)
    try:
        base = version_change(memory, label, read).edit.value
    except UsageError:  # that version was erased
        base = ""
    theirs = history.block.value if history.block is not None else ""
    return show(
        request, "conflict.html", 409, title=f"Block {label} was changed", history=history, read=read, mine=text,
        theirs=theirs, their_lines=difference(base, theirs), my_lines=difference(theirs, text),
    )  # fmt: skip


def _saved(request: Request, core: CoreMemory, edited: Edited, said: str, before: int) -> Response:
    """The answer to an edit, which can be undone as long as nobody edits again."""
    label, version = edited.block.label, edited.block.version
    address = linker(request)(f"/agents/blocks/{label}")

    def undo() -> str:
        core.undo(label, before, expected_version=version, by_person=True)
        return address

    if edited.masked:
        said += f" Masked: {', '.join(sorted(set(edited.masked)))}."
    return done(request, said, undo, f"/agents/blocks/{label}")


def configure(request: Request, form: Form) -> Response:
    """Change what a block is for, how long it may be, and whether agents may write it."""
    memory, label = made_memory(request), request.path_params["label"]
    core = memory.core(only_reads=False)
    old = core.block(label)
    try:
        new = core.configure(
            label,
            description=text_of(form, "description"),
            char_limit=number_of(form.get("char_limit"), 0),
            read_only=form.get("read_only") == "yes",
            expected_version=number_of(form.get("version"), 0),
        )
    except (UsageError, Conflict) as error:
        return _block_page(request, memory, label, UsageError(error.message, error.hint))

    address = linker(request)(f"/agents/blocks/{label}")

    def undo() -> str:
        core.configure(
            label,
            description=old.description,
            char_limit=old.char_limit,
            read_only=old.read_only,
            expected_version=new.version,
        )
        return address

    return done(request, "Settings saved.", undo, f"/agents/blocks/{label}")


def restore(request: Request, form: Form) -> Response:
    """Give a block the text of an earlier version; one that was deleted comes back."""
    memory, label = made_memory(request), request.path_params["label"]
    core, version = memory.core(only_reads=False), number_of(form.get("version"), 0)
    before = core.history(label, 1)[0]
    edited = core.undo(
        label, version or None, expected_version=number_of(form.get("present"), 0), by_person=True
    )  # fmt: skip
    if before.action == "delete":  # what was deleted by hand is deleted again, not given an empty text
        return _brought_back(request, core, edited)
    said = f"Version {version} is back, as version {edited.block.version}."
    return _saved(request, core, edited, said, before.version)


def _brought_back(request: Request, core: CoreMemory, edited: Edited) -> Response:
    """The answer to the return of a block that was deleted."""
    label, version, address = edited.block.label, edited.block.version, linker(request)("/agents/blocks")

    def undo() -> str:
        core.delete(label, expected_version=version, by_person=True)
        return address

    return done(request, f"Block {label} is back.", undo, f"/agents/blocks/{label}")


def delete(request: Request, form: Form) -> Response:
    """Take a block away; its history stays."""
    memory, label = made_memory(request), request.path_params["label"]
    core = memory.core(only_reads=False)
    old = core.block(label)
    core.delete(label, expected_version=number_of(form.get("version"), 0), by_person=True)

    address = linker(request)(f"/agents/blocks/{label}")

    def undo() -> str:
        core.create(
            label,
            old.value,
            description=old.description,
            char_limit=old.char_limit,
            read_only=old.read_only,
            expected_version=old.version + 1,
        )
        return address

    return done(request, f"Block {label} was deleted.", undo, "/agents/blocks")


def new(request: Request) -> Response:
    """The form for a new block."""
    typed = {"label": request.query_params.get("label", "")[:100]}
    return show(request, "new_block.html", title="A new block", typed=typed, problem=None)


def create(request: Request, form: Form) -> Response:
    """Make a block."""
    memory = made_memory(request)
    core, label, value = memory.core(only_reads=False), form.get("label", "").strip(), text_of(form, "value")
    try:
        known = next((one for one in core.blocks() if one.label == label), None)
        if known is not None and not known.value and known.version == 1:  # one that every agent has, just made
            edited = core.set(label, value, expected_version=1, by_person=True)
        else:
            edited = core.create(
                label,
                value,
                description=text_of(form, "description"),
                char_limit=number_of(form.get("char_limit"), 0) if form.get("char_limit") else None,
            )
    except UsageError as error:
        return show(request, "new_block.html", 400, title="A new block", typed=form, problem=error)

    address = linker(request)("/agents/blocks")

    def undo() -> str:
        if known is not None:
            core.set(label, "", expected_version=edited.block.version, by_person=True)
        else:
            core.delete(label, expected_version=edited.block.version, by_person=True)
        return address

    return done(request, f"Block {label} was made.", undo, f"/agents/blocks/{label}")


ROUTES = (
    Route("/agents/blocks", blocks),
    Route("/agents/new-block", new, methods=["GET"]),
    Route("/agents/new-block", changing(create), methods=["POST"]),
    Route("/agents/blocks/{label}", block, methods=["GET"]),
    Route("/agents/blocks/{label}", changing(save), methods=["POST"]),
    Route("/agents/blocks/{label}/configure", changing(configure), methods=["POST"]),
    Route("/agents/blocks/{label}/restore", changing(restore), methods=["POST"]),
    Route("/agents/blocks/{label}/delete", changing(delete), methods=["POST"]),
)
