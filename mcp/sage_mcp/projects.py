"""Which project a call is about, and whether the client may read it.

A client may read its own project and those that the user has indexed. A relative path starts at the client's folder,
which comes from its environment, its roots or the server's own folder. Over stdio the client has started the server
itself: its own are all folders that it names and that can be projects. Over HTTP the client is a stranger with a token:
its roots only choose among the projects that it may read, and its own is the folder that the user has started the
server in. No client may read Sage's home, the user's home, system folders or the folders above them.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

import anyio
from anyio import from_thread
from mcp.server.mcpserver import Context
from mcp_types import ListRootsRequest, ListRootsResult

from sage_code.errors import NotIndexed, UsageError
from sage_code.files.provenance import is_known
from sage_code.paths import find_root
from sage_code.serving.requester import current, may_read, may_read_repository
from sage_mcp.background import Background, Run

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.search.results import SearchResponse

# Open projects that are kept, the searches of each ready.
_KEPT_OPEN = 8
# Clients whose folders are remembered, and how long one may take to name its own.
_KEPT_CLIENTS = 256
_ROOTS_PATIENCE_S = 2.0
_MOST_ROOTS = 32
_CLAUDE_PROJECT = "CLAUDE_PROJECT_DIR"
STDIO = "stdio"
# How long a call waits for the first index of a project before it answers without one.
FIRST_WAIT_S = 4.0

background = Background()
_open: dict[tuple[str, object], Project] = {}  # the one that was asked last at the end
_folders: dict[str, list[str]] = {}  # of each client, the one that it works in first
_lock = threading.Lock()


def session_of(context: Context) -> str:
    """The identity of a session: its connection, or the client's name where the protocol has no sessions."""
    headers = context.headers
    if headers is None:
        return STDIO
    if session := headers.get("mcp-session-id"):
        return f"session {session}"
    client = context.session.client_params
    who = f"{client.client_info.name} {client.client_info.version}" if client else headers.get("user-agent", "")
    asking = current()
    return f"client {who} of {asking.name}" if asking else f"client {who}"


def find(context: Context, given: str | None = None, *, by_name: bool = True) -> Project:
    """The project that `given` names, by its registered name or by any path in it; the client's own without `given`.

    A project that the client may not read is an error.
    """
    from sage_code.project import Project

    here, name = folder_of(context), given or "."
    path = os.path.join(here, os.path.expanduser(name))
    project = Project.named(name, here) if by_name else Project.open(path)
    _check_readable(context, project.root)
    if not os.path.isdir(project.root):
        hint = f"it was moved or deleted: `sage projects forget {project.root}`"
        raise UsageError(f"the folder {project.root} is gone", hint)
    return _kept(project)


def indexed(context: Context, given: str | None = None) -> Project:
    """The same, with an index. A project without one is indexed in the background; if that takes long, an error says
    to come back."""
    project = find(context, given)
    check_indexable(project.root)
    # An index that only came with the files does not count.
    if project.root not in _registered() or not is_known(project.root):
        run = start_indexing(context, project)
        if not run.wait(FIRST_WAIT_S):
            hint = "meanwhile sage_search_code answers by words, and sage_index_code waits for the index"
            raise NotIndexed(f"{project.root} is not indexed yet; {run.state()}", hint)
    return project


def start_indexing(context: Context, project: Project) -> Run:
    """Index a project in the background."""
    _check_readable(context, project.root)
    check_indexable(project.root)
    return background.index(project)


def _check_readable(context: Context, root: str) -> None:
    """Refuse a project that is neither the client's own nor indexed by the user."""
    if not _may_read(context, root):
        check_indexable(root)
        hint = "only the user can add it, with `sage index` in that folder; sage_health lists what there is"
        raise UsageError(f"{root} is neither the project you work in nor indexed by the user", hint)


def _may_read(context: Context, root: str) -> bool:
    return root in _registered() or any(
        root == find_root(folder) or (root.startswith(os.path.join(folder, "")) and not _why_unusual(folder))
        for folder in map(os.path.realpath, _own_folders(context))
    )


def check_indexable(root: str) -> None:
    """Refuse what no agent may index: the root of the disk, a home folder, system folders, Sage's own home."""
    if why := _why_unusual(root):
        raise UsageError(f"{root} is no project: it is {why}", "give the folder of one, or start the server in it")


