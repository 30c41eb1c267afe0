"""`sage index`, `sage status` and `sage analyze`, and how every command opens its project."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption, NameOption, ProjectArgument, ProjectOption
from sage_cli.output import EXIT_NOTHING, has_colour, one_line, plain, print_json, say, say_missing, shown_path
from sage_cli.terminal import TerminalProgress

if TYPE_CHECKING:
    from sage_code.index.outcome import IndexStats
    from sage_code.index.status import Preview, Status
    from sage_code.project import Project
    from sage_code.values import SkippedFile

# Skipped files that `sage status` names; --json has all of them.
_SHOWN_SKIPS = 20
_STATUS_INDENT = " " * 12


def index(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The folder to index, or any in it.")] = ".",
    full: Annotated[
        bool, typer.Option("--full/--incremental", help="Read every file again, or only what has changed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be indexed and what not, and why.")
    ] = False,
    model: Annotated[str | None, typer.Option("--model", metavar="M", help="Embed with this model, this time.")] = None,
    name: NameOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Index also a home folder, a system folder or the root of the disk.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Index a project, or bring its index up to date.

    Example:  sage index

    Example:  sage index ~/src/server --name server

    Example:  sage index --dry-run

    `sage index export FILE` and `sage index import FILE` move an index; a folder of that name is `./export`.
    """
    opened = open_folder(path, {"code_embedding_model": model} if model else None)
    if dry_run:
        show_preview(opened.preview(), as_json)
        return
    anywhere = yes or _is_wanted(opened)
    with TerminalProgress(quiet=as_json) as progress:
        stats = opened.index(full=full, progress=progress, name=name, anywhere=anywhere)
    show_stats(stats, as_json)


def _is_wanted(project: Project) -> bool:
    """Ask on a terminal whether to index an unusual folder; elsewhere the library refuses it and says what to do."""
    why = project.unusual()
    if not why or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    question = f"{one_line(project.root)} is {why}. Index everything in it?"
    if not typer.confirm(question, err=True):
        raise typer.Exit(EXIT_NOTHING)
    return True


def status(
    named: ProjectArgument = "", project: ProjectOption = ".", dates: DatesOption = False, as_json: JsonOption = False
) -> None:
    """Show what is indexed, how fresh it is, and what was left out and why.

    Exits with 1 when the project is not indexed.

    Example:  sage status --json
    """
    found = open_project(named or project).status()
    if as_json:
        print_json({**asdict(found), "fresh": found.fresh})
    else:
        _print_status(found, dates)
    if not found.indexed:
        raise typer.Exit(EXIT_NOTHING)


