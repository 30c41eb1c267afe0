"""`sage index`, `sage status` and `sage analyze`, and how every command opens its project."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption, NameOption, NoRefreshOption, ProjectArgument, ProjectOption
from sage_cli.output import (
    EXIT_NOTHING,
    answer,
    exit_if_nothing,
    has_colour,
    one_line,
    plain,
    print_json,
    say,
    say_missing,
    say_note,
    say_warnings,
    shown_path,
)
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
    from sage_code.project import Project

    opened = Project.open(path, overrides={"code_embedding_model": model} if model else None)
    say_warnings(opened.settings.warnings)
    if dry_run:
        show_preview(opened.preview(), as_json)
        return
    anywhere = yes or _is_wanted(opened)
    with TerminalProgress(quiet=as_json) as progress:
        stats = opened.index(full=full, progress=progress, name=name, anywhere=anywhere)
    answer(asdict(stats), as_json, *stats_lines(stats), show=say)


def _is_wanted(project: Project) -> bool:
    """Ask on a terminal whether to index an unusual folder; elsewhere the library refuses it and says what to do."""
    why = project.unusual()
    if not why or not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    if not typer.confirm(f"{one_line(project.root)} is {why}. Index everything in it?", err=True):
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
    exit_if_nothing(found.indexed)


def analyze(
    name: Annotated[str, typer.Argument(metavar="FUNCTION", help="A name, bare or qualified: `run`, `Server.run`.")],
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the whole source of a definition, with its signature, docstring and location.

    Example:  sage analyze Server.start
    """
    opened = open_project(project)
    note = "" if no_refresh else opened.refresh()
    say_note(note, as_json)
    found = opened.analyze(name, refresh=False)
    nearest = [] if found else opened.nearest(name)
    if as_json:
        more: dict[str, Any] = {} if found else {"nearest": nearest}
        print_json({"name": name, "matches": found, **more, **({"note": note} if note else {})})
    elif found:
        _print_sources(opened.root, found)
    else:
        say_missing(name, nearest)
    exit_if_nothing(found)


def open_project(name: str) -> Project:
    """Open the project with this name or at this path, and print the warnings of its settings."""
    from sage_code.project import Project

    project = Project.named(name)
    say_warnings(project.settings.warnings)
    return project


def stats_lines(stats: IndexStats) -> tuple[str, str]:
    """The outcome of a run, for people."""
    files = (
        f"{one_line(stats.project)}: {stats.files_indexed:,} files indexed, {stats.files_unchanged:,} unchanged, "
        f"{stats.files_removed:,} removed, {stats.files_skipped:,} skipped in {stats.duration_ms / 1000:.1f} s"
    )
    contents = (
        f"  {stats.chunks_created:,} chunks embedded, {stats.chunks_reused:,} reused; "
        f"{stats.functions_compiled:,} functions, {stats.classes_compiled:,} classes, "
        f"{stats.constants_compiled:,} constants; {len(stats.languages)} languages; model {one_line(stats.model)}"
    )
    return files, contents


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
        print(f"skip   {_skip_line(skip)}")
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
        say(f"    {_skip_line(skip)}", " " * 6)
    if len(skipped) > _SHOWN_SKIPS:
        print(f"    ... and {len(skipped) - _SHOWN_SKIPS:,} more; --json lists all")


def _skip_line(skip: SkippedFile) -> str:
    return f"{one_line(skip.path)}  ({skip.reason}{': ' + one_line(skip.detail) if skip.detail else ''})"


def _print_sources(root: str, found: list[dict[str, Any]]) -> None:
    """Print definitions with their whole source, on a terminal in colour."""
    for match in found:
        say(one_line(f"{shown_path(root, match['file'])}:{match['line']}  {match['kind']} {match['qualname']}"))
        source = plain(match["source"])
        if has_colour():
            from rich.console import Console
            from rich.syntax import Syntax

            first = match["start_line"]
            Console().print(Syntax(source, match["language"], line_numbers=True, start_line=first, word_wrap=True))
        else:
            for line in source.split("\n"):
                say(line, " " * 8)
        print()