def allowed_hits(response: SearchResponse) -> SearchResponse:
    """A response without the hits in projects that no agent may index, or that this user may not read."""
    from dataclasses import replace

    kept = tuple(
        hit
        for hit in response.results
        if (may_read_repository(hit.repository) if hit.repository else _may_show(hit.root or response.root))
    )
    return response if len(kept) == len(response.results) else replace(response, results=kept)


def allowed_rows(rows: list[dict[str, Any]], root: str) -> list[dict[str, Any]]:
    """The same for results of a search for exact text."""
    return [row for row in rows if _may_show(row.get("root", root))]


def _may_show(root: str) -> bool:
    return may_read(root) and not _why_unusual(root)


def check_belongs(project: Project, path: str) -> None:
    """Refuse a file that is not one of the project's: an ignored one, or one that Sage or git keeps."""
    if not project.contains(path):
        raise UsageError(f"{path} is not among the files of {project.root} that are indexed", "sage_map shows some")


def _why_unusual(folder: str) -> str:
    from sage_code.discover.roots import why_unusual  # lazy: loads discovery, and the handshake must not wait for it

    return why_unusual(folder)


def _registered() -> set[str]:
    from sage_code.index import registry

    return {entry.root for entry in registry.projects() if may_read(entry.root)}


def folder_root(context: Context) -> str:
    """The root of the project around the client's folder; empty when the client may not read it."""
    root = find_root(folder_of(context))
    return root if _may_read(context, root) else ""


def folder_of(context: Context) -> str:
    """The client's folder."""
    return _folders_of(context)[0]


def _own_folders(context: Context) -> list[str]:
    """The client's own folders; over HTTP the user chooses them, not the client. One of many users has none."""
    if current() is not None:
        return []
    if session_of(context) == STDIO:
        return _folders_of(context)
    return [os.environ.get(_CLAUDE_PROJECT) or os.getcwd()]


def _folders_of(context: Context) -> list[str]:
    """The folders that a client works in: its roots, the one in its environment, or the server's own.

    One of many users works in the first of the projects that were given to that user.
    """
    if (asking := current()) is not None:
        if not asking.roots:
            raise UsageError("no project is served to you", "the server's owner indexes one and gives it to you")
        return [asking.roots[0]]
    session = session_of(context)
    with _lock:
        if session in _folders:
            return _folders[session]
    given = [os.environ.get(_CLAUDE_PROJECT, "")]
    # The server's environment is the client's own only when the client has started it.
    named = given + _roots_of(context) if session == STDIO else _roots_of(context) + given
    folders = [folder for folder in named if folder and os.path.isdir(folder)] or [os.getcwd()]
    with _lock:
        _folders[session] = folders
        if len(_folders) > _KEPT_CLIENTS:
            del _folders[next(iter(_folders))]
    return folders


def _roots_of(context: Context) -> list[str]:
    """The folders that the client calls its roots; in the newest protocol a server can no longer ask for them."""
    capabilities = context.client_capabilities
    if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
        return []

    async def ask() -> ListRootsResult | None:
        with anyio.move_on_after(_ROOTS_PATIENCE_S):
            answer: ListRootsResult = await context.session.send_request(ListRootsRequest(), ListRootsResult)
            return answer
        return None

    try:
        answer = from_thread.run(ask)
    except Exception:  # a client that fails here is taken to be in the folder that the next source names
        return []
    urls = [urlparse(str(root.uri)) for root in answer.roots[:_MOST_ROOTS]] if answer else []
    return [url2pathname(unquote(url.path)) for url in urls if url.scheme == "file"]


def _kept(project: Project) -> Project:
    """The project as it was opened last time, with everything its searches keep open, unless its settings changed."""
    key = (project.root, _stamps(project.root))
    with _lock:
        known = _open.pop(key, project)
        _open[key] = known
        if len(_open) > _KEPT_OPEN:
            del _open[next(iter(_open))]
    return known


def _stamps(root: str) -> tuple[int, int]:
    """When the settings of the project and of the user were last written."""
    from sage_code.settings.loading import tuning_path

    def stamp(path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns
        except OSError:
            return 0

    return stamp(tuning_path("project", root)), stamp(tuning_path("user"))
