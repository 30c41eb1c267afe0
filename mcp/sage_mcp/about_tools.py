"""Tools about Sage itself: its version, its home, and the state of a project's index."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mcp.server.mcpserver import Context

from sage_code import __version__
from sage_code.errors import SageError
from sage_code.paths import sage_home
from sage_code.serving.requester import may_read
from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import Answer, Row, listing
from sage_mcp.tooling import READS, TOKENS, AskedProject, MaxTokens, Offset, ToolSpec


def sage_health(
    context: Context, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """Whether Sage is ready: what is indexed, how fresh, what to do about it, and which other projects there are. A
    good first call of a session: it also tells what to know about the project."""
    from sage_code.index import registry

    found = projects.find(context, project)
    state = _state(found)
    head = (
        f"Sage {__version__}, data in {one_line(sage_home())}\n"
        f"{one_line(found.root)}: {one_line(state['advice'] or 'ready')}; "
        f"{state['files']:,} files, {state['chunks']:,} chunks"
    )
    listed = [entry for entry in registry.projects() if may_read(entry.root)]
    rows = [Row(f"- {one_line(entry.name)}: {one_line(entry.root)}", asdict(entry)) for entry in listed]
    head += f"\n{len(rows)} indexed projects:"
    data = {"version": __version__, "home": sage_home(), "project": state}
    return listing(head, "projects", rows, data, root=found.root, max_tokens=max_tokens, offset=offset)


def sage_version(context: Context, max_tokens: MaxTokens = TOKENS) -> Answer:  # noqa: ARG001 - every tool takes it
    """The version of Sage."""
    return Answer(f"Sage {__version__}", {"version": __version__}, projects.folder_root(context))


def _state(project: Any) -> dict[str, Any]:
    """What `sage status` shows, in short, and what to do about it."""
    state = {"root": project.root, "indexed": False, "fresh": False, "files": 0, "chunks": 0, "changed": 0}
    try:
        status = project.status()
        state |= {name: getattr(status, name) for name in ("indexed", "fresh", "files", "chunks")}
        state["changed"] = len(status.changed) + len(status.removed)
        advice = f"{found.problem}: sage_index_code {found.remedy}" if (found := status.advice) else ""
    except SageError as error:
        advice = f"{error.message}; {error.hint}"
    run = projects.background.of(project.root)
    return {**state, "advice": run.state() if run else advice}


TOOLS = (ToolSpec(sage_health, "mcp_health", READS), ToolSpec(sage_version, "mcp_version", READS))
