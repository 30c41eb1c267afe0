"""`sage checkpoint`: save conclusions, find them again, archive old ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, LimitOption, PositiveLimitOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain, print_json
from sage_cli.reading import read_text
from sage_cli.tables import answer_table, shortened
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from sage_code.memory.memory import Memory

app = typer.Typer(name="checkpoint", help="Keep and find what was concluded.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id, or a part of it that no other has.")]
UserOption = Annotated[bool, typer.Option("--user", help="Keep it in your own ~/.sage, not in the project.")]
SecretOption = Annotated[bool, typer.Option("--allow-secret", help="Do not mask what looks like a secret.")]
RefOption = Annotated[
    list[str] | None, typer.Option("--ref", metavar="FILE:LINE[-LINE]|SYMBOL", help="Code that it is about.")
]
ArchivedOption = Annotated[bool, typer.Option("--archived", help="List the archive; `restore` takes one back.")]


def memory_of(path: str) -> Memory:
    """The memory of the project that a path is in; its notices go to stderr."""
    memory = open_project(path).memory
    memory.notices.listener = lambda text: say_notes([text])
    return memory


def say_masked(masked: Sequence[str]) -> None:
    """Say on stderr which secrets were masked."""
    say_notes([f"masked: {kind}; --allow-secret keeps it as it is" for kind in masked])


def say_notes(lines: list[str]) -> None:
    """Say on stderr what happened besides."""
    for line in lines:
        print(f"sage: {one_line(line)}", file=sys.stderr)


@app.command("save")
def save(
    thesis: Annotated[str, typer.Option("--thesis", "-t", help="What you concluded.")] = "",
    question: Annotated[str, typer.Option("--question", "-q", help="The question behind it.")] = "",
    confidence: Annotated[float, typer.Option("--confidence", "-c", min=0, max=1, help="How sure you are.")] = 0.7,
    evidence: Annotated[list[str] | None, typer.Option("--evidence", "-e", help="A fact that supports it.")] = None,
    open_question: Annotated[list[str] | None, typer.Option("--open", "-o", help="What is still unknown.")] = None,
    reasoning: Annotated[str, typer.Option("--reasoning", help="How you came to it.")] = "",
    trigger: Annotated[str, typer.Option("--trigger", help="What caused it.")] = "manual",
    skill: Annotated[str, typer.Option("--skill", help="The skill it belongs to.")] = "",
    parent: Annotated[str, typer.Option("--parent", help="The checkpoint it goes on from.")] = "",
    template: Annotated[str, typer.Option("--template", help="Use the layout of this template.")] = "",
    field: Annotated[list[str] | None, typer.Option("--field", help="NAME=TEXT for a template's own fields.")] = None,
    ref: RefOption = None,
    source: Annotated[
        str, typer.Option("--from", metavar="FILE", help="Read all of it as JSON; - is standard input.")
    ] = "",
    auto: Annotated[bool, typer.Option("--auto", help="Save only if it is sure, deep and new enough.")] = False,
    code_context: Annotated[
        bool, typer.Option("--code-context/--no-code-context", help="Add the session's code.")
    ] = True,
    allow_secret: SecretOption = False,
    user: UserOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Keep what you have concluded.

    Example:  sage checkpoint save -q "Which queue?" -t "Kafka: order within a key matters" -c 0.8

    Example:  sage checkpoint save -t "Prompts are flushed first" --ref src/termui.py:80 --ref Server.start

    Example:  sage checkpoint save --from - < checkpoint.json
    """
    from sage_code.continuity.queue import current_session, note_checkpoint
    from sage_code.memory.documents import maintenance_lines, saved_document

    typed = {
        "thesis": thesis, "core_question": question, "key_evidence": evidence, "open_questions": open_question,
        "reasoning_trace": reasoning, "skill": skill, "parent": parent, "template": template,
    }  # fmt: skip
    given = {"confidence": confidence, "trigger": trigger, **(_read_json(source) if source else {})}
    given |= {key: value for key, value in typed.items() if value}
    if ref:
        given["code_refs"] = [*(given.get("code_refs") or []), *ref]
    if field:
        given["fields"] = dict(_pair(one) for one in field)
    saved = memory_of(project).save_checkpoint(
        given, autosave=auto, auto_code_context=code_context, allow_secret=allow_secret, scope="user" if user else None
    )
    document = saved_document(saved)
    line = f"not saved ({saved.judgement.verdict}): {one_line(saved.judgement.why)}"
    if saved.checkpoint is not None:
        note_checkpoint(open_project(project).root, saved.checkpoint.id, current_session())
        files = f" [{document['files_changed']} files changed]" if document["files_changed"] else ""
        line = f"saved{files}: {one_line(saved.checkpoint.id)}"
    answer(document, as_json, line)
    say_masked(saved.masked)
    say_notes(maintenance_lines(saved.maintenance, "checkpoint"))
    exit_if_nothing(saved.checkpoint)


