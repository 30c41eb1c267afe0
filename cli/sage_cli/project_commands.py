"""`sage projects`: lists the projects that are indexed on this machine, and forgets them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say

app = typer.Typer(name="projects", help="List and forget indexed projects.", no_args_is_help=True)


@app.command("list")
def list_projects(dates: DatesOption = False, as_json: JsonOption = False) -> None:
    """List every project that was indexed.

    Example:  sage projects list
    """
    from sage_code.index.registry import load

    known = load()
    if as_json:
        print_json({"projects": [asdict(entry) for entry in known]})
    for entry in [] if as_json else known:
        say(f"{one_line(entry.name)}  {one_line(entry.root)}")
        facts = f"{entry.files:,} files, {entry.chunks:,} chunks, {one_line(entry.model)}"
        say(f"  {facts}, {when(entry.indexed_at, dates)}")
    exit_if_nothing(known, "no project is indexed; `sage index` in one does it")


@app.command("forget")
def forget(
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="Its folder or its name.")],
    as_json: JsonOption = False,
) -> None:
    """Remove a project's index: its compiled files and the rows that no other project uses. Your code stays.

    Example:  sage projects forget ~/src/old-server
    """
    from sage_code.index.upkeep import forget_project

    report = forget_project(project)
    lines = [f"forgot {one_line(report.root)}: {report.rows_deleted:,} rows removed from the store"]
    if report.waits:
        lines.append("  `sage admin compact` removes what no project uses any more, earlier versions of its files too")
    lines += [f"  {one_line(folder)} is behind a link and was left alone" for folder in report.left]
    answer(asdict(report), as_json, *lines)
