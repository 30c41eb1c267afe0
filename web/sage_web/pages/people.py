"""What is known about people, and what goes on in channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sage_code.errors import UsageError
from sage_web.answers import Form, changing, gone_to
from sage_web.pages.agent_frame import done, linker, made_memory, memory_of, number_of, show, text_of

if TYPE_CHECKING:
    from sage_code.memory.tiers.tables.channels import Kind
    from sage_code.views.agents.opened import AgentMemory

_KINDS: dict[str, Kind] = {"rolling": "rolling", "profile": "profile"}


def profiles(request: Request) -> Response:
    """The people, and what is known about one of them: the user, unless another one is named."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="People", about="profiles")
    return _profiles(request, memory, request.query_params.get("name", ""))


def _profiles(
    request: Request, memory: AgentMemory, name: str, problem: UsageError | None = None, typed: str = ""
) -> Response:
    """The people beside one of them; after a line that was refused with the problem."""
    from sage_code.views.agents.people import people_list, person_page  # lazy: the rules for facts

    return show(
        request, "profiles.html", 400 if problem else 200, title="People", people=people_list(memory),
        person=person_page(memory, name, number_of(request.query_params.get("page"))), problem=problem, typed=typed,
    )  # fmt: skip


def add_fact(request: Request, form: Form) -> Response:
    """Write down a fact about a person."""
    memory, name = made_memory(request), form.get("name", "")
    known = {fact.id for fact in memory.people.facts(name)}
    try:
        added = memory.people.add(name, text_of(form, "text"))
    except UsageError as error:
        return _profiles(request, memory, name, error, form.get("text", ""))
    new = [fact.id for fact in added.facts if fact.id not in known]

    address = _address(request, name)

    def undo() -> str:
        for fact in new:
            memory.people.retire(name, fact)
        return address

    return done(request, "Added." if new else "That is known already.", undo, "/agents/profiles", name=name)


def retire(request: Request, form: Form) -> Response:
    """Take a fact back: its text is erased, and old messages do not bring it back."""
    memory, name = made_memory(request), form.get("name", "")
    fact = next((one for one in memory.people.facts(name) if one.id == form.get("fact")), None)
    if fact is None:
        raise UsageError("there is no such fact", "it was taken back already")
    memory.people.retire(name, fact.id)

    address = _address(request, name)

    def undo() -> str:
        memory.people.restore(fact)
        return address

    return done(request, "The fact was forgotten.", undo, "/agents/profiles", name=name)


def _address(request: Request, name: str) -> str:
    return linker(request)("/agents/profiles", name=name)


def channels(request: Request) -> Response:
    """The channels, the last used first."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Channels", about="channels")
    from sage_code.views.agents.people import channel_list

    listed = channel_list(memory, number_of(request.query_params.get("page")))
    return show(request, "channels.html", title="Channels", listed=listed)


def channel(request: Request) -> Response:
    """One channel: its summary or its profile, with their parts and versions."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Channels", about="channels")
    from sage_code.views.agents.people import channel_page

    asked = request.query_params
    kind = _KINDS.get(asked.get("kind", ""), "rolling")
    found = channel_page(memory, asked.get("name", ""), kind, number_of(asked.get("version"), 0))
    return show(request, "channel.html", title="Channel", found=found)


def summarise(request: Request, form: Form) -> Response:
    """Summarise now what waits in a channel."""
    from sage_code.views.agents.people import summarise as make_summary

    name = form.get("name", "")
    make_summary(made_memory(request), name)
    return gone_to(request, linker(request)("/agents/channels/read", name=name))


ROUTES = (
    Route("/agents/profiles", profiles),
    Route("/agents/profiles/add", changing(add_fact), methods=["POST"]),
    Route("/agents/profiles/retire", changing(retire), methods=["POST"]),
    Route("/agents/channels", channels),
    Route("/agents/channels/read", channel),
    Route("/agents/channels/summarise", changing(summarise), methods=["POST"]),
)
