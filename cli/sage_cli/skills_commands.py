"""`sage skills`: installs the skills that teach Claude Code when and how to use Sage, and looks after them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from sage_cli.options import JsonOption, ProjectOption, ScopeChoice, ScopeOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain
from sage_cli.tables import answer_table

app = typer.Typer(name="skills", help="Teach Claude Code when and how to use Sage.", no_args_is_help=True)
NamesArgument = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Skills; see `sage skills list`.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Also what you have edited; a copy of it is kept.")]


@app.command("install")
def install(
    names: NamesArgument = None,
    scope: ScopeOption = ScopeChoice.USER,
    force: ForceOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Install the skills about memory, or those that you name.

    A skill that you have edited stays as it is. Exits with 1 when all are kept for that reason.

    Example:  sage skills install

    Example:  sage skills install sage-code-search --scope project
    """
    _apply("install", names, scope, force, project, as_json)


@app.command("update")
def update(
    names: NamesArgument = None,
    scope: ScopeOption = ScopeChoice.USER,
    force: ForceOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Bring installed skills to the versions of this Sage; those that you have edited stay as they are.

    Exits with 1 when there was nothing that could be updated.

    Example:  sage skills update

    Example:  sage skills update sage-memory --force
    """
    _apply("update", names, scope, force, project, as_json)


@app.command("uninstall")
def uninstall(
    names: NamesArgument = None,
    scope: ScopeOption = ScopeChoice.USER,
    force: ForceOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Remove installed skills, all or those that you name; those that you have edited stay.

    Exits with 1 when nothing was removed.

    Example:  sage skills uninstall

    Example:  sage skills uninstall sage-session
    """
    _apply("uninstall", names, scope, force, project, as_json)


@app.command("list")
def list_skills(
    scope: ScopeOption = ScopeChoice.USER, project: ProjectOption = ".", as_json: JsonOption = False
) -> None:
    """List the skills with their versions, here and installed, and whether they were edited.

    Example:  sage skills list

    Example:  sage skills list --scope project --json
    """
    from sage_code.agents import skills
    from sage_code.project import Project

    found = skills.states(scope.value, Project.named(project).root)
    cells = ((one.name, one.state, one.shipped, one.installed or "-", one.description) for one in found)
    headings = ("name", "state", "version", "installed", "what for")
    answer_table("skills", map(asdict, found), headings, cells, as_json)


@app.command("show")
def show(name: Annotated[str, typer.Argument(metavar="NAME", help="The skill.")], as_json: JsonOption = False) -> None:
    """Show a skill as this Sage brings it.

    Example:  sage skills show sage-memory
    """
    from sage_code.agents import skills

    found = skills.find_skill(name)
    answer(asdict(found), as_json, plain(found.text).rstrip("\n"))


def _apply(
    command: Literal["install", "update", "uninstall"],
    names: list[str] | None,
    scope: ScopeChoice,
    force: bool,
    project: str,
    as_json: bool,
) -> None:
    """Run a command that changes skills and show what was done; if nothing was, exit with 1."""
    from sage_code.agents import skills
    from sage_code.project import Project

    change = {"install": skills.install, "update": skills.update, "uninstall": skills.uninstall}[command]
    changes = change(names or [], scope.value, Project.named(project).root, force=force)
    lines = []
    for one in changes:
        version = f" {one.version}" if one.version else ""
        lines.append(f"{one.name}{version}: {one.action}  {one_line(one.path)}")
        remarks = (one.note, f"a copy of it as it was: {one.backup}" if one.backup else "")
        lines += [f"  {one_line(remark)}" for remark in remarks if remark]
    answer({"changes": [asdict(one) for one in changes]}, as_json, *lines)
    done = any(one.action not in ("absent", "kept") for one in changes)
    exit_if_nothing(done, "" if changes else "no skill of Sage is installed here")
