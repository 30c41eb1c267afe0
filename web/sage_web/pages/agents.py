"""What agents remember by themselves: the overview, the way back from a change, and what is erased for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import UsageError
from sage_web.answers import Form, changing, gone_to
from sage_web.pages import blocks, conversations, passages, people
from sage_web.pages.agent_frame import UNDOING, linker, made_memory, memory_of, number_of, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sage_code.views.agents.opened import AgentMemory

_WHAT = ("session", "project", "before", "message")


def overview(request: Request) -> Response:
    """How much is remembered, and what was last."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Agents’ memory", about="overview")
    from sage_code.views.agents.opened import overview_of  # lazy: the tables

    return show(request, "overview.html", title="Agents’ memory", overview=overview_of(memory))


def undo(request: Request, form: Form) -> Response:
    """Take a change back."""
    found = UNDOING.take(form.get("token", ""))
    if found is None:
        raise UsageError("this cannot be undone any more", "it was undone already, or too long ago")
    return gone_to(request, found.undo())


def ask_to_erase(request: Request) -> Response:
    """Say what would be erased, and ask."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Erase", about="conversations")
    return _asking(request, memory, dict(request.query_params))


def _asking(request: Request, memory: AgentMemory, given: Mapping[str, str], changed: bool = False) -> Response:
    """The page that asks, for messages, a person or a block."""
    values: dict[str, Any] = {"title": "Erase for good", "changed": changed, "given": given}
    if given.get("kind") == "person":
        from sage_code.views.agents.people import person_page

        known = person_page(memory, given.get("person", ""))
        return show(request, "erase.html", kind="person", person=known, count=known.rows, **values)
    if label := given.get("block", ""):
        from sage_code.views.agents.blocks import block_history

        history = block_history(memory, label)
        return show(request, "erase.html", kind="block", history=history, count=len(history.versions), **values)
    from sage_code.views.agents.conversations import erasure_of, message_with_id, title_of_session

    what = {name: given.get(name, "") for name in _WHAT}
    found = erasure_of(memory, **_read(what))
    message = message_with_id(memory, what["message"]) if what["message"] else None
    values["session_title"] = title_of_session(memory, what["session"]) if what["session"] else ""
    return show(
        request, "erase.html", kind="messages", what=what, erasure=found, message=message, count=found.messages,
        **values,
    )  # fmt: skip


def _read(given: Mapping[str, str]) -> dict[str, Any]:
    """Which messages are meant, as the library takes it."""
    from sage_code.memory.tiers.spans import since_of  # lazy: the words for times

    return {**{name: given.get(name, "") for name in _WHAT}, "before": since_of(given.get("before", ""))}


def erase(request: Request, form: Form) -> Response:
    """Erase what was asked for. If there is more or less of it by now, ask again."""
    memory, link = made_memory(request), linker(request)
    count = number_of(form.get("count"), -1)
    if form.get("sure") != "yes":
        raise UsageError("nothing was erased", "tick that you are sure")
    if form.get("kind") == "person":
        name = form.get("person", "")
        if count != len(memory.people.facts(name, retired=True)):
            return _asking(request, memory, form, changed=True)
        memory.people.forget(name)
        address = link("/agents/profiles")
    elif label := form.get("block", ""):
        core = memory.core(only_reads=False)
        if count != min(len(core.history(label, count + 1)), count + 1):
            return _asking(request, memory, form, changed=True)
        core.delete(label, forget=True, by_person=True)
        address = link("/agents/blocks")
    else:
        what = _read(form)
        if memory.recall.forget(**what, dry_run=True).messages != count:
            return _asking(request, memory, form, changed=True)
        memory.recall.forget(**what)
        address = link("/agents/conversations")
    UNDOING.clear()
    return gone_to(request, address)


ROUTES = (
    Route("/agents", overview),
    Route("/agents/undo", changing(undo), methods=["POST"]),
    Route("/agents/erase", ask_to_erase, methods=["GET"]),
    Route("/agents/erase", changing(erase), methods=["POST"]),
    *conversations.ROUTES,
    *blocks.ROUTES,
    *passages.ROUTES,
    *people.ROUTES,
)
