"""`sage memory`: what an agent remembers by itself: its blocks and its archive. `tier_upkeep_commands.py` has the rest.

A person may name any agent of their own with `--agent`, and change blocks that are read-only for agents.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.checkpoint_commands import RefOption, say_notes, show_removed
from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption, LimitOption, PositiveLimitOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain, print_json, say, say_warnings
from sage_cli.reading import read_text
from sage_cli.tables import answer_table, shortened
from sage_code.errors import SageError, UsageError

if TYPE_CHECKING:
    from sage_code.memory.tiers.archival_memory import ArchivalMemory
    from sage_code.memory.tiers.block_view import BlockView
    from sage_code.memory.tiers.core_memory import CoreMemory, Edited
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.memory.tiers.values import Agent, Block
    from sage_code.settings.table import Settings

app = typer.Typer(name="memory", help="What agents remember by themselves: blocks, an archive.", no_args_is_help=True)
AgentOption = Annotated[str, typer.Option("--agent", metavar="NAME", help="Another agent of yours.")]
LabelArgument = Annotated[str, typer.Argument(metavar="LABEL", help="A block: persona, human, or one of your own.")]
TagsOption = Annotated[str, typer.Option("--tags", metavar="A,B", help="Tags, with commas between.")]
# What `--limit 0` asks for.
_ALL = 1_000_000


@contextmanager
def opened_memory() -> Iterator[tuple[Engine, Settings]]:
    """The database of the user's settings, closed at the end."""
    from sage_code.memory.tiers.engines.opening import open_engine
    from sage_code.settings.loading import load_settings

    settings = load_settings(None)
    say_warnings(settings.warnings)
    engine = open_engine(settings.memory_uri)
    try:
        yield engine, settings
    finally:
        engine.close()


def asked_agent(engine: Engine, settings: Settings, name: str) -> Agent:
    """The agent that is named, or the one of the settings, which is made if there is none yet."""
    from sage_code.memory.tiers.opened import opened_agent, user_of
    from sage_code.memory.tiers.upkeep import agent_named

    return agent_named(engine, user_of(settings), name) if name else opened_agent(engine, settings)


@contextmanager
def _core(agent: str) -> Iterator[CoreMemory]:
    from sage_code.memory.tiers.core_memory import CoreMemory

    with opened_memory() as (engine, settings):
        yield CoreMemory(engine, asked_agent(engine, settings, agent), settings)


@contextmanager
def _archive(agent: str, project: str = "") -> Iterator[ArchivalMemory]:
    """The archive of an agent, as it is seen from a project."""
    from sage_code.memory.tiers.archival_memory import ArchivalMemory
    from sage_code.project import Project

    root = Project.named(project).root if project else None
    with opened_memory() as (engine, settings):
        yield ArchivalMemory(engine, asked_agent(engine, settings, agent), settings, root)


