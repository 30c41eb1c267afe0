"""`sage-mcp`: indexing, search and symbol lookup as tools of the Model Context Protocol, over standard streams.

The answers have the shapes of `compiled_schema/`, the same that the command line prints. A failure is a tool error
that says what to do next, so that an agent can mend it. Tools are plain functions: the SDK runs each in a thread, and
the server goes on answering while a project is indexed.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import asdict
from threading import Lock
from typing import Annotated, Any, ParamSpec, TypeVar

from anyio import from_thread
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from sage_code import Project, __version__, registry
from sage_code.errors import SageError
from sage_code.paths import sage_home
from sage_code.search.results import document

# An agent reads every word: more definitions of one name than this help nobody.
_MAX_MATCHES = 50
_MAX_SOURCES = 10
_SECONDS_BETWEEN_REPORTS = 0.5
# What an answer may cost unless the agent says otherwise, and how many open projects are kept warm.
_MAX_TOKENS = 2_000
_KEPT_OPEN = 8

_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES_INDEX = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_open_projects: dict[str, Project] = {}  # by root, the one that was asked last at the end
_opening = Lock()
_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")

Name = Annotated[str, Field(description="A name, bare or qualified: `run`, `Server.run`.")]
ProjectPath = Annotated[str, Field(description="The project, by any folder in it.")]

server = MCPServer(
    "sage",
    title="Sage",
    version=__version__,
    instructions="Index a project once with sage_index_code, then ask sage_search_code where something is done, find "
    "definitions by exact name with sage_grep_symbol and read them with sage_analyze_function.",
    log_level="WARNING",
)


def _explained(tool: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Hand Sage's own errors to the agent, each with its way out."""

    @functools.wraps(tool)
    def call(*args: _Given.args, **kwargs: _Given.kwargs) -> _Answer:
        try:
            return tool(*args, **kwargs)
        except SageError as error:
            raise ToolError(f"{error.message}; {error.hint}" if error.hint else error.message) from error

    return call


@server.tool(annotations=_WRITES_INDEX)
@_explained
def sage_index_code(
    context: Context,
    path: ProjectPath = ".",
    project: Annotated[str | None, Field(description="Call the project this.")] = None,
    incremental: Annotated[bool, Field(description="Only what has changed, or every file again.")] = True,
) -> dict[str, Any]:
    """Index a project, or bring its index up to date. Returns what was done."""
    return asdict(Project.open(path).index(full=not incremental, name=project, progress=_Reports(context)))


@server.tool(annotations=_READ_ONLY)
@_explained
def sage_search_code(
    query: Annotated[
        str,
        Field(
            description="A question in words, a name, a path, an error message or a bit of code. May hold filters: "
            "lang:go path:src/ kind:class in:project."
        ),
    ],
    project: Annotated[str, Field(description="The project, by its name or any folder in it.")] = ".",
    limit: Annotated[int, Field(ge=1, le=100, description="At most so many results.")] = 10,
    language: Annotated[str | None, Field(description="Only this language.")] = None,
    path: Annotated[str | None, Field(description="Only below this folder, or like this glob.")] = None,
    kind: Annotated[str | None, Field(description="Only this kind: function, method, class, struct ...")] = None,
    all_projects: Annotated[bool, Field(description="Search every project that was indexed.")] = False,
    explain: Annotated[bool, Field(description="Say why each result was chosen, and count its callers.")] = False,
    max_tokens: Annotated[int, Field(ge=16, description="What the snippets may cost.")] = _MAX_TOKENS,
) -> dict[str, Any]:
    """Find the code that answers a question: file, lines, what is defined there, and the lines that matched.

    `score` says how likely a result is an answer. Unless `good`, nothing is, and these are only the nearest.
    """
    return document(
        _opened(project).search(
            query,
            limit=limit,
            language=language,
            paths=path,
            kinds=kind,
            explain=explain,
            everywhere=all_projects,
            max_tokens=max_tokens,
        )
    )


@server.tool(annotations=_READ_ONLY)
@_explained
def sage_grep_symbol(name: Name, project_path: ProjectPath = ".") -> dict[str, Any]:
    """Find functions, classes, constants and types by exact name: file, line, signature, documentation.

    Without a match, `nearest` names what looks alike.
    """
    project = Project.open(project_path)
    return _answer(project, name, project.grep(name), _MAX_MATCHES)


@server.tool(annotations=_READ_ONLY)
@_explained
def sage_analyze_function(name: Name, project_path: ProjectPath = ".") -> dict[str, Any]:
    """The whole source of a definition as it is on the disk now, with its signature, documentation and place."""
    project = Project.open(project_path)
    return _answer(project, name, project.analyze(name), _MAX_SOURCES)


@server.tool(annotations=_READ_ONLY)
@_explained
def sage_health() -> dict[str, Any]:
    """Where Sage keeps its data, and which projects are indexed."""
    return {
        "version": __version__,
        "home": sage_home(),
        "projects": [asdict(entry) for entry in registry.projects()],
    }


@server.tool(annotations=_READ_ONLY)
def sage_version() -> dict[str, Any]:
    """The version of Sage."""
    return {"version": __version__}


def _opened(name: str) -> Project:
    """The project, and the same one as last time: what its searches have opened is open."""
    project = Project.named(name)
    with _opening:
        known = _open_projects.pop(project.root, project)
        _open_projects[project.root] = known
        if len(_open_projects) > _KEPT_OPEN:
            del _open_projects[next(iter(_open_projects))]
    return known


def _answer(project: Project, name: str, matches: list[dict[str, Any]], limit: int) -> dict[str, Any]:
    answer: dict[str, Any] = {"name": name, "matches": matches[:limit]}
    if len(matches) > limit:
        answer["truncated"] = len(matches) - limit
    if not matches:
        answer["nearest"] = project.nearest(name)
    return answer


class _Reports:
    """Tells the client how far a run has come, and lets it cancel one; the last good index stays."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._steps = 0  # of all stages: the protocol wants a figure that only grows
        self._stage, self._done, self._total = "", 0, 0
        self._last = 0.0

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        self._stage, self._done, self._total = name, 0, total or 0
        self.note(name)

    def advance(self, steps: int = 1) -> None:
        """Count, and report now and then."""
        self._done += steps
        if time.monotonic() - self._last > _SECONDS_BETWEEN_REPORTS:
            self.note(f"{self._stage} {self._done:,}/{self._total:,}" if self._total else self._stage)

    def note(self, text: str) -> None:
        """Report one line at once."""
        from_thread.check_cancelled()
        self._last = time.monotonic()
        self._steps += 1
        from_thread.run(self._context.report_progress, self._steps, None, text)


def main() -> None:
    """The `sage-mcp` command."""
    server.run("stdio")


if __name__ == "__main__":
    main()
