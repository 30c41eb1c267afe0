"""`sage knowledge` and `sage todo`: keep facts, preferences, references and todos, and recall them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.checkpoint_commands import (
    ArchivedOption,
    RefOption,
    SecretOption,
    UserOption,
    memory_of,
    say_masked,
    say_notes,
    show_removed,
    show_restored,
)
from sage_cli.options import JsonOption, PositiveLimitOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain, print_json
from sage_cli.reading import read_text
from sage_cli.tables import answer_table

if TYPE_CHECKING:
    from sage_code.memory.knowledge_store import SavedKnowledge

app = typer.Typer(name="knowledge", help="Keep and recall facts, preferences and references.", no_args_is_help=True)
todo_app = typer.Typer(name="todo", help="Add, see and finish todos.", no_args_is_help=True)
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Its id.")]
SkillOption = Annotated[str, typer.Option("--skill", help="Of this skill; recalled only while it is active.")]
KeywordsOption = Annotated[str, typer.Option("--keywords", "-k", help="Words that recall it, with commas between.")]


@app.command("add")
def add(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text file; - is standard input.")],
    id_: Annotated[str, typer.Option("--id", help="What to call it.")],
    keywords: KeywordsOption = "",
    skill: SkillOption = "",
    kind: Annotated[str, typer.Option("--type", help="knowledge, preference, todo or reference.")] = "knowledge",
    source: Annotated[str, typer.Option("--source", help="Where it comes from.")] = "",
    due: Annotated[str, typer.Option("--due", metavar="DAY", help="Of a todo: by when, as 2026-11-30.")] = "",
    ref: RefOption = None,
    allow_secret: SecretOption = False,
    user: UserOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Keep a text; one with the same id is replaced.

    Example:  sage knowledge add prefs.md --id my-prefs --keywords style --type preference

    Example:  echo "Port 5433" | sage knowledge add - --id staging-db --keywords staging,database
    """
    from sage_code.memory.documents import alike_lines
    from sage_code.memory.files.knowledge import KnowledgeItem

    text = read_text(file).strip("\n")
    item = KnowledgeItem(id_, text, kind, _words(keywords), skill, source, due=due)
    saved, masked = memory_of(project).save_knowledge(
        item, refs=ref or (), allow_secret=allow_secret, scope="user" if user else None
    )
    lines = [f"{'replaced' if saved.replaced else 'kept'}: {saved.item.id} ({saved.item.type})"]
    _show_saved(saved, masked, [*lines, *(f"  {line}" for line in alike_lines(saved))], as_json)