@app.command("blocks")
def blocks(
    label: Annotated[str, typer.Argument(metavar="[LABEL]", help="Show the text of one; list all without it.")] = "",
    prompt: Annotated[bool, typer.Option("--prompt", help="Print them as a system prompt has them.")] = False,
    agent: AgentOption = "",
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the blocks of core memory, or show one.

    Example:  sage memory blocks

    Example:  sage memory blocks human

    Example:  sage memory blocks --prompt >> system-prompt.txt
    """
    from sage_code.memory.tiers.block_view import block_view
    from sage_code.memory.tiers.block_xml import compiled, in_order
    from sage_code.memory.tiers.documents import block_row, stamp
    from sage_code.settings.loading import load_settings

    def read() -> BlockView:
        with _core(agent) as core:
            return replace(core.view(label), metadata=core.compile_metadata() if prompt else "")

    view = block_view(read, load_settings(None), label)
    if prompt:
        print(f"{compiled(view.blocks)}\n\n{view.metadata}")
        return
    found = [one for one in in_order(view.blocks) if label in ("", one.label)]
    document = {
        "agent": view.agent,
        "messages": view.messages,
        "passages": view.passages,
        "last_memory_update": stamp(view.last_update),
    }
    if label and not as_json:
        print(plain(found[0].value))
        return
    cells = (
        (one.label, _filled(one), f"v{one.version}", when(stamp(one.updated_at), dates), _about(one)) for one in found
    )
    headings = ("block", "characters", "version", "edited", "text")
    answer_table("blocks", map(block_row, found), headings, cells, as_json, **document)


@app.command("edit")
def edit(
    label: LabelArgument,
    text: Annotated[str | None, typer.Option("--set", metavar="TEXT", help="The new text; -: standard input.")] = None,
    append: Annotated[str | None, typer.Option("--append", metavar="TEXT", help="Add a line at the end.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Make a block with this label.")] = False,
    description: Annotated[str | None, typer.Option("--description", help="What it is for; agents read it.")] = None,
    read_only: Annotated[
        bool | None, typer.Option("--read-only/--writable", help="Whether agents may only read it.")
    ] = None,
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Edit a block, in $VISUAL or $EDITOR unless a text is given.

    Every edit is kept: `sage memory history` shows them, `sage memory undo` takes one back. If an agent changes the
    block while your editor is open, nothing is written and your text is kept in a file.

    Example:  sage memory edit human

    Example:  sage memory edit human --append "Prefers short answers."

    Example:  sage memory edit team --new --description "How we work" --set "Reviews within a day." --read-only
    """
    from sage_code.memory.tiers.core_memory import Edited
    from sage_code.memory.tiers.documents import edited_document

    if text is not None and append is not None:
        raise UsageError("--set and --append are two edits", "give one of them")
    text = read_text("-").rstrip("\n") if text == "-" else text
    with _core(agent) as core:
        if new:
            done = core.create(label, text or append or "", description=description or "", read_only=bool(read_only))
        else:
            done = Edited(core.block(label))
            if description is not None or read_only is not None:
                done = Edited(core.configure(label, description=description, read_only=read_only))
            if append is not None:
                done = core.append(label, append, by_person=True)
            elif text is not None:
                done = core.set(label, text, expected_version=done.block.version, by_person=True)
            elif description is None and read_only is None:
                done = _in_editor(core, done.block)
    block = done.block
    line = f"{one_line(block.label)} is at version {block.version}: {_filled(block)} characters"
    answer(edited_document(done), as_json, line)
    say_notes([f"masked: {kind}" for kind in sorted(set(done.masked))])


def _in_editor(core: CoreMemory, block: Block) -> Edited:
    """A block after it was edited in the editor. If it cannot be stored, the file with the text stays."""
    from sage_cli.editor import open_at
    from sage_code.memory.tiers.core_memory import Edited

    descriptor, path = tempfile.mkstemp(prefix=f"sage-{block.label}-", suffix=".md")  # the user's alone
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        file.write(block.value + "\n")
    open_at(path, 1)
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        text = file.read().removesuffix("\n")
    try:
        unchanged = text == block.value
        done = core.set(block.label, text, expected_version=block.version, by_person=True) if not unchanged else None
    except SageError as error:
        error.hint = f"{error.hint}; your text is in {path}"
        raise
    os.unlink(path)
    return done or Edited(block)


@app.command("history")
def history(
    label: LabelArgument,
    limit: LimitOption = 20,
    agent: AgentOption = "",
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a block, newest first.

    Example:  sage memory history human
    """
    from sage_code.memory.tiers.documents import history_row, stamp

    with _core(agent) as core:
        found = core.history(label, limit or None)
        name = core.agent.name
    cells = (
        (f"v{one.version}", one.action, when(stamp(one.edited_at), dates), f"{len(one.value):,}", shortened(one.value))
        for one in found
    )
    headings = ("version", "action", "when", "characters", "text")
    answer_table("versions", map(history_row, found), headings, cells, as_json, agent=name, label=label)


@app.command("undo")
def undo(
    label: LabelArgument,
    to: Annotated[int | None, typer.Option("--to", min=1, metavar="VERSION", help="Go back to this version.")] = None,
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Take the last edit of a block back, or return to a version. That is an edit, too, and can be undone.

    Example:  sage memory undo human

    Example:  sage memory undo human --to 3
    """
    from sage_code.memory.tiers.documents import edited_document

    with _core(agent) as core:
        done = core.undo(label, to, by_person=True)
    block = done.block
    line = f"{one_line(block.label)} is at version {block.version}: {shortened(one_line(block.value)) or '(empty)'}"
    answer(edited_document(done), as_json, line)


@app.command("add")
def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember; - is standard input.")],
    tags: TagsOption = "",
    ref: RefOption = None,
    agent: AgentOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Store a passage in the archive. What may say the same is shown; nothing is merged.

    Example:  sage memory add "The staging cluster is rebuilt every Monday" --tags staging,ops

    Example:  sage memory add "Retries stop after three attempts" --ref src/client.py:40
    """
    from sage_code.memory.tiers.documents import saved_passage

    content = read_text("-").strip("\n") if text == "-" else text
    with _archive(agent, project) as archive:
        saved = archive.insert(content, tags, ref or ())
    document = saved_passage(saved)
    lines = [f"stored {saved.passage.id}"]
    lines += [
        f"  like {one['id']} ({one['similarity']:.0%}): {one_line(one['content'])}" for one in document["similar"]
    ]
    answer(document, as_json, *lines)
    say_notes([f"masked: {kind}" for kind in document["masked"]])


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What it was about, in words.")],
    tags: TagsOption = "",
    limit: PositiveLimitOption = 5,
    agent: AgentOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Find passages of the archive by what they say; with --tags only those that have all of them.

    The percentage is the probability that a passage is about the question.

    Example:  sage memory search "when is staging rebuilt"

    Example:  sage memory search "rate limits" --tags api --limit 3
    """
    from sage_code.memory.tiers.documents import found_passage_row

    with _archive(agent, project) as archive:
        found = archive.search(query, limit, tags)
    cells = (
        (
            f"{one.score:.0%}",
            one.passage.id,
            f"{'(stale) ' if one.is_stale else ''}{shortened(one.passage.content, 200)}",
        )
        for one in found
    )
    answer_table("results", map(found_passage_row, found), ("score", "id", "text"), cells, as_json, query=query)
    exit_if_nothing(found, "no passage is about that")


@app.command("list")
def list_passages(
    tags: TagsOption = "",
    limit: LimitOption = 20,
    agent: AgentOption = "",
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """List the passages of the archive, newest first.

    Example:  sage memory list --tags ops --limit 5
    """
    from sage_code.memory.tiers.documents import passage_row, stamp

    with _archive(agent) as archive:
        found = archive.list(tags, limit or _ALL)
        name = archive.agent.name
    cells = (
        (one.id, when(stamp(one.created_at), dates), ", ".join(one.tags), shortened(one.content, 200)) for one in found
    )
    headings = ("id", "stored", "tags", "text")
    answer_table("passages", map(passage_row, found), headings, cells, as_json, agent=name)
    exit_if_nothing(found, "the archive has no such passage" if tags else "the archive is empty")


@app.command("show")
def show_passage(
    passage: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
    agent: AgentOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show a passage of the archive, and whether the code that it is about has changed.

    Example:  sage memory show 1f0c6a52-5d0e-4b0a-9d0e-2f1f4f6f3c11
    """
    from sage_code.memory.tiers.documents import passage_row

    with _archive(agent, project) as archive:
        found = archive.show(passage)
    document = passage_row(found.passage, found.states)
    if as_json:
        print_json(document)
        return
    say(f"{found.passage.id}  {document['created_at']}  {one_line(', '.join(found.passage.tags))}".rstrip())
    print(plain(found.passage.content))
    for ref in document["code_refs"]:
        where = f"{ref['file']}:{ref['lines'][0]}" if ref["lines"] else ref["file"]
        print(f"{ref['state'] or 'unknown':>10}  {one_line(where)}  {one_line(ref['symbol'])}".rstrip())


@app.command("rm")
def remove(
    passage: Annotated[str, typer.Argument(metavar="ID", help="Its id.")],
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete a passage of the archive, for good.

    Example:  sage memory rm 1f0c6a52-5d0e-4b0a-9d0e-2f1f4f6f3c11
    """
    with _archive(agent) as archive:
        removed = archive.delete(passage)
    show_removed(removed.id, as_json)


def _filled(block: Block) -> str:
    return f"{len(block.value):,} of {block.char_limit:,}"


def _about(block: Block) -> str:
    """The beginning of a block, or what it is for while it is empty."""
    mark = "(read-only) " if block.read_only else ""
    return mark + (shortened(block.value) or f"(empty) {shortened(block.description)}")
