"""`sage profile`: what Sage knows about a person from what they said; the person reads, corrects and deletes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain, print_json, say
from sage_cli.reading import read_text
from sage_cli.tables import answer_table
from sage_cli.tier_commands import AgentOption, asked_agent, opened_memory
from sage_code.errors import SageError, UsageError

if TYPE_CHECKING:
    from sage_code.memory.channels.user_profiles import UserProfile, UserProfiles

app = typer.Typer(name="profile", help="What is known about people from what they said.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="Somebody in a channel; without it you.")]
_ID_CHARS = 8


@contextmanager
def _people(agent: str) -> Iterator[UserProfiles]:
    from sage_code.memory.channels.user_profiles import UserProfiles

    with opened_memory() as (engine, settings):
        yield UserProfiles(engine, asked_agent(engine, settings, agent), settings)


@app.command("show")
def show(
    name: NameArgument = "",
    facts: Annotated[bool, typer.Option("--facts", help="Each fact, with the message it comes from.")] = False,
    retired: Annotated[bool, typer.Option("--retired", help="Also facts that were taken back.")] = False,
    agent: AgentOption = "",
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is known about you, or about somebody in a channel. Exits with 1 if nothing is.

    Example:  sage profile show

    Example:  sage profile show Ana --facts --retired
    """
    from sage_code.memory.channels.documents import profile_document
    from sage_code.memory.tiers.documents import stamp

    with _people(agent) as people:
        profile = people.profile(name)
        shown = people.facts(name, retired=retired)
        others = [one for one, _, _ in people.participants() if one and one != name]
    if as_json:
        print_json(profile_document(profile, shown))
    elif facts or retired:
        cells = (
            (
                one.id[:_ID_CHARS],
                when(stamp(one.said_at), dates),
                one.message_id[:_ID_CHARS],
                "taken back" if one.retired_by else "",
                one.text or "(deleted)",
            )
            for one in shown
        )
        answer_table("facts", (), ("fact", "said", "message", "", "text"), cells, as_json=False)
    elif profile.text:
        print(plain(profile.text))
    known = f"; something is known about {', '.join(map(one_line, others[:5]))}" if others and not name else ""
    exit_if_nothing(shown, "" if as_json else f"nothing is known about {one_line(name) or 'you'} yet{known}")


@app.command("edit")
def edit(
    name: NameArgument = "",
    text: Annotated[str | None, typer.Option("--set", metavar="TEXT", help="The lines; -: standard input.")] = None,
    add: Annotated[str | None, typer.Option("--add", metavar="TEXT", help="Add one line.")] = None,
    remove: Annotated[str | None, typer.Option("--remove", metavar="FACT", help="Take a fact back, by its id.")] = None,
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Correct what is known about a person, one fact a line, in $VISUAL or $EDITOR unless a text is given.

    A line that you delete is gone and does not come back from old messages.

    Example:  sage profile edit

    Example:  sage profile edit --add "I deploy on Fridays"

    Example:  sage profile edit --remove 3f2a9c11
    """
    from sage_code.memory.channels.documents import profile_document

    if sum(one is not None for one in (text, add, remove)) > 1:
        raise UsageError("--set, --add and --remove are three edits", "give one of them")
    with _people(agent) as people:
        before = people.profile(name)
        lines = [fact.text for fact in before.facts]
        if remove is not None:
            found = [fact.id for fact in before.facts if remove and fact.id.startswith(remove)]
            if len(found) != 1:
                what = "several facts begin" if found else "there is no fact that begins"
                raise UsageError(f"{what} with {remove[:80]!r}", "`sage profile show --facts` lists them")
            done = people.retire(name, found[0])
        elif add is not None:
            done = people.edit(name, [*lines, add])
        elif text is not None:
            done = people.edit(name, (read_text("-") if text == "-" else text).splitlines())
        else:
            done = _in_editor(people, before)
    count = len(done.facts)
    line = f"{count} fact{'' if count == 1 else 's'}, {len(done.text)} characters are shown to agents"
    answer(profile_document(done), as_json, line)


@app.command("list")
def list_people(agent: AgentOption = "", dates: DatesOption = False, as_json: JsonOption = False) -> None:
    """List the people that something is known about.

    Example:  sage profile list
    """
    from sage_code.memory.tiers.documents import stamp

    with _people(agent) as people:
        found = people.participants()
    rows = ({"participant": name, "facts": count, "last_at": stamp(last)} for name, count, last in found)
    cells = ((name or "(you)", f"{count:,}", when(stamp(last), dates)) for name, count, last in found)
    count = answer_table("people", rows, ("person", "facts", "last"), cells, as_json)
    exit_if_nothing(count, "" if as_json else "nothing is known about anybody yet")


@app.command("forget")
def forget(
    name: NameArgument = "",
    force: Annotated[bool, typer.Option("--force", help="Do not ask.")] = False,
    agent: AgentOption = "",
    as_json: JsonOption = False,
) -> None:
    """Delete everything that is known about a person, for good. What they said stays, and brings nothing back.

    Example:  sage profile forget

    Example:  sage profile forget Ana --force
    """
    with _people(agent) as people:
        count = len(people.facts(name))
        who = one_line(name) or "you"
        if not force and not typer.confirm(f"Forget {count} facts about {who}?", err=True):
            say("nothing was forgotten")
            return
        gone = people.forget(name)
    answer({"participant": name, "facts": gone}, as_json, f"forgot {gone} facts about {who}")


def _in_editor(people: UserProfiles, before: UserProfile) -> UserProfile:
    """A profile after it was edited in the editor. If it cannot be stored, the file with the text stays."""
    from sage_cli.editor import open_at

    descriptor, path = tempfile.mkstemp(prefix="sage-profile-", suffix=".md")  # the user's alone
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"- {fact.text}\n" for fact in before.facts)
    open_at(path, 1)
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    try:
        done = people.edit(before.participant, lines)
    except SageError as error:
        error.hint = f"{error.hint}; your text is in {path}"
        raise
    os.unlink(path)
    return done
