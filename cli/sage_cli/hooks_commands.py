"""`sage hooks`: adds Sage's hooks to the settings of Claude Code, removes them, and shows how they are."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.options import JsonOption, ProjectOption
from sage_cli.output import EXIT_ERROR, answer, exit_if_nothing, one_line, say

if TYPE_CHECKING:
    from sage_code.agents.hooks import HookChange, HookState

app = typer.Typer(name="hooks", help="Let Claude Code tell Sage what happens in a session.", no_args_is_help=True)


class HookScopeChoice(StrEnum):
    """Whose settings: the user's, the project's in git, or the user's in this project."""

    USER = "user"
    PROJECT = "project"
    LOCAL = "local"


HookScopeOption = Annotated[
    HookScopeChoice,
    typer.Option("--scope", help="For you in every project, for all who work on this project, or for you in it."),
]


@app.command("install")
def install(
    scope: HookScopeOption = HookScopeChoice.USER,
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would be added, and where; write nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also replace time limits and matchers that you have set on Sage's hooks.")
    ] = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Add Sage's hooks to the settings of Claude Code.

    They run when a session starts and ends, with each prompt, when an answer is complete, when a subagent starts and
    before a compaction. Your own hooks, comments and formatting stay as they are. Keeps a copy of the file in
    ~/.sage/agents. `sage hooks uninstall` restores the file.

    Example:  sage hooks install

    Example:  sage hooks install --scope project

    Example:  sage hooks install --print
    """
    from sage_code.agents import hooks
    from sage_code.project import Project

    root = Project.named(project).root
    if print_only:
        shown = hooks.preview(scope.value, root)
        answer({"changes": [], "previews": [shown]}, as_json, one_line(shown["path"]), shown["text"].rstrip("\n"))
        return
    _show(hooks.install(scope.value, root, force=force), as_json)


@app.command("uninstall")
def uninstall(
    scope: HookScopeOption = HookScopeChoice.USER, project: ProjectOption = ".", as_json: JsonOption = False
) -> None:
    """Remove Sage's hooks from the settings of Claude Code, and nothing else.

    Exits with 1 when there was nothing to remove.

    Example:  sage hooks uninstall

    Example:  sage hooks uninstall --scope project
    """
    from sage_code.agents import hooks
    from sage_code.project import Project

    change = hooks.uninstall(scope.value, Project.named(project).root)
    _show(change, as_json)
    exit_if_nothing(change.action != "absent")


@app.command("status")
def status(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show in which settings of Claude Code Sage's hooks are, and whether they can run.

    Exits with 0 when hooks are installed, 1 when none are, and 2 when a file cannot be read or a program cannot be run.

    Example:  sage hooks status

    Example:  sage hooks status --json
    """
    from sage_code.agents import hooks
    from sage_code.project import Project

    found = hooks.status(Project.named(project).root)
    lines = [line for state in found.scopes for line in _lines(state)]
    document = {**asdict(found), "installed": found.is_installed, "notes": found.notes}
    answer(document, as_json, *lines, *map(one_line, found.notes), show=say)
    if found.is_broken:
        raise typer.Exit(EXIT_ERROR)
    exit_if_nothing(found.is_installed)


def _lines(state: HookState) -> list[str]:
    """How the hooks are in one file, and what to do about it."""
    lines = [f"{state.scope}: {state.state}  {one_line(state.path)}"]
    if state.command:
        lines.append(f"  {one_line(state.command)}")
    if state.missing and state.state != "absent":
        lines.append(f"  missing: {', '.join(state.missing)}")
    if state.problem:
        lines.append(f"  {one_line(state.problem)}")
    if state.remedy:
        lines.append(f"  → {one_line(state.remedy)}")
    return lines


def _show(change: HookChange, as_json: bool) -> None:
    remarks = (change.note, f"a copy of it as it was: {change.backup}" if change.backup else "")
    answer(
        {"changes": [asdict(change)], "previews": []},
        as_json,
        f"{change.scope}: hooks {change.action}  {one_line(change.path)}",
        *(f"  {one_line(remark)}" for remark in remarks if remark),
    )
