"""`sage fleet`: a list of many repositories, and one table of all their code."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.options import JsonOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say
from sage_cli.tables import answer_table

app = typer.Typer(name="fleet", help="Index many repositories into one table.", no_args_is_help=True)
FileOption = Annotated[
    str,
    typer.Option(
        "--file", metavar="FILE", help="The fleet's file: YAML, or a line each; ~/.sage/fleet.yaml unless said."
    ),
]


@app.command("add")
def add(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Git addresses or folders.")],
    name: Annotated[str, typer.Option("--name", help="What it is called; from its address unless said.")] = "",
    owner: Annotated[str, typer.Option("--owner", help="Whose it is; from its address unless said.")] = "",
    branch: Annotated[str, typer.Option("--branch", help="The branch; what the address calls HEAD unless said.")] = "",
    file: FileOption = "",
    as_json: JsonOption = False,
) -> None:
    """Add repositories to the fleet. Nothing is fetched yet.

    Example:  sage fleet add ~/src/shop ssh://git@git.example.org/team/api.git

    Example:  sage fleet add --owner payments --branch stable https://git.example.org/team/ledger
    """
    from sage_code.fleet import roster

    added = roster.add(roster.roster_path(file), sources, name=name, owner=owner, branch=branch)
    lines = [one_line(f"added {one.name}  {one.source}  (owner {one.owner})") for one in added]
    answer({"repositories": [asdict(one) for one in added]}, as_json, *lines, show=say)


@app.command("remove")
def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names, as `sage fleet list` has them.")],
    file: FileOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take repositories off the list; the next `sage fleet index` takes their rows out. Exits with 1 if none is on it.

    Example:  sage fleet remove team/api
    """
    from sage_code.fleet import roster
    from sage_code.fleet.checkout import drop_clones

    gone = roster.remove(roster.roster_path(file), names)
    drop_clones(gone)
    answer({"repositories": [asdict(one) for one in gone]}, as_json, *(f"removed {one.name}" for one in gone))
    exit_if_nothing(gone, "none of these is on the list; `sage fleet list` shows it")


@app.command("list")
def list_repositories(file: FileOption = "", as_json: JsonOption = False) -> None:
    """List the repositories of the fleet.

    Example:  sage fleet list
    """
    from sage_code.fleet import roster

    known = roster.load(roster.roster_path(file))
    cells = ((one.name, one.owner, one.branch or "-", one.source) for one in known)
    answer_table("repositories", [asdict(one) for one in known], ("name", "owner", "branch", "source"), cells, as_json)
    exit_if_nothing(known, "the fleet is empty; `sage fleet add SOURCE` adds a repository")


@app.command("index")
def index(
    workers: Annotated[
        str,
        typer.Option(
            "--workers", metavar="WORKERS", help="N processes, ray:N, ray://HOST:PORT, dask:N or dask://HOST:PORT."
        ),
    ] = "",
    file: FileOption = "",
    as_json: JsonOption = False,
) -> None:
    """Bring the table of all repositories up to date: only what has changed is done.

    It can be interrupted or killed at any time: the same command goes on where it was. Readers see the state before
    until all of a run is published. Exits with 2 if a repository could not be read; the others are indexed.

    Example:  sage fleet index

    Example:  sage fleet index --workers ray://head.example.org:10001
    """
    from sage_cli.terminal import TerminalProgress
    from sage_code.fleet import roster
    from sage_code.fleet.coordinator import index_fleet
    from sage_code.settings.loading import load_settings

    with TerminalProgress(quiet=as_json) as progress:
        stats = index_fleet(
            roster.load(roster.roster_path(file)), load_settings(None), workers=workers, progress=progress
        )
    if as_json:
        print_json(asdict(stats))
    else:
        say(
            f"{stats.repositories:,} repositories: {stats.changed:,} changed, {stats.removed:,} removed; "
            f"{stats.files:,} files and {stats.chunks:,} chunks done in {stats.seconds:,.1f} s, {stats.rows:,} in all"
        )
        if stats.failures:
            say(f"  {stats.failures:,} shards were done again: a worker had died or failed")
        for problem in stats.problems:
            say(one_line(f"  not indexed: {problem['repository']}: {problem['why']}"), file=sys.stderr)
    if stats.problems:
        raise typer.Exit(2)


@app.command("status")
def status(file: FileOption = "", as_json: JsonOption = False) -> None:
    """Show what the table holds, and how far a run is that is going on or waits to be finished.

    Example:  sage fleet status
    """
    from sage_code.fleet import roster
    from sage_code.fleet.status import fleet_status
    from sage_code.settings.loading import load_settings

    found = fleet_status(roster.load(roster.roster_path(file)), load_settings(None))
    if as_json:
        print_json(asdict(found))
        return
    say(f"{found.indexed:,} of {found.listed:,} repositories indexed, {found.rows:,} chunks in {one_line(found.store)}")
    if found.run is not None:
        run = found.run
        say(
            f"  run of {run.at}: {run.repositories:,} repositories, {run.shards_done:,} of {run.shards:,} shards "
            f"({run.bytes_done / max(run.bytes, 1):.0%} of the source) done; `sage fleet index` finishes it"
        )
    for one in found.repositories:
        state = f"{one.files:,} files {one.commit[:12]}" if one.indexed else "not indexed yet"
        say(one_line(f"  {one.name}  {state}{'' if one.listed else ', off the list: goes with the next index'}"))
