"""`sage scheduler`: keeps the summaries of channels up to date, in the foreground or once."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.options import JsonOption
from sage_cli.output import answer, one_line, print_json, say
from sage_cli.tier_commands import opened_memory

if TYPE_CHECKING:
    from sage_code.memory.channels.scheduler import Tick

app = typer.Typer(name="scheduler", help="Keep summaries and profiles up to date.", no_args_is_help=True)


@app.command("run")
def run(
    once: Annotated[bool, typer.Option("--once", help="Make what is due now, and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the summaries that are due, until Ctrl-C. One process leads; a second one waits and takes over.

    The watcher does the same while it runs. With --json each tick that did something is a line.

    Example:  sage scheduler run

    Example:  sage scheduler run --once --json
    """
    from sage_code.memory.channels.documents import tick_document
    from sage_code.memory.channels.scheduler import Scheduler
    from sage_code.memory.context.choosing import summariser_of
    from sage_code.memory.tiers.opened import user_of

    with opened_memory() as (engine, settings):
        scheduler = Scheduler(engine, user_of(settings), settings, summariser_of(settings))
        if once:
            tick = scheduler.once()
            while tick.left and tick.steps:
                _show(tick, as_json)
                tick = scheduler.once()
            answer(tick_document(tick), as_json, *_lines(tick), show=say)
            return
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        scheduler.on_tick = lambda tick: _show(tick, as_json)
        if not as_json:
            say("summaries are made as they become due; Ctrl-C ends it")
        scheduler.run(stop)


@app.command("status")
def status(as_json: JsonOption = False) -> None:
    """Show whether a scheduler leads, and what waits.

    Example:  sage scheduler status
    """
    from sage_code.memory.channels.scheduler import status_of
    from sage_code.memory.tiers.opened import user_of

    with opened_memory() as (engine, settings):
        found = status_of(engine, user_of(settings), settings)
    running = "a scheduler leads" if found["leads"] else "no scheduler runs; `sage scheduler run` or the watcher does"
    waits = f"{found['waiting']:,} messages wait in {found['dirty']:,} channels, {found['due']:,} of these are due"
    answer(found, as_json, running, waits)


def _show(tick: Tick, as_json: bool) -> None:
    """Print a tick that did something."""
    from sage_code.memory.channels.documents import tick_document

    if not tick.steps and not tick.failed:
        return
    if as_json:
        print_json(tick_document(tick))
        return
    for line in _lines(tick):
        say(line)


def _lines(tick: Tick) -> list[str]:
    if not tick.leads:
        return ["another process makes the summaries"]
    lines = [f"{one_line(one.channel)}: version {one.summary.version}, {one.read} new messages" for one in tick.steps]
    lines += [f"{one_line(name)}: {one_line(problem)}" for name, problem in tick.failed]
    return lines or ["nothing is due"]
