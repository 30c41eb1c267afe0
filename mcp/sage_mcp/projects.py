"""Which project a call is about, and whether it may be read: those that are indexed, and the client's own.

A relative path is one from the client's folder, which its environment, its roots or the server's own folder say.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

import anyio
from anyio import from_thread
from mcp.server.mcpserver import Context
from mcp_types import ListRootsRequest, ListRootsResult

from sage_code.errors import NotIndexed, UsageError
from sage_code.ours import is_known
from sage_code.paths import DOT_SAGE, find_root, sage_home
from sage_code.roots import why_unusual
from sage_mcp.background import Background, Run

if TYPE_CHECKING:
    from sage_code.project import Project

# Open projects that are kept warm.
_KEPT_OPEN = 8
# Clients whose folders are remembered, and how long one may take to name its own.
_KEPT_CLIENTS = 256
_ROOTS_PATIENCE_S = 2.0
_CLAUDE_PROJECT = "CLAUDE_PROJECT_DIR"
_TUNING = "tuning.yaml"
# What a call waits for the index of a small project before it answers without.
FIRST_WAIT_S = 4.0

background = Background()
_open: dict[tuple[str, object], Project] = {}  # the one that was asked last at the end
_folders: dict[str, str] = {}
_lock = threading.Lock()


def session_of(context: Context) -> str:
    """What tells a session from others: a connection, or, where the protocol has none, a client by its name."""
    headers = context.headers
    if headers is None:
        return "stdio"
    if session := headers.get("mcp-session-id"):
        return f"session {session}"
    client = context.session.client_params
    who = f"{client.client_info.name} {client.client_info.version}" if client else headers.get("user-agent", "")
    return f"client {who}"


def find(context: Context, given: str | None = None, *, by_name: bool = True) -> Project:
    """The project that `given` names, a registered one or by any path in it; without, the client's own."""
    from sage_code.project import Project

    here = folder_of(context)
    name = os.path.expanduser(given or ".")
    path = os.path.normpath(os.path.join(here, name))
    is_name = by_name and given is not None and os.sep not in name and not name.startswith(".") and name != ""
    project = Project.named(name) if is_name and _is_registered(name) else None
    if project is None and is_name and not os.path.exists(path):
        project = Project.named(name)  # says which names there are
    project = project or Project.open(path)
    if not os.path.isdir(project.root):
        hint = f"it was moved or deleted: `sage projects forget {project.root}`"
        raise UsageError(f"the folder {project.root} is gone", hint)
    return _kept(project)


def indexed(context: Context, given: str | None = None) -> Project:
    """The same, if it has an index to be read; the client's own gets one, and the caller is told to come back."""
    project = find(context, given)
    if not is_indexed(project):
        run = start_indexing(context, project)
        if not run.wait(FIRST_WAIT_S):
            hint = "meanwhile sage_search_code answers by words, and sage_index_code waits for the index"
            raise NotIndexed(f"{project.root} is not indexed yet; {run.told()}", hint)
    return project


def is_indexed(project: Project) -> bool:
    """Whether there is an index, sound or not."""
    return is_known(project.root)


def start_indexing(context: Context, project: Project) -> Run:
    """Have the client's own project indexed in the background; any other wants to be asked for."""
    here = os.path.realpath(folder_of(context))
    if os.path.commonpath([here, project.root]) not in (here, project.root):
        hint = "call sage_index_code for it first: only the project you work in is indexed unasked"
        raise NotIndexed(f"{project.root} is not indexed", hint)
    check_indexable(project.root)
    return background.index(project)


def check_indexable(root: str) -> None:
    """Refuse what no agent may have indexed: the root of the disk, a home folder, system folders, Sage's own home."""
    if why := why_unusual(root):
        raise UsageError(f"{root} is no project: it is {why}", "give the folder of one, or start the server in it")


def folder_root(context: Context) -> str:
    """The root of the project that the client's folder lies in."""
    return find_root(folder_of(context))


def folder_of(context: Context) -> str:
    """The client's folder."""
    session = session_of(context)
    with _lock:
        if session in _folders:
            return _folders[session]
    told = os.environ.get(_CLAUDE_PROJECT, "")
    # The server's environment is the client's own only when the client has started it.
    folder = (told or _root_of(context)) if session == "stdio" else (_root_of(context) or told)
    folder = folder if folder and os.path.isdir(folder) else os.getcwd()
    with _lock:
        _folders[session] = folder
        if len(_folders) > _KEPT_CLIENTS:
            del _folders[next(iter(_folders))]
    return folder


def _root_of(context: Context) -> str:
    """The first folder that the client calls its root; the newest protocol has no such question any more."""
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
        return ""

    async def ask() -> ListRootsResult | None:
        with anyio.move_on_after(_ROOTS_PATIENCE_S):
            answer: ListRootsResult = await context.session.send_request(ListRootsRequest(), ListRootsResult)
            return answer
        return None

    try:
        answer = from_thread.run(ask)
    except Exception:  # an answer is worth nothing more than its project: the next source says
        return ""
    urls = [urlparse(str(root.uri)) for root in answer.roots] if answer else []
    return next((url2pathname(unquote(url.path)) for url in urls if url.scheme == "file"), "")


def _is_registered(name: str) -> bool:
    from sage_code import registry

    return any(entry.name == name for entry in registry.projects())


def _kept(project: Project) -> Project:
    """The same project as last time, with all that its searches have opened, unless its settings have changed."""
    key = (project.root, _stamps(project.root))
    with _lock:
        known = _open.pop(key, project)
        _open[key] = known
        if len(_open) > _KEPT_OPEN:
            del _open[next(iter(_open))]
    return known


def _stamps(root: str) -> tuple[int, ...]:
    stamps = []
    for folder in (os.path.join(root, DOT_SAGE), sage_home()):
        try:
            stamps.append(os.stat(os.path.join(folder, _TUNING)).st_mtime_ns)
        except OSError:
            stamps.append(0)
    return tuple(stamps)
