"""`sage continuity`: how the sessions of agents stand, and which of them wait for a brief."""

from __future__ import annotations

from typing import Annotated

import typer

from sage_cli.dates import when
from sage_cli.index_commands import open_project
from sage_cli.options import DatesOption, JsonOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say

app = typer.Typer(
    name="continuity", help="What is saved of agents' sessions, and what they are given back.", no_args_is_help=True
)
SessionOption = Annotated[str, typer.Option("--session", metavar="ID", help="Only this session.")]
_ARRIVED = {None: "", True: ", the last brief has arrived", False: ", the last brief is not in the transcript yet"}


@app.command("status")
def status(
    every: Annotated[bool, typer.Option("--all", help="In every project.")] = False,
    dates: DatesOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show the sessions of agents here: what was saved of each, and whether its brief has arrived.

    Example:  sage continuity status

    Example:  sage continuity status --all --json
    """
    from sage_code.continuity.log import last_lines
    from sage_code.continuity.overview import sessions
    from sage_code.settings.loading import load_settings

    root = None if every else open_project(project).root
    found, log = sessions(root), last_lines(5)
    enabled = load_settings(root).continuity_enabled
    if as_json:
        print_json({"enabled": enabled, "sessions": [one.document() for one in found], "log": log})
    else:
        if not enabled:
            say("continuity is switched off (continuity_enabled)")
        for one in found:
            place = f"  {one_line(one.root)}" if every else ""
            say(f"{one_line(one.session)}{place}  {when(one.used_at, dates)}")
            waits = f", brief {one.state}{f' by {one.by}' if one.by else ''}" if one.compactions else ""
            say(
                f"    {one.exchanges} exchanges, {len(one.checkpoints)} checkpoints, {one.compactions} compactions"
                f"{waits}{_ARRIVED[one.arrived]}"
            )
        if log:
            say("What went wrong in the background last:")
            for line in log:
                say(f"    {one_line(line)}")
    exit_if_nothing(found, "" if as_json else "no session of an agent was seen; `sage hooks install` has them noticed")


@app.command("clear")
def clear(
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
    session: SessionOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Drop the briefs that sessions here wait for; the checkpoints stay.

    Example:  sage continuity clear --force
    """
    from sage_code.continuity.overview import clear as clear_pending
    from sage_code.continuity.overview import sessions

    root = open_project(project).root
    waiting = [one for one in sessions(root) if one.state in ("pending", "offered") and session in ("", one.session)]
    if waiting and not force:
        of = "one session" if len(waiting) == 1 else f"{len(waiting)} sessions"
        if not typer.confirm(f"Drop the brief of {of}?", err=True):
            exit_if_nothing(None, "nothing was dropped")
    cleared = clear_pending(root, session)
    answer({"cleared": cleared}, as_json, *(f"dropped the brief of {one_line(name)}" for name in cleared))
    exit_if_nothing(cleared, "" if as_json else "no brief is pending")


@app.command("mark")
def mark(
    reason: Annotated[str, typer.Option("--reason", help="Why, for the state's file.")] = "",
    session: SessionOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Have a session get its brief with the next prompt or tool call, as after a compaction.

    Example:  sage continuity mark --reason "trying it out"
    """
    from sage_code.continuity.overview import mark as mark_pending

    name = mark_pending(open_project(project).root, session, reason)
    answer({"session": name, "state": "pending"}, as_json, f"{one_line(name)} gets its brief with its next prompt")
