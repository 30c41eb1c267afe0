"""What the pages about agents share: the opened memory, their frame, links that keep the agent, and undoing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from sage_web.answers import Form, gone_to, page
from sage_web.running.undoing import Undoing
from sage_web.site import site_of
from sage_web.templating import address

if TYPE_CHECKING:
    from sage_code.views.agents.opened import AgentMemories, AgentMemory

TABS = (
    ("/agents", "Overview"),
    ("/agents/conversations", "Conversations"),
    ("/agents/blocks", "Blocks"),
    ("/agents/passages", "Passages"),
    ("/agents/profiles", "People"),
    ("/agents/channels", "Channels"),
)
# One page runs in a process, so one opened database and one list of what can be undone serve all requests.
UNDOING = Undoing()
_memories: list[AgentMemories] = []


def agent_name(request: Request) -> str:
    """The agent that an address names; empty for the one of the settings."""
    return request.query_params.get("agent", "")[:200]


def memory_of(request: Request) -> AgentMemory | None:
    """What the agent remembers; None if there is nothing yet. Nothing is made."""
    return _opened().existing(agent_name(request))


def made_memory(request: Request) -> AgentMemory:
    """What the agent remembers, for a change: it is made if there is nothing yet."""
    return _opened().made(agent_name(request))


def _opened() -> AgentMemories:
    from sage_code.views.agents.opened import AgentMemories  # lazy: a page without agents opens no database

    if not _memories:
        _memories.append(AgentMemories())
    return _memories[0]


def linker(request: Request) -> Callable[..., str]:
    """Makes addresses that stay with the agent of this one."""
    name = agent_name(request)

    def link(path: str, **values: Any) -> str:
        return address(path, **values, agent=name)

    return link


def show(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page inside of the frame of these pages."""
    from sage_code.views.agents.opened import masked  # lazy: the rules of masking

    listed = site_of(request).projects.listed()
    shared = {
        "tabs": TABS,
        "link": linker(request),
        "masked": masked,
        "when": when,
        "folder": folder_name,
        "slugs": {one.root: one.slug for one in listed},
        "done_token": request.query_params.get("done", ""),
        "undoable": UNDOING.find(request.query_params.get("done", "")),
        "agent_asked": agent_name(request),
    }
    return page(request, f"agents/{template}", status, **{**shared, **values})


def done(request: Request, said: str, undo: Callable[[], str], path: str, **values: Any) -> Response:
    """The answer to a change that can be undone: a page that says so."""
    return gone_to(request, linker(request)(path, **values, done=UNDOING.keep(said, undo)))


def text_of(form: Form, name: str) -> str:
    """A text of a form with the line ends that it had: browsers send others."""
    return form.get(name, "").replace("\r\n", "\n").replace("\r", "\n")


def number_of(text: str | None, default: int = 1) -> int:
    """A number of an address or a form; the default if it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


def when(moment: datetime | None) -> str:
    """A time as it is here, to the minute."""
    return "" if moment is None else moment.astimezone().strftime("%Y-%m-%d %H:%M")


def folder_name(path: str) -> str:
    """The last part of a path."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path
