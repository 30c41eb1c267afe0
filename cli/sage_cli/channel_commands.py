"""`sage channels`, `sage context` and `sage summarise`: what is going on in streams of messages, in short."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption, LimitOption
from sage_cli.output import answer, columns, exit_if_nothing, one_line, plain, print_json, say, wrapped
from sage_cli.reading import read_text
from sage_cli.tables import answer_table, shortened
from sage_cli.tier_commands import AgentOption, asked_agent, opened_memory
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.context.summary import StructuredSummary
    from sage_code.memory.tiers.tables.channels import StoredSummary

app = typer.Typer(name="channels", help="Summaries of what is said in projects and rooms.", no_args_is_help=True)
context_app = typer.Typer(name="context", help="What an agent sees before it answers.", no_args_is_help=True)
ChannelArgument = Annotated[
    str, typer.Argument(metavar="[CHANNEL]", help="A name, or a project by its path; without it the one around here.")
]
_TEXT_ENDINGS = (".txt", ".md", ".markdown", ".rst", ".log")


class KindChoice(StrEnum):
    """What is kept of a channel."""

    ROLLING = "rolling"
    PROFILE = "profile"


@contextmanager
def opened_channel(name: str, agent: str = "") -> Iterator[ChannelMemory]:
    """The channel that a person names."""
    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.channels.finding import channel_named

    with opened_memory() as (engine, settings):
        owner = asked_agent(engine, settings, agent)
        yield ChannelMemory(engine, owner, settings, channel_named(engine, owner, name).name)


@app.command("list")
def list_channels(
    limit: LimitOption = 20, agent: AgentOption = "", dates: DatesOption = False, as_json: JsonOption = False
) -> None:
    """List channels, the last used first. A project's channel is all that was said to agents in it.

    Example:  sage channels list
    """
    from sage_code.memory.channels.documents import channel_row
    from sage_code.memory.channels.finding import channels_of_agent
    from sage_code.memory.tiers.documents import stamp

    with opened_memory() as (engine, settings):
        found = channels_of_agent(engine, asked_agent(engine, settings, agent))
    found = found[: limit or None]
    cells = (
        (
            shortened(one.name, 60),
            f"{one.messages:,}",
            f"{one.sessions:,}",
            when(stamp(one.last_at), dates),
            f"{one.waiting:,}",
        )
        for one in found
    )
    headings = ("channel", "messages", "sessions", "last used", "waiting")
    count = answer_table("channels", map(channel_row, found), headings, cells, as_json)
    exit_if_nothing(count, "" if as_json else "no channel; `sage conversations import` reads the transcripts of agents")


@app.command("show")
def show(
    channel: ChannelArgument = "", agent: AgentOption = "", dates: DatesOption = False, as_json: JsonOption = False
) -> None:
    """Show the summary of a channel and its profile: what is going on, and what stays true.

    Exits with 1 if none was made yet; `sage channels summarise` makes one.

    Example:  sage channels show

    Example:  sage channels show "#support" --json
    """
    with opened_channel(channel, agent) as memory:
        _print_channel(memory, dates, as_json)


@app.command("summarise")
def summarise_channel(
    channel: ChannelArgument = "", agent: AgentOption = "", dates: DatesOption = False, as_json: JsonOption = False
) -> None:
    """Summarise what waits in a channel now, however little it is.

    The scheduler does it by itself for 10 messages or after 15 minutes (`summary_messages`, `summary_minutes`). The
    setting `summariser` says who writes; if that fails, sentences are chosen, and the reason is shown.

    Example:  sage channels summarise

    Example:  sage channels summarise "#support" --json
    """
    with opened_channel(channel, agent) as memory:
        memory.summarise()
        _print_channel(memory, dates, as_json)


@app.command("history")
def history(
    channel: ChannelArgument = "",
    kind: Annotated[KindChoice, typer.Option("--kind", help="The summary, or the profile.")] = KindChoice.ROLLING,
    limit: LimitOption = 20,
    agent: AgentOption = "",
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a channel's summary or profile, newest first.

    Example:  sage channels history --kind profile
    """
    from sage_code.memory.channels.documents import version_row
    from sage_code.memory.tiers.documents import stamp

    with opened_channel(channel, agent) as memory:
        found = memory.summaries.versions(memory.name, _KINDS[kind], limit or 1_000)
        name = memory.name
    cells = (
        (f"v{one.version}", when(stamp(one.made_at), dates), f"{one.messages:,}", shortened(str(one.summary["text"])))
        for one in found
    )
    headings = ("version", "made", "messages", "text")
    count = answer_table("versions", map(version_row, found), headings, cells, as_json, channel=name, kind=kind.value)
    exit_if_nothing(count, "" if as_json else "none was made yet; `sage channels summarise` makes one")


