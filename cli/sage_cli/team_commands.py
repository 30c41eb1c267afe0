"""`sage team`: what a team knows together. What is known here is shown without a network; edits are sent or wait."""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli import team_admin_commands
from sage_cli.dates import when
from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, LimitOption, ProjectOption
from sage_cli.output import EXIT_ERROR, EXIT_NOTHING, answer, exit_if_nothing, one_line, plain, print_json, say
from sage_cli.reading import read_text
from sage_cli.tables import answer_table

if TYPE_CHECKING:  # the library is loaded by the command that runs, not by `sage --help`
    from sage_code.memory.team.opened import Sent, Team

app = typer.Typer(name="team", help="Share memories with a team, also while offline.", no_args_is_help=True)
_SHORT_ID = 8


class KindChoice(StrEnum):
    """The kinds of memories that a team has."""

    CHECKPOINT = "checkpoint"
    KNOWLEDGE = "knowledge"
    CORE = "core"
    BLOCK = "block"


class VisibilityChoice(StrEnum):
    """Who sees a shared memory."""

    ME = "me"
    PROJECT = "project"
    TEAM = "team"


ItemArgument = Annotated[
    str, typer.Argument(metavar="ITEM", help="A name, a name with its author (`retries--ada`), or the start of an id.")
]
VisibilityOption = Annotated[
    VisibilityChoice | None,
    typer.Option("--visibility", help="Who sees it: me, those who work on the project, or the team."),
]
TextOption = Annotated[
    str, typer.Option("--text", metavar="FILE", help="The new text, from a file; - for standard input.")
]


def open_team(project: str) -> Team:
    """The team of the settings, in a project."""
    from sage_code.memory.team.opened import Team

    opened = open_project(project)
    return Team(opened.root, opened.settings)


@app.command("status")
def status(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show the team, who you are in it, whether its server answers, and what waits here.

    Exits with 1 if the server cannot be reached.

    Example:  sage team status
    """
    from sage_code.memory.team.status import team_status

    with open_team(project) as team:
        found = team_status(team)
    if as_json:
        print_json(asdict(found))
    else:
        who = f"{found.member}{' (administrator)' if found.is_admin else ''}" if found.member else "you"
        say(one_line(f"{who} in team {found.team} at {found.address}; this project is {found.project}"))
        state = "answers" if found.reachable else f"cannot be asked: {found.problem}"
        say(one_line(f"  the server {state}"), file=sys.stdout if found.reachable else sys.stderr)
        if found.reachable and not found.is_member:
            say(f"  you are no member yet; its administrator runs `sage team members add {one_line(found.member)}`")
        synced = f"synced {when(found.synced_at)}" if found.synced_at else "never synced: `sage team sync`"
        say(f"  items here: {found.items:,}; {synced}")
        for count, what in (
            (found.waiting, "waiting for `sage team sync`"),
            (found.refused, "of them refused; `sage team sync` says why, `sage team drop ITEM` gives one up"),
            (found.conflicts, "in conflict; `sage team conflicts` shows them"),
        ):
            if count:
                say(f"  {count:,} {what}")
    if not found.reachable:
        raise typer.Exit(EXIT_NOTHING)


@app.command("share")
def share(
    kind: Annotated[KindChoice, typer.Argument(metavar="KIND", help="checkpoint, knowledge, core or block.")],
    name: Annotated[str, typer.Argument(metavar="ID", help="Its id; the path of a core file, the label of a block.")],
    visibility: VisibilityOption = VisibilityChoice.PROJECT,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Share a memory of yours with the team, or its newer text, or with others than before. Secrets are masked.

    From then on its file gets the edits of others, and your edits of the file go to the team with `sage team sync`.
    Without the server it waits here.

    Example:  sage team share knowledge retries

    Example:  sage team share checkpoint 2026-03-01T12-00-00_cache --visibility team
    """
    from sage_code.memory.sharing import shareable
    from sage_code.memory.team.opened import Team
    from sage_code.memory.team.values import kind_named, visibility_named

    opened = open_project(project)
    with Team(opened.root, opened.settings) as team:
        one = shareable(opened.root, opened.settings, kind_named(kind.value), name)
        shown = visibility_named((visibility or VisibilityChoice.PROJECT).value)
        _answer_sent(team.share(one.kind, one.name, one.text, shown, one.file), as_json)


@app.command("list")
def list_items(
    question: Annotated[str, typer.Argument(metavar="[QUESTION]", help="Words that they should have.")] = "",
    kind: Annotated[KindChoice | None, typer.Option("--kind", "-k", help="Only this kind.")] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="Of all projects.")] = False,
    limit: LimitOption = 50,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """List what the team shares, as it was when you last synced: of this project and of the team. No network is used.

    Example:  sage team list

    Example:  sage team list "retries of payments" --all --kind knowledge
    """
    from sage_code.memory.team.opened import listing

    with open_team(project) as team:
        rows = team.rows(question, kind=kind.value if kind else "", everywhere=everywhere)
        rows = rows[:limit] if limit else rows
        document = dict(listing(team, rows))
    cells = (
        (
            row.item.item[:_SHORT_ID], row.item.kind, row.item.name, row.item.author, row.item.visibility,
            when(row.item.changed_at) if row.item.changed_at else "-", _state(row.problem, row.waiting, row.conflicts),
        )
        for row in rows
    )  # fmt: skip
    headings = ("id", "kind", "name", "author", "for", "changed", "state")
    answer_table("items", document.pop("items"), headings, cells, as_json, **document)
    hint = "" if document["synced_at"] else "; this machine has never synced: `sage team sync`"
    exit_if_nothing(rows, f"nothing is shared here{hint}")


