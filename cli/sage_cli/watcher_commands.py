"""`sage watcher`: the process that sees compactions of agents that have no hooks."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption
from sage_cli.output import EXIT_NOTHING, answer, exit_if_nothing, one_line, print_json, say
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from sage_code.continuity.watcher.status import Status

app = typer.Typer(
    name="watcher", help="Watch the transcripts of agents for compactions, without hooks.", no_args_is_help=True
)


@app.command("start")
def start(as_json: JsonOption = False) -> None:
    """Start the watcher in the background, unless it runs already.

    It reads the transcripts of Claude Code and Codex as they grow. When an agent's context is compacted, it saves a
    checkpoint, and the agent gets its state back with the next answer of Sage. Agents with Sage's hooks need none.

    Example:  sage watcher start
    """
    from sage_code.continuity.watcher.process import start as start_process
    from sage_code.continuity.watcher.status import status as status_now

    found, is_new = start_process()
    line = f"the watcher {'has started' if is_new else 'runs already'} (process {found.pid})"
    answer({"changed": is_new, **asdict(status_now())}, as_json, line)


@app.command("stop")
def stop(as_json: JsonOption = False) -> None:
    """Stop the watcher and wait for its end. Exits with 1 if none runs.

    Example:  sage watcher stop
    """
    from sage_code.continuity.watcher.process import stop as stop_process
    from sage_code.continuity.watcher.status import status as status_now

    has_run = stop_process()
    line = "the watcher has stopped" if has_run else "no watcher runs"
    answer({"changed": has_run, **asdict(status_now())}, as_json, line)
    exit_if_nothing(has_run)


@app.command("status")
def status(dates: DatesOption = False, as_json: JsonOption = False) -> None:
    """Show whether the watcher runs, what it follows, what happened last, and the end of its log.

    Exits with 1 if none runs.

    Example:  sage watcher status
    """
    from sage_code.continuity.watcher.status import status as status_now

    found = status_now()
    if as_json:
        print_json({"changed": False, **asdict(found)})
    else:
        _show(found, dates)
    if not found.running:
        raise typer.Exit(EXIT_NOTHING)


@app.command("run")
def run() -> None:
    """Run the watcher in the foreground until Ctrl-C, as a service does.

    Example:  sage watcher run
    """
    from sage_code.continuity.watcher.process import command

    if not hasattr(os, "fork"):
        raise UsageError("the watcher runs on Linux and macOS", "agents with Sage's hooks need none")
    sys.stdout.flush()
    words = command()
    os.execv(words[0], words)  # noqa: S606 - no shell, our own interpreter; this one has loaded far more


@app.command("install")
def install(
    enable: Annotated[bool, typer.Option("--enable", help="Start the service now and at every login.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write a service that starts the watcher at every login: for systemd, or for launchd on macOS.

    Prints the command that enables it; with --enable it is run.

    Example:  sage watcher install --enable
    """
    from sage_code.continuity.watcher import service_units

    service, is_new = service_units.install()
    if enable:
        service_units.enable(service)
    next_ = "" if enable else shlex.join(service.enable[-1])
    lines = [f"{'wrote' if is_new else 'unchanged:'} {one_line(service.path)}"]
    lines += ["the service is enabled"] if enable else [f"enable it with:  {one_line(next_)}"]
    document = {"path": service.path, "action": "written" if is_new else "unchanged", "enabled": enable, "next": next_}
    answer(document, as_json, *lines, show=say)


@app.command("uninstall")
def uninstall(as_json: JsonOption = False) -> None:
    """Remove the service, unless its file was edited. Exits with 1 if there is none.

    A watcher that runs goes on; `sage watcher stop` ends it.

    Example:  sage watcher uninstall
    """
    from sage_code.continuity.watcher import service_units
    from sage_code.continuity.watcher.process import running

    service, was_there = service_units.uninstall()
    next_ = "sage watcher stop" if was_there and running() else ""
    line = f"removed {one_line(service.path)}" if was_there else "no service is installed"
    more = [f"the watcher still runs; end it with:  {next_}"] if next_ else []
    document = {"path": service.path, "action": "removed" if was_there else "absent", "enabled": False, "next": next_}
    answer(document, as_json, line, *more, show=say)
    exit_if_nothing(was_there)


def _show(found: Status, dates: bool) -> None:
    """Print the status for people."""
    if found.running:
        say(f"the watcher runs: process {found.pid}, since {when(found.since or '', dates)}")
        how = {"polling": "looks for changes every second: the system cannot tell", "events": "told by the system"}
        say(f"    transcripts followed: {found.following} ({how.get(found.watching, 'starting')})")
    else:
        say("no watcher runs; `sage watcher start` starts one")
    if found.session is not None:
        ended = f", ended {when(found.session.ended, dates)}" if found.session.ended else ""
        say(f"    session {one_line(found.session.id)}, began {when(found.session.started, dates)}{ended}")
    for name, moment in (("last event", found.last_event), ("last error", found.last_error)):
        if moment is not None:
            say(f"    {name}: {one_line(moment.text)}, {when(moment.at, dates)}")
    say(f"    log: {one_line(found.log_path)}")
    for line in found.log:
        say(f"        {one_line(line)}", " " * 8)
