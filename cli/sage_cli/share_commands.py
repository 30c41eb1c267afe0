"""`sage share`: publish the index of a commit, see what is published, and decide whose indexes are used."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, ProjectArgument, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say
from sage_cli.terminal import TerminalProgress

app = typer.Typer(
    name="share",
    help="Index once, use everywhere: publish an index of a commit, signed, for all who trust your key.",
    no_args_is_help=True,
)
_SHOWN_COMMIT = 12


@app.command("push")
def push(
    named: ProjectArgument = "",
    project: ProjectOption = ".",
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Publish also what is indexed and not committed as it is.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish the index of the commit that is checked out; what others have published is not sent again.

    It goes to the setting `shared_index`, signed with your key (`sage share key`; in CI the variable SAGE_SIGNING_KEY).

    Example:  sage index && sage share push
    """
    from sage_code.index.shared.pushing import push_index

    opened = open_project(named or project)
    with TerminalProgress(quiet=as_json) as progress:
        report = push_index(opened.root, opened.settings, anyway=anyway, progress=progress)
    if as_json:
        print_json(asdict(report))
        return
    commit = report.commit[:_SHOWN_COMMIT]
    if not report.published:
        say(one_line(f"{report.project} {commit} is published already in {report.shared_index}"))
        return
    say(
        one_line(
            f"published {report.project} {commit}: {report.files:,} files, {report.chunks:,} chunks; "
            f"{report.bytes_sent / 1e6:,.1f} MB sent to {report.shared_index} in {report.duration_ms / 1000:.1f} s"
        )
    )


@app.command("status")
def status(named: ProjectArgument = "", project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show which published index `sage index` finds for the commit that is checked out. Exits with 1 if there is none.

    Example:  sage share status
    """
    from sage_code.index.shared.state import shared_state

    opened = open_project(named or project)
    found = shared_state(opened.root, opened.settings)
    if as_json:
        print_json(asdict(found))
    else:
        say(one_line(f"{found.project or opened.root} in {found.shared_index}"))
        if found.found:
            age = f", {found.behind:,} commits before yours" if found.behind else ", your commit"
            say(one_line(f"  {found.found[:_SHOWN_COMMIT]}{age}: {found.chunks:,} chunks, made {found.made_at}"))
        for key in found.trusted_keys:
            say(one_line(f"  trusted: {key}"))
        if found.own_key:
            say(one_line(f"  your key: {found.own_key}"))
    exit_if_nothing(found.found, one_line(found.problem) or "nothing is published for this commit or the last ones")


@app.command("key")
def key(
    replace: Annotated[bool, typer.Option("--replace", help="Make another key; the old one is deleted.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the public part of your signing key; the first call makes the key.

    Readers trust the public part with `sage share trust`. The private part is in a file that only you can read, and is
    never shown: CI gets the content of that file as the secret SAGE_SIGNING_KEY.

    Example:  sage share key
    """
    from sage_code.index.shared.state import key_of_user

    found = key_of_user(replace=replace)
    if not as_json:
        say(one_line(f"the private part is in {found.kept_in}{', made now' if found.made else ''}"), file=sys.stderr)
    answer(asdict(found), as_json, found.key)


@app.command("trust")
def trust(
    public_key: Annotated[str, typer.Argument(metavar="KEY", help="The public key, ed25519:… .")],
    name: Annotated[str, typer.Option("--name", help="Whose it is, for you to remember.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Use indexes that are signed with this key, in all projects.

    Example:  sage share trust ed25519:mXQ… --name ci
    """
    from sage_code.index.shared.state import trust

    keys = trust(public_key, name)
    answer({"trusted_keys": keys}, as_json, *(one_line(f"trusted: {one}") for one in keys), show=say)


@app.command("distrust")
def distrust(
    public_key: Annotated[str, typer.Argument(metavar="KEY", help="The public key, or its name.")],
    as_json: JsonOption = False,
) -> None:
    """Use no more indexes that are signed with this key. Exits with 1 if it was not trusted.

    Example:  sage share distrust ci
    """
    from sage_code.index.shared.state import distrust

    gone = distrust(public_key)
    answer({"trusted_keys": gone}, as_json, *(one_line(f"no longer trusted: {one}") for one in gone), show=say)
    exit_if_nothing(gone, "no such key is trusted; `sage share status` lists them")