@app.command("list")
def list_knowledge(
    skill: SkillOption = "",
    kind: Annotated[str, typer.Option("--type", help="Only this type.")] = "",
    archived: ArchivedOption = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """List what is known.

    Example:  sage knowledge list --skill performance
    """
    from sage_code.memory.documents import knowledge_row

    knowledge = memory_of(project).knowledge
    found = (knowledge.archived if archived else knowledge.items)(skill=skill or None, kind=kind or None)
    rows = (knowledge_row(one.item, one.scope) for one in found)
    cells = ((one.item.id, one.item.type, one.item.skill, ", ".join(one.item.keywords), one.scope) for one in found)
    count = answer_table("items", rows, ("id", "type", "skill", "keywords", "where"), cells, as_json)
    exit_if_nothing(count, "no knowledge; `sage knowledge add` keeps some")


@app.command("match")
def match(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question as you would ask it.")],
    skill: SkillOption = "",
    limit: PositiveLimitOption = 10,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what a question would recall, and how each score is computed.

    Exits with 1 when nothing would be recalled.

    Example:  sage knowledge match "what do we know about GDPR consent"
    """
    from sage_code.memory.documents import score_row

    scores = memory_of(project).recaller.scores(query, skill=skill, limit=limit)
    cells = (
        ("✓" if one.is_recalled else "below", f"{one.score:.2f}", f"of {one.threshold:.2f}", one.id, one.arithmetic)
        for one in scores
    )
    answer_table("results", map(score_row, scores), ("", "score", "wanted", "id", "how"), cells, as_json, query=query)
    near = next(iter(scores), None)
    nearest = f"; nearest: {one_line(near.id)} ({near.score:.2f} of {near.threshold:.2f})" if near else ""
    exit_if_nothing(any(one.is_recalled for one in scores), f"nothing would be recalled{nearest}")


@app.command("show")
def show_knowledge(item: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show an item.

    Example:  sage knowledge show my-prefs
    """
    from sage_code.memory.documents import knowledge_document

    memory = memory_of(project)
    found = memory.knowledge.load(item)
    scope = memory.knowledge.find(item)[0].scope
    states = memory.ref_states(found)
    document: dict[str, Any] = knowledge_document(found, scope, states)
    if as_json:
        print_json(document)
        return
    facts = [
        f"{key}: {document[key]}" for key in ("type", "skill", "source", "added", "status", "due") if document[key]
    ]
    print(one_line(f"{found.id}  {', '.join(facts)}"))
    if found.keywords:
        print(one_line(f"keywords: {', '.join(found.keywords)}"))
    print(plain(found.content))
    for state in states:
        print(f"{state.state:>10}  {one_line(state.ref.file)}  {one_line(state.ref.symbol)}")


@app.command("rm")
def remove(item: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Delete an item.

    Example:  sage knowledge rm my-prefs
    """
    show_removed(memory_of(project).knowledge.remove(item), as_json)


@app.command("restore")
def restore(item: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Restore an item from the archive; it is not archived automatically again.

    Example:  sage knowledge restore staging-db
    """
    show_restored(*memory_of(project).knowledge.restore(item), as_json)


@app.command("merge")
def merge(
    keep: Annotated[str, typer.Argument(metavar="KEEP", help="The item that stays.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The one that becomes part of it.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Merge two items: the first gets the text of both, the second is removed.

    Example:  sage knowledge merge rate-limit rate-limit-2
    """
    from sage_code.memory.documents import knowledge_document

    knowledge = memory_of(project).knowledge
    item = knowledge.merge(keep, other)
    document = knowledge_document(item, knowledge.find(item.id)[0].scope)
    answer(document, as_json, f"{one_line(other)} is part of {one_line(item.id)} now")


@app.command("edit")
def edit(item: IdArgument, project: ProjectOption = ".") -> None:
    """Open an item's file in $VISUAL or $EDITOR.

    Example:  sage knowledge edit my-prefs
    """
    from sage_cli.editor import open_at

    knowledge = memory_of(project).knowledge
    home, path = knowledge.find(item)
    open_at(home.path(path), 1)
    print(f"read again: {one_line(knowledge.edited(item).id)}")


@todo_app.command("add")
def add_todo(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be done.")],
    id_: Annotated[str, typer.Option("--id", help="What to call it; made from the text otherwise.")] = "",
    due: Annotated[str, typer.Option("--due", metavar="DAY", help="By when, as 2026-11-30.")] = "",
    keywords: KeywordsOption = "", ref: RefOption = None, allow_secret: SecretOption = False, user: UserOption = False,
    project: ProjectOption = ".", as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Add a todo; the same text again changes the one that is there.

    Example:  sage todo add "Renew the certificate of staging" --due 2027-03-01
    """
    saved, masked = memory_of(project).add_todo(
        text,
        id_=id_,
        due=due,
        keywords=_words(keywords),
        refs=ref or (),
        allow_secret=allow_secret,
        scope="user" if user else None,
    )
    _show_saved(saved, masked, [f"{'changed' if saved.replaced else 'added'}: {saved.item.id}"], as_json)


@todo_app.command("list")
def list_todos(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List all todos, those that are due first.

    Example:  sage todo list
    """
    _todos(project, as_json, pending_only=False)


@todo_app.command("pending")
def pending(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the todos that are not done.

    Example:  sage todo pending
    """
    _todos(project, as_json, pending_only=True)


@todo_app.command("done")
def done(item: IdArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Mark a todo as done.

    Example:  sage todo done renew-certificate
    """
    from sage_code.memory.documents import knowledge_document

    knowledge = memory_of(project).knowledge
    finished = knowledge.finish(item)
    document = knowledge_document(finished, knowledge.find(finished.id)[0].scope)
    answer(document, as_json, f"done: {one_line(finished.id)}")


def _show_saved(saved: SavedKnowledge, masked: Sequence[str], lines: Sequence[str], as_json: bool) -> None:
    """Say that an item was saved, and what happened besides."""
    from sage_code.memory.documents import maintenance_lines, saved_knowledge

    answer(saved_knowledge(saved, masked), as_json, *map(one_line, lines))
    say_masked(masked)
    say_notes(maintenance_lines(saved.maintenance, "knowledge"))


def _todos(project: str, as_json: bool, *, pending_only: bool) -> None:
    """Print all todos, or those that are not done."""
    from sage_code.memory.documents import knowledge_row

    found = memory_of(project).knowledge.todos(pending_only=pending_only)
    rows = (knowledge_row(one.item, one.scope) for one in found)
    cells = (
        (one.item.id, "due" if one.item.is_due else one.item.status or "pending", one.item.due or "-") for one in found
    )
    count = answer_table("items", rows, ("id", "state", "by"), cells, as_json)
    exit_if_nothing(count, "no todo; `sage todo add TEXT` adds one")


def _words(keywords: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in keywords.split(",") if word.strip())
