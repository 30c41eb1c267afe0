"""`sage events`: what happens in Sage, live, and which events there are."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from sage_cli.options import JsonOption
from sage_cli.output import colours, exit_if_nothing, one_line, say
from sage_cli.tables import answer_table

app = typer.Typer(name="events", help="See what happens in Sage, as it happens.", no_args_is_help=True)


@app.command("tail")
def tail(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATTERN]...", help="Types: search.pre_search, search.*, a channel (source.*), or *."),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=0, help="End after so many events; 0 never.")] = 0,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="End after so long; exits with 1 if nothing came.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what happens from now on in every process of Sage, a line each, until Ctrl-C.

    A line has sizes instead of contents, and secrets are masked. With --json each line is a document.

    Example:  sage events tail

    Example:  sage events tail "search.*" memory.saved

    Example:  sage events tail "evolve.*" --json --count 1
    """
    from sage_code.events.relay import tail as events_of

    asked = patterns or ["*"]
    _doubt(asked)
    seen = 0
    try:
        with events_of(asked, seconds=seconds, output=_output()) as events:
            if sys.stderr.isatty():
                say(f"listening to {one_line(', '.join(asked))}; Ctrl-C ends it", file=sys.stderr)
            for event in events:
                _show(event, as_json)
                seen += 1
                if seen == count:
                    break
    except KeyboardInterrupt:
        return
    exit_if_nothing(seen)


@app.command("list")
def list_events(as_json: JsonOption = False) -> None:
    """List the types of events, with the channel that each belongs to and the hook that is called for it.

    Example:  sage events list
    """
    from sage_code.events.catalogue import rows

    found = rows()
    cells = ((row["type"], row["channel"], row["hook"] or "", row["about"]) for row in found)
    answer_table("events", found, ("type", "channel", "hook", "what"), cells, as_json)


def _output() -> int:
    """The descriptor of standard output; -1 if it has none."""
    try:
        return sys.stdout.fileno()
    except (OSError, ValueError):
        return -1


def _doubt(patterns: list[str]) -> None:
    """Say which patterns name no event of Sage: it may be a typing error, or a program publishes its own."""
    from difflib import get_close_matches

    from sage_code.events.bus import EventBus
    from sage_code.events.events import CHANNELS, EventType

    known = [str(one) for one in EventType]
    families = [f"{one.partition('.')[0]}.*" for one in known]
    for pattern in patterns:
        bus = EventBus()
        bus.subscribe(pattern, lambda _: None)
        if not any(map(bus.has_listeners, known)):
            near = get_close_matches(pattern, [*known, *dict.fromkeys(families), *(f"{one}.*" for one in CHANNELS)], 2)
            hint = f"did you mean {' or '.join(near)}?" if near else "`sage events list` has them"
            say(f"sage: no event of Sage is called {one_line(pattern)}; {hint}", " " * 6, sys.stderr)


def _show(event: dict[str, Any], as_json: bool) -> None:
    """Print one event at once."""
    from sage_code.text.escaping import in_json
    from sage_code.text.light_json import dumps
    from sage_code.text.masking import mask_all

    event = mask_all(event, [])
    if as_json:
        print(in_json(dumps(event, ensure_ascii=True)), flush=True)
        return
    if missed := event.get("dropped"):
        print(f"... {missed} events came too fast and were left out", flush=True)
    print(_line(event), flush=True)


def _line(event: dict[str, Any]) -> str:
    """An event for people: time, type, what it is about, who published it."""
    from sage_code.events.describing import described

    cyan, dim, *_, end = colours()
    stamp = event.get("timestamp")
    clock = time.strftime("%H:%M:%S", time.localtime(stamp)) if isinstance(stamp, int | float) else "--:--:--"
    found = described(event)
    about = f"  {found.about}" if found.about else ""
    return f"{clock} {cyan}{found.type}{end}{about}  {dim}({found.who}){end}"
