"""`sage core`: the files that everybody who works in a project should know."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import FileArgument, JsonOption, ProjectOption
from sage_cli.output import answer, asked_file, exit_if_nothing, one_line, print_json, say, shown_path

app = typer.Typer(name="core", help="Mark the files that an agent should know first.", no_args_is_help=True)


@app.command("list")
def list_core(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the core files with their summaries.

    They are in `.sage/core.md`, which belongs in the repository. Each new session of an agent reads them first.

    Example:  sage core list
    """
    opened = open_project(project)
    files = opened.core_files()
    if as_json:
        print_json({"root": opened.root, "files": [asdict(file) for file in files]})
    for file in () if as_json else files:
        gone = "" if file.exists else "  (not there any more)"
        say(f"{one_line(shown_path(opened.root, file.path))}{gone}")
        if file.summary:
            say(f"    {one_line(file.summary)}")
    exit_if_nothing(files, "no core file; `sage core add FILE` marks one")


@app.command("add")
def add(
    file: FileArgument,
    summary: Annotated[str, typer.Option("--summary", "-s", help="What it is about, in a line.")] = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Mark a file as core, or give it another summary.

    Example:  sage core add src/auth/tokens.py --summary "How tokens are made and checked"
    """
    opened = open_project(project)
    marked = opened.mark_core(asked_file(opened.root, file), summary)
    answer(asdict(marked), as_json, f"{one_line(marked.path)} is core; commit .sage/core.md to share it")
    if summary and marked.is_masked:
        print(f"sage: a secret in the summary was masked: {one_line(marked.summary)}", file=sys.stderr)


@app.command("rm")
def remove(file: FileArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Remove the mark of a file; the file stays.

    Example:  sage core rm src/auth/tokens.py
    """
    opened = open_project(project)
    removed = opened.unmark_core(asked_file(opened.root, file))
    line = f"{one_line(removed or file)} is {'no longer' if removed else 'not'} core"
    answer({"path": removed or file, "removed": removed is not None}, as_json, line)
    exit_if_nothing(removed)
