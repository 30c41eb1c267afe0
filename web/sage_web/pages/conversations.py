"""What was said to agents: sessions, a search in all of them, and transcripts to read."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from sage_code.errors import UsageError
from sage_web.answers import part
from sage_web.pages.agent_frame import linker, memory_of, number_of, show

# Results of a search that are shown at first, and at most.
_FOUND, _MOST_FOUND = 20, 100
_MAX_QUESTION = 2_000
# Suggestions for the limits of time; any date or month is understood, too.
SPANS = ("today", "yesterday", "last week", "last month", "3 months ago")


def conversations(request: Request) -> Response:
    """Sessions, the newest messages that fit the filters, or the answers to a question."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Conversations", about="conversations")
    from sage_code.memory.tiers.spans import since_of, until_of
    from sage_code.memory.tiers.values import ROLES
    from sage_code.views.agents import conversations as views  # lazy: the tables

    asked = {name: request.query_params.get(name, "") for name in ("project", "session", "role", "since", "until")}
    text = request.query_params.get("q", "")[:_MAX_QUESTION].strip()
    number = number_of(request.query_params.get("page"))
    limit = min(number_of(request.query_params.get("n"), _FOUND), _MOST_FOUND)
    values: dict[str, Any] = {"problem": None, "answers": None, "newest": None, "sessions": None}
    try:
        if asked["role"] not in ("", *ROLES):
            raise UsageError(f"there is no role {asked['role'][:40]!r}", f"one of {', '.join(ROLES)}")
        wanted = views.Asked(
            text, asked["project"], asked["session"], asked["role"], since_of(asked["since"]), until_of(asked["until"])
        )
        if text:
            values["answers"] = views.answers_to(memory, wanted, max(limit, 1))
        elif wanted.role or wanted.session:
            values["newest"] = views.newest_messages(memory, wanted, number)
        else:
            values["sessions"] = views.session_list(memory, wanted, number)
    except UsageError as error:
        values["problem"] = error
    # Each filter with the address that has all others.
    filters = [(name, {"q": text, **asked, name: ""}) for name, value in asked.items() if value]
    return show(
        request, "conversations.html", title="Conversations", text=text, asked=asked, roles=ROLES, spans=SPANS,
        projects=views.projects_talked_about(memory), limit=limit, most=_MOST_FOUND, step=_FOUND,
        is_filtered=any(asked.values()), filters=filters, **values,
    )  # fmt: skip


def read(request: Request) -> Response:
    """A page of a session."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Conversations", about="conversations")
    from sage_code.views.agents.conversations import transcript

    asked = request.query_params
    found = transcript(memory, asked.get("session", ""), number_of(asked.get("page")), asked.get("message", ""))
    title = found.session.title or f"Session {found.session.id[:40]}"
    return show(request, "transcript.html", title=title, transcript=found, chosen=asked.get("message", ""))


def permalink(request: Request) -> Response:
    """Where a message is now."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Conversations", about="conversations")
    from sage_code.views.agents.conversations import message_with_id

    found = message_with_id(memory, request.path_params["id"])
    address = linker(request)("/agents/conversations/read", session=found.session, message=found.id)
    return RedirectResponse(f"{address}#m-{found.id}", 303)


def whole(request: Request) -> Response:
    """One message with its whole text: a part of the transcript, or a page."""
    memory = memory_of(request)
    if memory is None:
        return show(request, "nothing.html", title="Conversations", about="conversations")
    from sage_code.views.agents.conversations import message_with_id

    found = message_with_id(memory, request.path_params["id"])
    if request.headers.get("hx-request") == "true":
        return part(request, "agents/message_text.html", text=found.content)
    return show(request, "message.html", title="A message", message=found)


ROUTES = (
    Route("/agents/conversations", conversations),
    Route("/agents/conversations/read", read),
    Route("/agents/messages/{id}", permalink),
    Route("/agents/messages/{id}/text", whole),
)
