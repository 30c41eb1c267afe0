"""`sage index export` and `sage index import`: move an index from one machine to another in one file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, NameOption, ProjectArgument, ProjectOption
from sage_cli.output import one_line, print_json, say
from sage_cli.terminal import TerminalProgress


def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The archive to write.")],
    named: ProjectArgument = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Write the index of a project, as it was last made, to one file.

    Example:  sage index && sage index export server.sageindex
    """
    opened = open_project(named or project)
    with TerminalProgress(quiet=as_json) as progress:
        report = opened.export_index(file, progress)
    if as_json:
        print_json(asdict(report))
        return
    say(
        f"{one_line(report.project)}: {report.files:,} files, {report.chunks:,} chunks in {report.bytes / 1e6:,.1f} MB "
        f"({report.bytes_per_chunk:,} bytes a chunk), {report.duration_ms / 1000:.1f} s"
    )
    print(f"  {one_line(report.archive)}\n  SHA-256 {report.sha256}")


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An archive that `sage index export` has made.")],
    path: Annotated[
        str, typer.Argument(metavar="[PATH]", help="The project's folder; it may be empty, or not there yet.")
    ] = ".",
    name: NameOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import an exported index into a project.

    Searching it needs no checkout. If there is one, the next `sage index` reads its files and embeds only what differs.
    With a model that is not part of Sage it embeds all of them, since Sage cannot check the vectors of others.

    Example:  sage index import server.sageindex ~/src/server
    """
    from sage_code.project import Project

    with TerminalProgress(quiet=as_json) as progress:
        report = Project.import_index(file, path, name=name, progress=progress)
    if as_json:
        print_json(asdict(report))
        return
    say(
        f"{one_line(report.project)}: {report.files:,} files, {report.chunks:,} chunks "
        f"({report.chunks_added:,} new to the store, {report.vectors_checked:,} vectors compared with the model's) "
        f"in {report.duration_ms / 1000:.1f} s"
    )
    print(f"  {one_line(report.root)}, as of {one_line(report.indexed_at)}")
    if report.checkout:
        print("  `sage index` brings in what is different in these files")
