"""`sage admin`: check, mend, rebuild and tidy up what indexing has stored."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.index_commands import open_project, stats_lines
from sage_cli.options import JsonOption, ProjectArgument, ProjectOption
from sage_cli.output import EXIT_ERROR, answer, one_line, say
from sage_cli.terminal import TerminalProgress

app = typer.Typer(name="admin", help="Check, mend and tidy up.", no_args_is_help=True)


@app.command("verify")
def verify(
    named: ProjectArgument = "",
    project: ProjectOption = ".",
    mend: Annotated[bool, typer.Option("--mend/--check", help="Mend what is found, or only report it.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Check the rows in the store and the compiled files against the manifest, and mend what is wrong.

    Exits with 2 when something is wrong and was not mended.

    Example:  sage admin verify --check
    """
    from sage_code.index.upkeep import verify_project

    opened = open_project(named or project)
    with TerminalProgress(quiet=as_json) as progress:
        report = verify_project(opened.root, opened.settings, mend=mend, progress=progress)
    outcome = f"{len(report.findings)} findings, {'mended' if report.mended else 'not mended'}"
    if report.clean:
        outcome = f"clean: {report.files:,} files, {report.rows:,} rows"
    answer(asdict(report), as_json, *map(one_line, report.findings), outcome, show=say)
    if not report.clean and not report.mended:
        raise typer.Exit(EXIT_ERROR)


@app.command("rebuild-embeddings")
def rebuild_embeddings(named: ProjectArgument = "", project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Embed every chunk and every memory of a project again.

    Example:  sage admin rebuild-embeddings
    """
    opened = open_project(named or project)
    with TerminalProgress(quiet=as_json) as progress:
        stats, memories = opened.rebuild_embeddings(progress)
    embedded = f"{memories['checkpoints']:,} checkpoints and {memories['knowledge']:,} items of knowledge"
    lines = (*stats_lines(stats), f"{embedded} embedded again")
    answer({**asdict(stats), "memories": memories}, as_json, *lines, show=say)


@app.command("compact")
def compact(named: ProjectArgument = "", project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Free space: remove rows and tables that no project uses any more, and old versions of the tables.

    Example:  sage admin compact
    """
    from sage_code.index.upkeep import compact_store

    opened = open_project(named or project)
    report = compact_store(opened.settings)
    removed = f"removed {report.rows_deleted:,} rows and {len(report.tables_dropped)} tables of other models"
    taken = f"the store takes {report.bytes_after / 1e6:,.1f} MB (before: {report.bytes_before / 1e6:,.1f} MB)"
    answer(asdict(report), as_json, removed, taken, show=say)
