"""Which project a call is about, and whether it may be read: the client's own, and those that the user has indexed.

A relative path is one from the client's folder, which its environment, its roots or the server's own folder say. A
client that has started the server itself, over stdio, may call any folder its own that can be a project. Over HTTP a
client is a stranger with a token: its roots choose among the projects that it may read, and add none; its own is the
folder that the user has started the server in. Sage's home, the user's home, system folders and what lies above them
are nobody's.
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

from sage_code.discover.roots import why_unusual
from sage_code.errors import NotIndexed, UsageError
from sage_code.files.provenance import is_known
from sage_code.paths import DOT_SAGE, find_root, sage_home
from sage_mcp.background import Background, Run

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.search.results import SearchResponse

# Open projects that are kept warm.
_KEPT_OPEN = 8
# Clients whose folders are remembered, and how long one may take to name its own.
_KEPT_CLIENTS = 256
_ROOTS_PATIENCE_S = 2.0
_MOST_ROOTS = 32
_CLAUDE_PROJECT = "CLAUDE_PROJECT_DIR"
_STDIO = "stdio"
# Nobody's projects. `/usr/src`, `/opt`, `/srv`, `/var/lib`, `/run/media` and `/tmp` hold projects on some machines.
_SYSTEM_FOLDERS = (
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr/bin", "/usr/lib", "/var/log",
    "/private/etc", "/System", "/Library", "C:\\Windows",
)  # fmt: skip
_TUNING = "tuning.yaml"
# What a call waits for the index of a small project before it answers without.
FIRST_WAIT_S = 4.0

background = Background()
_open: dict[tuple[str, object], Project] = {}  # the one that was asked last at the end
_folders: dict[str, list[str]] = {}  # of each client, the one that it works in first
_lock = threading.Lock()


def session_of(context: Context) -> str:
    """What tells a session from others: a connection, or, where the protocol has none, a client by its name."""
    headers = context.headers
    if headers is None:
        return _STDIO
    if session := headers.get("mcp-session-id"):
        return f"session {session}"
    client = context.session.client_params
    who = f"{client.client_info.name} {client.client_info.version}" if client else headers.get("user-agent", "")
    return f"client {who}"


def find(context: Context, given: str | None = None, *, by_name: bool = True) -> Project:
    """The project that `given` names, a registered one or by any path in it; without, the client's own. One that the
    client may not read is an error."""
    from sage_code.project import Project

    here = folder_of(context)
    name = os.path.expanduser(given or ".")
    path = os.path.normpath(os.path.join(here, name))
    is_name = by_name and given is not None and os.sep not in name and not name.startswith(".") and name != ""
    project = Project.named(name) if is_name and _is_registered(name) else None
    if project is None and is_name and not os.path.exists(path):
        project = Project.named(name)  # says which names there are
    project = project or Project.open(path)
    _check_readable(context, project.root)
    if not os.path.isdir(project.root):
        hint = f"it was moved or deleted: `sage projects forget {project.root}`"
        raise UsageError(f"the folder {project.root} is gone", hint)
    return _kept(project)


def indexed(context: Context, given: str | None = None) -> Project:
    """The same, if it has an index to be read; the client's own gets one, and the caller is told to come back."""
    project = find(context, given)
    check_indexable(project.root)
    if not is_indexed(project):
        run = start_indexing(context, project)
        if not run.wait(FIRST_WAIT_S):
            hint = "meanwhile sage_search_code answers by words, and sage_index_code waits for the index"
            raise NotIndexed(f"{project.root} is not indexed yet; {run.told()}", hint)
    return project


def is_indexed(project: Project) -> bool:
    """Whether this user has an index of it, sound or not; one that only came with the files is none."""
    return project.root in _registered() and is_known(project.root)


def start_indexing(context: Context, project: Project) -> Run:
    """Have a project indexed in the background."""
    _check_readable(context, project.root)
    check_indexable(project.root)
    return background.index(project)


def _check_readable(context: Context, root: str) -> None:
    """Refuse what is neither the client's own nor indexed by the user."""
    if not _may_read(context, root):
        check_indexable(root)
        hint = "only the user can add it, with `sage index` in that folder; sage_health lists what there is"
        raise UsageError(f"{root} is neither the project you work in nor indexed by the user", hint)


def _may_read(context: Context, root: str) -> bool:
    return root in _registered() or any(
        root == find_root(folder) or (root.startswith(os.path.join(folder, "")) and not why_unusual(folder))
        for folder in map(os.path.realpath, _own_folders(context))
    )


def check_indexable(root: str) -> None:
    """Refuse what no agent may have indexed: the root of the disk, a home folder, system folders, Sage's own home."""
    if why := why_unusual(root):
        raise UsageError(f"{root} is no project: it is {why}", "give the folder of one, or start the server in it")


def allowed_hits(response: SearchResponse) -> SearchResponse:
    """An answer from several projects without those whose code is not for agents."""
    from dataclasses import replace

    kept = tuple(hit for hit in response.results if not why_unusual(hit.root or response.root))
    return response if len(kept) == len(response.results) else replace(response, results=kept)


def check_belongs(project: Project, path: str) -> None:
    """Refuse a file that is not among the project's: ignored ones, and what Sage and version control keep."""
    from sage_code.discover import discover_rules, list_files
    from sage_code.files.inside import relative_path
    from sage_code.index.manifest import load_manifest

    inside = relative_path(project.root, path)
    manifest = load_manifest(project.root)
    if manifest is not None and inside in manifest.files:
        return
    if not any(file.path == inside for file in list_files(project.root, discover_rules(project.settings))):
        raise UsageError(f"{path} is not among the files of {project.root} that are indexed", "sage_map shows some")


def _registered() -> set[str]:
    from sage_code.index import registry

    return {entry.root for entry in registry.projects()}


def folder_root(context: Context) -> str:
    """The root of the project that the client's folder lies in; nothing when it may not be read."""
    root = find_root(folder_of(context))
    return root if _may_read(context, root) else ""


def folder_of(context: Context) -> str:
    """The client's folder."""
    return _folders_of(context)[0]


def _own_folders(context: Context) -> list[str]:
    """The folders that are the client's; over HTTP the user's choice, not the client's."""
    if session_of(context) == _STDIO:
        return _folders_of(context)
    return [os.environ.get(_CLAUDE_PROJECT) or os.getcwd()]


def _folders_of(context: Context) -> list[str]:
    session = session_of(context)
    with _lock:
        if session in _folders:
            return _folders[session]
    told = [os.environ.get(_CLAUDE_PROJECT, "")]
    # The server's environment is the client's own only when the client has started it.
    named = told + _roots_of(context) if session == _STDIO else _roots_of(context) + told
    folders = [folder for folder in named if folder and os.path.isdir(folder)] or [os.getcwd()]
    with _lock:
        _folders[session] = folders
        if len(_folders) > _KEPT_CLIENTS:
            del _folders[next(iter(_folders))]
    return folders


def _roots_of(context: Context) -> list[str]:
    """The folders that the client calls its roots; the newest protocol has no such question any more."""
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
    except Exception:  # an answer is worth nothing more than its project: the next source says
        return []
    urls = [urlparse(str(root.uri)) for root in answer.roots[:_MOST_ROOTS]] if answer else []
    return [url2pathname(unquote(url.path)) for url in urls if url.scheme == "file"]


def _is_registered(name: str) -> bool:
    from sage_code.index import registry

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