@context_app.command("show")
def show_context(
    channel: ChannelArgument = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="The budget.")] = 8_000,
    participant: Annotated[
        str | None, typer.Option("--for", metavar="NAME", help="Who asks; without it the last one who spoke.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the context itself.")] = False,
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show what an agent would see in a channel: what is kept of each part, what is cut, and why.

    Example:  sage context show

    Example:  sage context show "#support" --for Ana --max-tokens 4000 --text
    """
    from sage_code.memory.context.bars import bar

    with opened_channel(channel, agent) as memory:
        built = memory.context(max_tokens, participant=participant)
        name = memory.name
    if as_json:
        print_json({"channel": name, **built.to_json()})
        return
    if text:
        print(plain(built.text))
        return
    say(f"{one_line(name)}: {built.tokens:,} of {built.budget:,} tokens")
    for line in bar(built, columns()):
        print(plain(line))


def summarise(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A transcript, JSON lines or a text; - is standard input.")
    ],
    words: Annotated[int, typer.Option("--words", min=10, max=2_000, help="Its length.")] = 150,
    as_json: JsonOption = False,
) -> None:
    """Summarise a conversation or a text without storing it: in the speakers' own words, unless `summariser` is set.

    Example:  sage summarise ~/.claude/projects/-home-ana-shop/5e551011.jsonl

    Example:  git log -20 | sage summarise - --words 60

    Example:  sage summarise meeting.txt --json
    """
    from sage_code.memory.channels.spoken_files import messages_of_file, messages_of_text
    from sage_code.memory.context.choosing import summariser_of
    from sage_code.settings.loading import load_settings

    if file == "-" or file.lower().endswith(_TEXT_ENDINGS):
        messages = messages_of_text(read_text(file))
    elif not os.path.isfile(file):
        raise UsageError(f"there is no file {file}", "give a transcript, a text file, or - for standard input")
    else:
        messages = messages_of_file(file)
    exit_if_nothing(messages, "" if as_json else "nothing is said in it")
    made = summariser_of(load_settings(None)).summarise(messages, words)
    document = {"messages": len(messages), "summary": made.to_json()}
    answer(document, as_json, *_summary_lines(made))


_KINDS: dict[KindChoice, Any] = {KindChoice.ROLLING: "rolling", KindChoice.PROFILE: "profile"}


def _print_channel(memory: ChannelMemory, dates: bool, as_json: bool) -> None:
    """Print a channel's summary and profile; exit with 1 if it has none."""
    from sage_code.memory.channels.documents import channel_document

    summary, profile = memory.summaries.newest(memory.name), memory.summaries.newest(memory.name, "profile")
    channel = memory.channel()
    if as_json:
        print_json(channel_document(channel, summary, profile))
    elif summary is not None:
        say(f"{one_line(memory.name)}{_waiting(channel.waiting)}")
        _print_stored("Lately", summary, dates)
        if profile is not None:
            _print_stored("Lasting", profile, dates)
    exit_if_nothing(summary, "" if as_json else "no summary was made yet; `sage channels summarise` makes one")


def _waiting(count: int) -> str:
    return f"  ({count:,} messages wait)" if count else ""


def _print_stored(title: str, stored: StoredSummary, dates: bool) -> None:
    from sage_code.memory.context.summary import StructuredSummary
    from sage_code.memory.tiers.documents import stamp

    say(f"{title} (version {stored.version}, {when(stamp(stored.made_at), dates)}, {stored.messages:,} messages)")
    for line in _summary_lines(StructuredSummary.from_json(stored.summary)):
        print(wrapped(f"  {line}", "    "))


def _summary_lines(made: StructuredSummary) -> list[str]:
    """A summary as lines that are safe to print."""
    lines = made.lines()
    if made.topics and ", ".join(made.topics) not in made.text:
        lines.append(f"Topics: {', '.join(made.topics)}")
    if made.problem:
        lines.append(f"({made.problem})")
    return [one_line(line) for line in lines]