@app.command("list")
def list_checkpoints(
    limit: LimitOption = 20,
    skill: Annotated[str, typer.Option("--skill", help="Only those of this skill.")] = "",
    archived: ArchivedOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """List checkpoints, newest first.

    Example:  sage checkpoint list --limit 5

    Example:  sage checkpoint list --archived
    """
    from sage_code.memory.documents import checkpoint_row

    store = memory_of(project).checkpoints
    shown = islice((store.archived if archived else store.newest)(skill=skill), limit or None)
    rows = (checkpoint_row(one, scope) for one, scope in shown)
    cells = ((one.id, f"{one.confidence:.0%}", one.trigger, shortened(one.thesis)) for one, _ in shown)
    count = answer_table("checkpoints", rows, ("id", "sure", "trigger", "thesis"), cells, as_json)
    none = "no checkpoint is archived" if archived else "no checkpoint; `sage checkpoint save` keeps one"
    exit_if_nothing(count, none)


@app.command("show")
def show_checkpoint(checkpoint: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show a checkpoint, and whether the code that it is about has changed.

    Example:  sage checkpoint show jwt-refresh
    """
    from sage_code.memory.documents import checkpoint_document
    from sage_code.memory.files.checkpoint_text import default_body

    memory = memory_of(project)
    found = memory.checkpoints.load(checkpoint)
    states = memory.ref_states(found)
    if as_json:
        print_json(checkpoint_document(found, states))
        return
    print(f"{one_line(found.id)}  {found.confidence:.0%} sure, {one_line(found.trigger)}, {one_line(found.ts)}")
    print(plain(default_body(found)).rstrip("\n"))
    for state in states:
        where = f"{state.ref.file}:{state.ref.lines[0]}" if state.ref.lines else state.ref.file
        print(f"{state.state:>10}  {one_line(where)}  {one_line(state.ref.symbol)}")


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What it was about, in words.")],
    limit: PositiveLimitOption = 5,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Find checkpoints by what they say.

    The percentage is the probability that a checkpoint is about the question.

    Example:  sage checkpoint search "why did we drop GraphQL"
    """
    from sage_code.memory.documents import found_row

    found = memory_of(project).checkpoints.search(query, limit)
    cells = ((f"{one.score:.0%}", one.id, shortened(str(one.shown.get("thesis", "")))) for one in found)
    answer_table("results", map(found_row, found), ("score", "id", "thesis"), cells, as_json, query=query)
    exit_if_nothing(found, "no checkpoint is about that")


@app.command("rm")
def remove(checkpoint: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Delete a checkpoint.

    Example:  sage checkpoint rm 2026-01-16T12-00-00_which-queue
    """
    show_removed(memory_of(project).checkpoints.remove(checkpoint), as_json)


@app.command("prune")
def prune(
    older_than: Annotated[int, typer.Option("--older-than", min=0, metavar="DAYS", help="Archive older ones.")] = 0,
    keep: Annotated[int, typer.Option("--keep", min=0, metavar="N", help="Archive all but the newest N.")] = 0,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that a person saved or restored, or that git tracks.")
    ] = False,
    user: Annotated[bool, typer.Option("--user", help="In your own ~/.sage, not in the project.")] = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Move old checkpoints into the archive; nothing is deleted.

    Without --all it moves only those that were saved automatically and that git does not track. Exits with 1 when
    there are none to move.

    Example:  sage checkpoint prune --older-than 180 --keep 500
    """
    from sage_code.memory.documents import maintenance_lines
    from sage_code.memory.files.maintenance import Limits

    if not older_than and not keep:
        raise UsageError("no limit was given", "--older-than DAYS, --keep N, or both")
    limits = Limits(older_than, keep, is_asked=True, everything=everything)
    done = memory_of(project).tidy_checkpoints("user" if user else None, limits)
    document = {"archived": list(done.archived), "notice": done.notice, "remaining": done.total_remaining}
    lines = map(one_line, maintenance_lines(done, "checkpoint") or ["nothing to archive"])
    answer(document, as_json, *lines)
    exit_if_nothing(done.archived)


@app.command("restore")
def restore(checkpoint: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Restore a checkpoint from the archive; it is not archived automatically again.

    Example:  sage checkpoint restore which-queue
    """
    show_restored(*memory_of(project).checkpoints.restore(checkpoint), as_json)


def show_restored(id_: str, scope: str, as_json: bool) -> None:
    """Say that a memory was restored."""
    answer({"id": id_, "restored": True, "scope": scope}, as_json, f"restored {one_line(id_)}")


def show_removed(id_: str, as_json: bool) -> None:
    """Say that a memory was deleted."""
    answer({"id": id_, "removed": True}, as_json, f"removed {one_line(id_)}")


@app.command("edit")
def edit(checkpoint: IdArgument, project: ProjectOption = ".") -> None:
    """Open a checkpoint's file in $VISUAL or $EDITOR.

    Example:  sage checkpoint edit which-queue
    """
    from sage_cli.editor import open_at

    store = memory_of(project).checkpoints
    home, path = store.find(checkpoint)
    open_at(home.path(path), 1)
    print(f"read again: {one_line(store.load(checkpoint).id)}")


def _read_json(source: str) -> dict[str, Any]:
    """The object in a JSON file, or on standard input."""
    hint = "give an object with core_question, thesis ..."
    try:
        given = json.loads(read_text(source))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} holds no JSON: {error}", hint) from error
    if not isinstance(given, dict):
        raise UsageError(f"{source} holds no object", hint)
    return given


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{text[:60]!r} is no NAME=TEXT", "write --field options='A or B'")
    return name.strip(), value