@app.command("show")
def show(item: ItemArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show an item with its text, as it is on this machine.

    Example:  sage team show retries
    """
    with open_team(project) as team:
        row = team.row(item)
    if as_json:
        print_json(row.document())
        return
    one = row.item
    state = _state(row.problem, row.waiting, row.conflicts)
    say(one_line(f"{one.kind} {one.name} by {one.author}, for {one.visibility}; version {one.number} by {one.editor}"))
    say(one_line(f"{one.item} in {one.project}{f'; {state}' if state else ''}"))
    print(f"\n{plain(one.text)}")


@app.command("history")
def history(item: ItemArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show every version of an item: who wrote it, and what became of it. The server is asked.

    Example:  sage team history retries --json
    """
    with open_team(project) as team:
        known, versions = team.history(item)
    cells = (
        (
            one.number, one.author, one.outcome, one.visibility, when(one.made_at),
            "deleted" if one.deleted else "open conflict" if one.is_open else "",
        )
        for one in versions
    )  # fmt: skip
    headings = ("version", "author", "outcome", "for", "when", "state")
    rows = (asdict(one) for one in versions)
    answer_table("versions", rows, headings, cells, as_json, item=known.item, name=known.name)
    exit_if_nothing(versions, "the server has no version of it yet")


@app.command("edit")
def edit(
    item: ItemArgument,
    text: TextOption = "",
    visibility: VisibilityOption = None,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Change the text of an item, or who sees it; with neither option, its text in your editor.

    Only its author and administrators change who sees it. Without the server the edit waits here.

    Example:  sage team edit retries

    Example:  sage team edit retries --visibility team
    """
    from sage_code.memory.team.values import visibility_named

    with open_team(project) as team:
        wanted = read_text(text) if text else None
        if wanted is None and visibility is None:
            before = team.row(item).item.text
            wanted = _typed(before)
            exit_if_nothing(wanted != before, "nothing was changed")
        shown = visibility_named(visibility.value) if visibility else None
        _answer_sent(team.edit(item, wanted, visibility=shown), as_json)


@app.command("rm")
def remove(item: ItemArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Take an item from the team; your own file of it stays, and its versions stay in the history.

    Only its author and administrators may. Without the server the edit waits here.

    Example:  sage team rm retries
    """
    with open_team(project) as team:
        _answer_sent(team.edit(item, deleted=True), as_json, "is taken from the team")


@app.command("drop")
def drop(item: ItemArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Give up the edits of an item that wait here, because the server refuses them or you no longer want them.

    They are printed. The next sync gives the item's files the text that the team has. Exits with 1 if none waits.

    Example:  sage team drop retries > dropped.md
    """
    with open_team(project) as team:
        dropped = team.drop(item)
    texts = [plain(one.text) for one in dropped]
    answer({"dropped": [{"item": one.item, "name": one.name, "text": one.text} for one in dropped]}, as_json, *texts)
    exit_if_nothing(dropped, "no edit of it waits here")


@app.command("sync")
def sync(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Send the edits that wait, also those of files that you edited, and get what others did.

    An edit that cannot be merged is kept beside the other one until somebody runs `sage team resolve`. Exits with 2 if
    the server cannot be reached or refuses an edit; the edits stay here.

    Example:  sage team sync
    """
    with open_team(project) as team:
        done = team.sync()
        names = {row.item.item: row.item.name for row in team.rows(everywhere=True)}
        name = team.name
    if as_json:
        received = ({"item": one.item, "kind": one.kind, "name": one.name, "author": one.author, "editor": one.editor,
                     "number": one.number, "deleted": one.deleted} for one in done.received)  # fmt: skip
        print_json(
            {
                "team": name,
                "sent": [{"item": one.item, "number": one.number, "outcome": one.outcome} for one in done.sent],
                "received": list(received),
                "edited": list(done.edited),
                "conflicts": len(done.conflicts),
                "refused": list(done.refused),
                "waiting": done.waiting,
                "problem": done.offline,
            }
        )
    else:
        for written in done.sent:
            say(one_line(f"sent {names.get(written.item, written.item)}: {written.outcome}, version {written.number}"))
        for item in done.received:
            what = "was taken away by" if item.deleted else "is from"
            say(one_line(f"received {item.kind} {item.name}, version {item.number}, which {what} {item.editor}"))
        for problem in done.refused:
            say(one_line(f"refused {problem}"), file=sys.stderr)
        if done.conflicts:
            say(f"{len(done.conflicts)} conflicts; `sage team conflicts` shows them")
        if not (done.sent or done.received or done.refused or done.offline):
            say(f"in step with team {one_line(name)}")
    if done.offline:
        _say_offline(done.offline, done.waiting)
    if done.offline or done.refused:
        raise typer.Exit(EXIT_ERROR)


@app.command("conflicts")
def conflicts(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show the versions that could not be merged, as they were when you last synced. Exits with 1 if there are none.

    Lines with - are in the current text, lines with + in the version that waits for a decision.

    Example:  sage team conflicts
    """
    from sage_code.memory.team.team_memory import as_document

    with open_team(project) as team:
        found = [(team.replica.item(one.item), one) for one in team.replica.conflicts()]
    if as_json:
        print_json({"conflicts": [{**asdict(one), "current": as_document(now) if now else None} for now, one in found]})
    for now, one in found if not as_json else ():
        name, text = (now.name, now.text) if now else (one.item, "")
        gone = ", who deleted it" if one.deleted else ""
        say(
            one_line(
                f"{name} ({one.item[:_SHORT_ID]}): version {one.number} by {one.author}{gone}, {when(one.made_at)}"
            )
        )
        _print_difference(text, one.text)
        say(f"  `sage team resolve {one.item[:_SHORT_ID]} --take {one.number}`, `--keep`, or `--text FILE` decides")
    exit_if_nothing(found, "there is no conflict")


@app.command("resolve")
def resolve(
    item: ItemArgument,
    take: Annotated[int, typer.Option("--take", min=0, metavar="VERSION", help="What this version says.")] = 0,
    keep: Annotated[bool, typer.Option("--keep", help="What the item says now.")] = False,
    text: TextOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Decide what an item with conflicts says: one of the versions, or a text of your own. The server is needed.

    Example:  sage team resolve retries --take 4

    Example:  sage team resolve retries --text merged.md
    """
    from sage_code.errors import UsageError

    if (take > 0) + keep + bool(text) != 1:
        raise UsageError("say which text it shall have", "give one of --take VERSION, --keep and --text FILE")
    with open_team(project) as team:
        done = team.resolve(item, read_text(text) if text else None, take)
        name = team.row(done.item).item.name if not take else item
    document = {"item": done.item, "number": done.number, "outcome": done.outcome}
    answer(document, as_json, one_line(f"{name} is resolved: version {done.number}"), show=say)


def _answer_sent(sent: Sent, as_json: bool, done: str = "") -> None:
    """Say what became of an edit. One that waits is no error: it is kept; one that is refused is."""
    if as_json:
        print_json({**asdict(sent), "masked": list(sent.masked)})
    else:
        whom = "yourself alone" if sent.visibility == "me" else f"the {sent.visibility}"
        what = {
            "stored": done or f"is shared with {whom}",
            "merged": "is merged with what others wrote since",
            "conflict": "is in conflict with what others wrote since; `sage team conflicts` shows both",
            "waiting": "waits here until the server can be reached",
            "refused": f"was refused: {sent.problem}",
        }.get(sent.outcome, sent.outcome)
        number = f", version {sent.number}" if sent.outcome in ("stored", "merged") and not done else ""
        say(one_line(f"{sent.kind} {sent.name} {what}{number}"))
        if sent.masked:
            say(one_line(f"masked before it was sent: {', '.join(sorted(set(sent.masked)))}"))
    if sent.outcome == "waiting":
        _say_offline(sent.problem, sent.waiting)
    if sent.outcome == "refused":
        say(f"      `sage team drop {sent.item[:_SHORT_ID]}` gives the edit up", " " * 6, sys.stderr)
        raise typer.Exit(EXIT_ERROR)


def _say_offline(problem: str, waiting: int) -> None:
    count = f"{waiting} edit{'s' * (waiting != 1)} wait{'s' * (waiting == 1)} here" if waiting else "no edit waits here"
    say(one_line(f"sage: {problem}"), " " * 6, sys.stderr)
    say(f"      {count}; `sage team sync` asks the server again", " " * 6, sys.stderr)


def _state(problem: str, waiting: bool, conflicts_: int) -> str:
    parts = ["refused" if problem else "waits" if waiting else "", f"{conflicts_} in conflict" if conflicts_ else ""]
    return ", ".join(part for part in parts if part)


def _print_difference(now: str, other: str) -> None:
    lines: Iterable[str] = difflib.unified_diff(now.splitlines(), other.splitlines(), lineterm="", n=2)
    for line in list(lines)[2:]:
        print(f"  {plain(line)}")


def _typed(text: str) -> str:
    """A text after the user's editor; it is a private file as long as the editor is open."""
    from sage_cli.editor import open_at

    descriptor, path = tempfile.mkstemp(suffix=".md", prefix="sage-team-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        open_at(path, 1)
        return read_text(path)
    finally:
        os.unlink(path)


team_admin_commands.add_to(app)
