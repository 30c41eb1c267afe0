"""`sage scip` and `sage tags`: what other tools know about references, and what they read of Sage."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, NoRefreshOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, say_note
from sage_cli.tables import answer_table

app = typer.Typer(
    name="scip", help="Take over what compilers know about references, and export what Sage knows.",
    no_args_is_help=True,
)  # fmt: skip
OverlayArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="The overlay's name, as `sage scip list` says it.")
]


@app.command("import")
def import_scip(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An index that a SCIP tool has written.")],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Call it NAME; the tool's name if not given.")
    ] = "",
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a SCIP index: where it knows what a reference means, that wins over guesses.

    What it says about a file counts until the file changes. Another import of the same tool replaces it.

    Example:  scip-typescript index && sage scip import index.scip

    Example:  ty-scip . index.scip && sage scip import index.scip
    """
    from sage_code.exchange.scip_import import import_scip as run

    opened = open_project(project)
    note = "" if no_refresh else opened.refresh()
    say_note(note, as_json)
    done = run(opened.root, file, name=name)
    left = {what.replace("_", " "): count for what, count in asdict(done.left_out).items() if count}
    found = f"{done.occurrences:,} occurrences of {done.definitions:,} definitions in {done.files:,} files"
    lines = [f"{one_line(done.name)}: {found}"]
    if left:
        lines.append("  left out: " + ", ".join(f"{count:,} {what}" for what, count in left.items()))
    answer(asdict(done), as_json, *lines)


@app.command("list")
def list_overlays(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the imported indexes, and how many of their files have changed since. Exits with 1 if there is none.

    Example:  sage scip list
    """
    from sage_code.exchange.scip_import import overlay_states

    states = overlay_states(open_project(project).root)
    cells = (
        (
            one_line(one.name),
            "damaged: import it again" if one.is_damaged else one_line(f"{one.tool} {one.version}"),
            f"{one.files:,}",
            f"{one.stale:,}",
            f"{one.occurrences:,}",
        )
        for one in states
    )
    answer_table(
        "overlays", [asdict(one) for one in states], ("name", "tool", "files", "changed", "occurrences"), cells, as_json
    )
    exit_if_nothing(states, "nothing is imported; `sage scip import FILE` takes over what a tool knows")


@app.command("rm")
def remove(name: OverlayArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Remove an imported index; references are guessed again.

    Example:  sage scip rm scip-typescript
    """
    from sage_code.scip.overlay import remove_overlay

    remove_overlay(open_project(project).root, name)
    answer({"removed": name}, as_json, f"removed {one_line(name)}")


@app.command("export")
def export_scip(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = "index.scip",
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", "-c", min=0, max=1, help="Leave out references less certain than this.")
    ] = 0.8,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write definitions and references as a SCIP index, for code hosts and editors.

    Example:  sage scip export -o index.scip
    """
    from sage_code import __version__
    from sage_code.exchange.scip_export import export_scip as run

    opened = open_project(project)
    say_note("" if no_refresh else opened.refresh(), as_json)
    done = run(opened.root, output, min_confidence=min_confidence, version=__version__)
    left = f"; {done.left_out:,} changed files left out" if done.left_out else ""
    line = f"{one_line(done.path)}: {done.definitions:,} definitions and {done.references:,} references in "
    answer(asdict(done), as_json, f"{line}{done.files:,} files{left}")


def tags(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file to write; `-` is the standard output.")
    ] = "tags",
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the definitions as a tags file, for Vim, Emacs and others that read ctags.

    Example:  sage tags

    Example:  sage tags -o - | grep parse_config
    """
    from sage_code import __version__
    from sage_code.errors import UsageError
    from sage_code.exchange.tags import project_tags, write_tags

    if output == "-" and as_json:
        raise UsageError("--json and -o - both write to the standard output", "give a file with -o")
    opened = open_project(project)
    say_note("" if no_refresh else opened.refresh(), as_json)
    if output == "-":
        sys.stdout.buffer.write(project_tags(opened.root, version=__version__).data)
        return
    done = write_tags(opened.root, output, version=__version__)
    document = {"path": output, "tags": done.tags, "files": done.files, "left_out": done.left_out}
    left = f"; {done.left_out:,} changed files left out" if done.left_out else ""
    answer(document, as_json, f"{one_line(output)}: {done.tags:,} tags of {done.files:,} files{left}")
