"""`sage memory status`, `agents`, `move`, `verify`, `rebuild` and `forget`: the database of the memory as a whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption
from sage_cli.output import EXIT_ERROR, answer, exit_if_nothing, one_line, print_json, say
from sage_cli.tables import answer_table
from sage_cli.terminal import TerminalProgress
from sage_cli.tier_commands import AgentOption, app, asked_agent, opened_memory
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sage_code.memory.tiers.values import Agent

__all__ = ["app"]
_MEGABYTE = 1_000_000


@app.command("status")
def status(dates: DatesOption = False, as_json: JsonOption = False) -> None:
    """Show where the memory is, what it holds of you, and whether anything waits.

    Example:  sage memory status --json
    """
    from sage_code.memory.tiers.documents import agent_row
    from sage_code.memory.tiers.opened import user_of
    from sage_code.memory.tiers.upkeep import overview_of

    with opened_memory() as (engine, settings):
        found = overview_of(engine, user_of(settings))
    document = {
        "uri": found.uri,
        "engine": found.engine,
        "bytes": found.size,
        "model": settings.embedding_model,
        "user": found.user,
        "agent": settings.memory_agent,
        "waiting": found.waiting,
        "rows": found.rows,
        "agents": [agent_row(agent) for agent in found.agents],
    }
    if as_json:
        print_json(document)
        return
    rows = found.rows
    say(f"{one_line(found.uri)}  ({found.engine}, {found.size / _MEGABYTE:,.1f} MB)")
    names = (found.user, settings.memory_agent, settings.embedding_model)
    say("  user {}, agent {}, model {}".format(*map(one_line, names)))
    say(f"  {rows['messages']:,} messages in {rows['sessions']:,} sessions, {found.waiting:,} without vectors yet")
    say(f"  {rows['blocks']:,} blocks with {rows['block_history']:,} versions, {rows['passages']:,} passages, "
        f"{rows['entries']:,} entries of tasks")  # fmt: skip
    for line in _agent_lines(found.agents, dates):
        say(f"  agent {line}")


@app.command("agents")
def list_agents(dates: DatesOption = False, as_json: JsonOption = False) -> None:
    """List your agents: each has blocks, conversations and an archive of its own.

    Example:  sage memory agents
    """
    from sage_code.memory.tiers.documents import agent_row, stamp
    from sage_code.memory.tiers.opened import user_of
    from sage_code.memory.tiers.upkeep import agents_of_user

    with opened_memory() as (engine, settings):
        user = user_of(settings)
        found = agents_of_user(engine, user)
    cells = (
        (
            one.name,
            f"{one.message_count:,}",
            when(stamp(one.last_memory_update), dates),
            when(stamp(one.created_at), dates),
        )
        for one in found
    )
    headings = ("agent", "messages", "memory edited", "made")
    answer_table("agents", map(agent_row, found), headings, cells, as_json, user=user)
    exit_if_nothing(found, "no agent has a memory yet")


@app.command("move")
def move(
    to: Annotated[str, typer.Option("--to", metavar="URI", help="A path, or postgresql://user@host/database.")],
    as_json: JsonOption = False,
) -> None:
    """Copy your whole memory to another database, and prove that nothing is missing.

    The source stays as it is. A copy that was interrupted goes on where it stopped. A password in the address would
    stay in the history of your shell: leave it out and keep it in ~/.pgpass or in PGPASSWORD.

    Example:  sage memory move --to postgresql://me@db.example.org/team

    Example:  sage memory move --to ~/backup/memory.db
    """
    from sage_code.memory.tiers import moving
    from sage_code.memory.tiers.engines.opening import open_engine
    from sage_code.memory.tiers.opened import user_of

    if not to.strip():
        raise UsageError("no database was named", "give a path, or postgresql://user@host/database")
    with opened_memory() as (source, settings):
        target = open_engine(to)
        try:
            if target.uri == source.uri:
                raise UsageError(f"the memory is in {source.uri} already", "name another database")
            with TerminalProgress(quiet=as_json) as bar:
                proof = moving.move(source, target, settings, _on_bar(bar), user=user_of(settings))
            names = (source.uri, target.uri)
        finally:
            target.close()
    rows = [{**asdict(one), "identical": one.is_same} for one in proof]
    document = {"source": names[0], "target": names[1], "identical": all(one.is_same for one in proof)}
    cells = ((one.table, f"{one.rows:,}", f"{one.rows_at_target:,}", one.digest_at_target) for one in proof)
    answer_table("tables", rows, ("table", "rows", "rows there", "digest of both"), cells, as_json, **document)
    if not as_json:
        say(f"everything is in {one_line(names[1])} too; to use it:")
        say(f"  sage config set memory_uri {one_line(names[1])}")


@app.command("verify")
def verify(as_json: JsonOption = False) -> None:
    """Check the database of the memory: its files, its indexes, and what belongs together.

    Exits with 2 when something is wrong.

    Example:  sage memory verify
    """
    with opened_memory() as (engine, _):
        findings, uri = engine.verify(), engine.uri
    document = {"uri": uri, "clean": not findings, "findings": findings}
    answer(document, as_json, *map(one_line, findings or [f"{uri} is sound"]), show=say)
    if findings:
        if not as_json:
            say("`sage memory rebuild` makes words and vectors again")
        raise typer.Exit(EXIT_ERROR)


@app.command("rebuild")
def rebuild(as_json: JsonOption = False) -> None:
    """Make the words and vectors of your memory again, from the texts.

    Example:  sage memory rebuild
    """
    from sage_code.memory.tiers.opened import user_of
    from sage_code.memory.tiers.upkeep import agents_of_user
    from sage_code.memory.tiers.upkeep import rebuild as make_again

    with opened_memory() as (engine, settings), TerminalProgress(quiet=as_json) as bar:
        done = make_again(engine, agents_of_user(engine, user_of(settings)), settings, _on_bar(bar))
        document = {"uri": engine.uri, "model": settings.embedding_model, **done}
    line = f"words and vectors of {done['messages']:,} messages and {done['passages']:,} passages made again"
    answer(document, as_json, line)


@app.command("forget")
def forget(
    agent: AgentOption = "",
    block: Annotated[str, typer.Option("--block", metavar="LABEL", help="Only this block, with its history.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Really delete; it cannot be undone.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete an agent with everything that it remembers, or one block with its history, for good.

    `sage memory rm` deletes a passage. Without --force nothing is deleted, and what would be is counted.

    Example:  sage memory forget --agent helper --force

    Example:  sage memory forget --block team --force
    """
    from sage_code.memory.tiers.core_memory import CoreMemory
    from sage_code.memory.tiers.opened import user_of
    from sage_code.memory.tiers.upkeep import agent_named, forget_agent, rows_of

    if not agent and not block:
        raise UsageError("nothing says what to forget", "name an agent of yours with --agent, or a block with --block")
    with opened_memory() as (engine, settings):
        if block:
            core = CoreMemory(engine, asked_agent(engine, settings, agent), settings)
            name, rows = core.agent.name, {"blocks": 1, "block_history": len(core.history(block))}
        else:
            name = agent_named(engine, user_of(settings), agent).name
            rows = rows_of(engine, agent_named(engine, user_of(settings), agent))
        if not force:
            raise UsageError(f"{_counted(rows)} of agent {name} would be deleted for good", "--force deletes them")
        if block:
            core.delete(block, forget=True, by_person=True)
        else:
            rows = forget_agent(engine, agent_named(engine, user_of(settings), agent))
    answer({"agent": name, "rows": rows}, as_json, f"forgotten: {_counted(rows)} of agent {one_line(name)}")


def _counted(rows: dict[str, int]) -> str:
    """Numbers of rows in words, without tables that have none."""
    return ", ".join(f"{number:,} {table.replace('_', ' ')}" for table, number in rows.items() if number) or "nothing"


def _agent_lines(found: tuple[Agent, ...], dates: bool) -> list[str]:
    from sage_code.memory.tiers.documents import stamp

    return [
        f"{one_line(one.name)}: {one.message_count:,} messages, made {when(stamp(one.created_at), dates)}"
        for one in found
    ]


def _on_bar(bar: TerminalProgress) -> Callable[[str, int], None]:
    """Progress by stages: the first report of a stage begins it."""
    stage: list[Any] = [None]

    def report(name: str, steps: int) -> None:
        if stage[0] != name:
            stage[0] = name
            bar.stage(name)
        bar.advance(steps)

    return report
