"""`sage mcp install` and `sage mcp uninstall`: add Sage to the configuration of coding agents, or remove it."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.options import JsonOption, ProjectOption, ScopeChoice, ScopeOption
from sage_cli.output import EXIT_ERROR, answer, exit_if_nothing, one_line, print_json

if TYPE_CHECKING:
    from sage_code.agents.install import Change, Step


class Via(StrEnum):
    """How the agent starts the server."""

    INSTALLED = "installed"
    UVX = "uvx"


AgentOption = Annotated[
    list[str],
    typer.Option(
        "--agent",
        "-a",
        metavar="NAME",
        help="claude, codex, cursor, gemini, vscode, windsurf, zed, opencode, or all that are here (the default).",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a server called sage that is not Sage's.")]
SnippetOption = Annotated[
    bool, typer.Option("--snippet", help="Also a few lines in AGENTS.md, CLAUDE.md or GEMINI.md.")
]
SubagentOption = Annotated[bool, typer.Option("--subagent", help="Also a helper for Claude Code that needs no MCP.")]


def install(
    agent: AgentOption = [],  # noqa: B006 - Typer copies it
    scope: ScopeOption = ScopeChoice.USER,
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would be added, and where; write nothing.")
    ] = False,
    snippet: SnippetOption = False,
    subagent: SubagentOption = False,
    via: Annotated[
        Via, typer.Option("--via", help="This installation, or this very version through uvx.")
    ] = Via.INSTALLED,
    force: ForceOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Add Sage's MCP server to the configuration of coding agents.

    Adds one entry to the agent's own configuration and leaves the rest as it is, comments included. Keeps a copy of the
    file in ~/.sage/agents. `sage mcp uninstall` removes the entry again.

    Example:  sage mcp install --agent claude

    Example:  sage mcp install --agent codex --agent zed --snippet --scope project

    Example:  sage mcp install --agent vscode --print
    """
    from sage_code import __version__
    from sage_code.agents import install as agents
    from sage_code.agents.table import chosen_agents
    from sage_code.project import Project

    chosen = chosen_agents(agent)
    command = agents.server_command(scope.value, version=__version__ if via is Via.UVX else "")
    root = Project.named(project).root
    if print_only:
        previews = [agents.preview(one, scope.value, root, command) for one in chosen]
        lines = (f"{preview['agent']}: {one_line(preview['path'])}\n{preview['text']}" for preview in previews)
        answer({"changes": [], "previews": previews}, as_json, *lines)
        return
    steps: list[Step] = [("server", partial(agents.install, command=command, force=force))]
    steps += [("snippet", agents.install_notes)] if snippet else []
    steps += [("subagent", agents.install_subagent)] if subagent else []
    _show(agents.apply_to(chosen, steps, scope.value, root), as_json)


def uninstall(
    agent: AgentOption = [],  # noqa: B006
    scope: ScopeOption = ScopeChoice.USER,
    force: ForceOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Remove Sage from the configuration of coding agents, with its lines in AGENTS.md and its helper.

    Removes what was inserted, and nothing else. Exits with 1 when there was nothing to remove.

    Example:  sage mcp uninstall --agent claude --scope project
    """
    from sage_code.agents import install as agents
    from sage_code.agents.table import chosen_agents
    from sage_code.project import Project

    steps: list[Step] = [
        ("server", partial(agents.uninstall, force=force)),
        ("snippet", agents.uninstall_notes),
        ("subagent", agents.uninstall_subagent),
    ]
    changes = agents.apply_to(chosen_agents(agent), steps, scope.value, Project.named(project).root)
    # Most agents never had lines or a helper.
    _show([one for one in changes if one.kind == "server" or one.action not in ("absent", "skipped")], as_json)
    exit_if_nothing(any(change.action not in ("absent", "skipped") for change in changes))


def _show(changes: list[Change], as_json: bool) -> None:
    if as_json:
        print_json({"changes": [asdict(change) for change in changes], "previews": []})
    for change in [] if as_json else changes:
        print(f"{change.agent}: {change.kind} {change.action}  {one_line(change.path)}".rstrip())
        for remark in (change.note, f"a copy of it as it was: {change.backup}" if change.backup else ""):
            if remark:
                print(f"  {one_line(remark)}")
    if any(change.action == "failed" for change in changes):
        raise typer.Exit(EXIT_ERROR)