def analyze(
    name: Annotated[str, typer.Argument(metavar="FUNCTION", help="A name, bare or qualified: `run`, `Server.run`.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show the whole source of a definition, with its signature, docstring and location.

    Example:  sage analyze Server.start
    """
    opened = open_project(project)
    found = opened.analyze(name)
    if as_json:
        document: dict[str, Any] = {"name": name, "matches": found}
        if not found:
            document["nearest"] = opened.nearest(name)
        print_json(document)
    elif found:
        _print_sources(opened.root, found)
    else:
        say_missing(name, opened.nearest(name))
    if not found:
        raise typer.Exit(EXIT_NOTHING)


def open_project(name: str) -> Project:
    """Open the project with this name or at this path, and print the warnings of its settings."""
    from sage_code.project import Project

    return _warned(Project.named(name))


def open_folder(path: str, overrides: dict[str, object] | None = None) -> Project:
    """The same for a path; the project need not be indexed yet."""
    from sage_code.project import Project

    return _warned(Project.open(path, overrides=overrides))


def _warned(project: Project) -> Project:
    for warning in project.settings.warnings:
        print(f"warning: {one_line(warning)}", file=sys.stderr)
    return project


def show_stats(stats: IndexStats, as_json: bool) -> None:
    """Print the outcome of a run."""
    if as_json:
        print_json(asdict(stats))
        return
    seconds = stats.duration_ms / 1000
    say(
        f"{one_line(stats.project)}: {stats.files_indexed:,} files indexed, {stats.files_unchanged:,} unchanged, "
        f"{stats.files_removed:,} removed, {stats.files_skipped:,} skipped in {seconds:.1f} s"
    )
    say(
        f"  {stats.chunks_created:,} chunks embedded, {stats.chunks_reused:,} reused; "
        f"{stats.functions_compiled:,} functions, {stats.classes_compiled:,} classes, "
        f"{stats.constants_compiled:,} constants; {len(stats.languages)} languages; model {one_line(stats.model)}"
    )


def show_preview(preview: Preview, as_json: bool) -> None:
    """Print what a run would do."""
    if as_json:
        print_json(asdict(preview))
        return
    for file in preview.to_index:
        print(f"index  {one_line(file.path)}")
    for path in preview.removed:
        print(f"remove {one_line(path)}")
    for skip in preview.skipped:
        print(f"skip   {one_line(skip.path)}  ({skip.reason}{': ' + one_line(skip.detail) if skip.detail else ''})")
    total = sum(file.size for file in preview.to_index)
    print(
        f"{len(preview.to_index):,} files to index ({total / 1e6:,.1f} MB), {preview.unchanged:,} unchanged, "
        f"{len(preview.removed):,} to remove, {len(preview.skipped):,} skipped",
        file=sys.stderr,
    )


def _print_status(status: Status, dates: bool) -> None:
    """Print the state of an index, and what to do about it."""
    advice = status.advice
    if advice and not status.indexed:
        say(one_line(f"{advice.problem}; `sage index` {advice.remedy}"))
        return
    languages = ", ".join(f"{one_line(name)} {count:,}" for name, count in list(status.languages.items())[:8])
    lines = [
        f"indexed   {when(status.indexed_at, dates)}, {one_line(advice.problem) if advice else 'fresh'}",
        f"holds     {status.files:,} files, {status.chunks:,} chunks, {status.compiled_bytes / 1e6:,.1f} MB compiled",
        *([f"languages {languages}"] if languages else []),
        f"model     {one_line(status.model)}; store: {one_line(status.store)}",
    ]
    if advice:
        lines.append(f"`sage index` {advice.remedy}")
    say(f"{one_line(status.project)}  {one_line(status.root)}")
    for line in lines:
        say(f"  {line}", _STATUS_INDENT)
    _print_skips(status.skipped)


def _print_skips(skipped: list[SkippedFile]) -> None:
    """Print how many files were left out for each reason, and the first of them."""
    if not skipped:
        return
    reasons = Counter(skip.reason.value for skip in skipped)
    say(f"  skipped   {', '.join(f'{reason} {count:,}' for reason, count in reasons.most_common())}", _STATUS_INDENT)
    for skip in skipped[:_SHOWN_SKIPS]:
        say(f"    {one_line(skip.path)}  ({skip.reason}{': ' + one_line(skip.detail) if skip.detail else ''})", " " * 6)
    if len(skipped) > _SHOWN_SKIPS:
        print(f"    ... and {len(skipped) - _SHOWN_SKIPS:,} more; --json lists all")


def _print_sources(root: str, found: list[dict[str, Any]]) -> None:
    """Print definitions with their whole source, on a terminal in colour."""
    for match in found:
        heading = f"{shown_path(root, match['file'])}:{match['line']}  {match['kind']} {match['qualname']}"
        say(one_line(heading))
        if has_colour():
            from rich.console import Console
            from rich.syntax import Syntax

            source, first = plain(match["source"]), match["start_line"]
            syntax = Syntax(source, match["language"], line_numbers=True, start_line=first, word_wrap=True)
            Console().print(syntax)
        else:
            for line in plain(match["source"]).split("\n"):
                say(line, " " * 8)
        print()
