"""`sage conversations`: what was said in the sessions of agents: list, search, show, import and forget it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import before as before_of
from sage_cli.dates import since as since_of
from sage_cli.dates import until as until_of
from sage_cli.dates import when
from sage_cli.options import DatesOption, JsonOption, LimitOption, PositiveLimitOption, ProjectOption
from sage_cli.output import answer, colours, exit_if_nothing, one_line, plain, print_json, say, say_warnings, wrapped
from sage_cli.tables import answer_table, shortened
from sage_cli.terminal import TerminalProgress
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sage_code.memory.tiers.importing import ImportReport
    from sage_code.memory.tiers.message_search import FoundMessage
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.values import Message, Session

app = typer.Typer(name="conversations", help="Find what was said in past sessions of agents.", no_args_is_help=True)
HereOption = Annotated[bool, typer.Option("--here", help="Only the project around the current folder.")]
SinceOption = Annotated[
    str, typer.Option("--since", metavar="WHEN", help="Not before: 2026-03, 2026-03-01, '2 weeks ago', 'last week'.")
]
UntilOption = Annotated[str, typer.Option("--until", metavar="WHEN", help="Not after; a month or a day is included.")]
SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="Its id, or the beginning of it.")]
# How many characters of ids are printed; commands take the beginning of an id.
_ID_CHARS = 8
_SHOWN_FAILURES = 10
_MB = 1_000_000
_INTERRUPTED = 130


class RoleChoice(StrEnum):
    """Who said it."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SUMMARY = "summary"
    SYSTEM = "system"


@contextmanager
def _opened() -> Iterator[RecallMemory]:
    """The user's conversations."""
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.settings.loading import load_settings

    settings = load_settings(None)
    say_warnings(settings.warnings)
    recall = opened_recall(settings)
    try:
        yield recall
    finally:
        recall.engine.close()


def _scope(recall: RecallMemory, project: str, here: bool) -> str:
    """The root of the project that is asked for; empty for all."""
    if project and here:
        raise UsageError("--project and --here say two things", "give one of them")
    if not project and not here:
        return ""
    from sage_code.memory.tiers.finding import project_named

    return project_named(recall, "." if here else project)


@app.command("list")
def list_sessions(
    project: ProjectOption = "",
    here: HereOption = False,
    since: SinceOption = "",
    limit: LimitOption = 20,
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the last used first.

    Example:  sage conversations list --here

    Example:  sage conversations list --since "last week" --json
    """
    with _opened() as recall:
        root = _scope(recall, project, here)
        found = recall.sessions(project=root, since=since_of(since), limit=limit or sys.maxsize)
    cells = (
        (
            one.id[:_ID_CHARS],
            when(_stamp(one.last_at), dates),
            str(one.messages),
            _folder(one.project),
            shortened(one.title),
        )
        for one in found
    )
    headings = ("session", "last used", "messages", "project", "title")
    count = answer_table("sessions", map(_session_row, found), headings, cells, as_json)
    exit_if_nothing(count, "" if as_json else "no session; `sage conversations import` reads the transcripts of agents")


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What was talked about, in words.")],
    project: ProjectOption = "",
    here: HereOption = False,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Only this session.")] = "",
    role: Annotated[RoleChoice | None, typer.Option("--role", help="Only what this one said.")] = None,
    since: SinceOption = "",
    until: UntilOption = "",
    limit: PositiveLimitOption = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score is made.")] = False,
    dates: DatesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find what was said, in all projects unless one is named, by words and meaning; times in the question count.

    Each result is the best passage of a message, with what was said before (<) and after (>) it. `show SESSION --around
    MESSAGE` shows more. Exits with 1 when nothing fits.

    Example:  sage conversations search "what did we say about the retry policy in March?"

    Example:  sage conversations search "why not GraphQL" --here --role user

    Example:  sage conversations search "login bug" --since "2 weeks ago" --json
    """
    from sage_code.memory.tiers.documents import found_message_row
    from sage_code.memory.tiers.finding import session_named

    with _opened() as recall:
        found = recall.search(
            query,
            limit,
            project=_scope(recall, project, here),
            session=session_named(recall, session).id if session else "",
            role=role.value if role else "",
            since=since_of(since),
            until=until_of(until),
        )
        is_empty = not found and not recall.count()
    if as_json:
        signals = [{"signals": _rounded(one)} if explain else {} for one in found]
        rows = [{**found_message_row(one), **more} for one, more in zip(found, signals, strict=True)]
        print_json({"query": query, "results": rows})
    else:
        for number, one in enumerate(found):
            _print_found(one, explain, dates, is_first=number == 0)
    none = "nothing is remembered yet; `sage conversations import` reads the transcripts of agents"
    exit_if_nothing(found, "" if as_json else none if is_empty else "nothing that was said fits")


@app.command("show")
def show(
    session: SessionArgument,
    around: Annotated[str, typer.Option("--around", metavar="MESSAGE", help="The messages around this one.")] = "",
    limit: LimitOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Show what was said in a session: its last messages, or those around one of them.

    Example:  sage conversations show 5e551011 --limit 0

    Example:  sage conversations show 5e551011 --around 3fa9c1d2
    """
    from sage_code.memory.tiers.finding import message_named, session_named

    with _opened() as recall:
        found = session_named(recall, session)
        if around:
            middle = message_named(recall, around)
            if middle.session != found.id:
                raise UsageError(f"message {around[:100]} is in session {middle.session[:100]}", "show that session")
            shown = _around(recall.messages(found.id), middle, limit)
        else:
            shown = recall.messages(found.id, limit=limit or None, newest=True)
    if as_json:
        print_json({"session": _session_row(found), "messages": [_message_row(one) for one in shown]})
    else:
        _print_session(found, shown)
    exit_if_nothing(shown, "" if as_json else "nothing was said in it")


@app.command("import")
def import_(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Files or folders; without any, all transcripts.")
    ] = None,
    project: ProjectOption = "",
    here: HereOption = False,
    again: Annotated[
        bool, typer.Option("--again", help="Read everything again, also what was forgotten since.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remember what was said in transcripts of Claude Code and Codex, or in plain JSON lines.

    Each message is stored once, however often it is read; an import that was stopped goes on where it was. Without a
    path it reads the transcripts of all agents of yours, without those of projects that set `remember_conversations`
    to false. A plain file has one object a line: {"role": "user", "content": "…"}, and if it is known "timestamp",
    "session", "name", "channel" and "id". Secrets are masked. Exits with 1 when there is no file.

    Example:  sage conversations import

    Example:  sage conversations import ~/old-laptop/.claude/projects chat.jsonl
    """
    from sage_code.memory.tiers.finding import wants_memory
    from sage_code.memory.tiers.importing import files_in, followed_files, import_files

    if paths and (project or here):
        raise UsageError("paths and a project say two things", "give paths, or one of --project and --here")
    with _opened() as recall:
        root = _scope(recall, project, here)
        files = [file for path in paths for file in files_in(path)] if paths else followed_files(root)
        is_wanted = None if paths or root else wants_memory()
        with TerminalProgress(quiet=as_json) as progress:
            report = import_files(files, recall, progress, again=again, is_wanted=is_wanted)
    answer(_import_document(report), as_json, *_import_lines(report), show=say)
    for path, why in list(report.failed.items())[:_SHOWN_FAILURES] if not as_json else ():
        print(f"sage: not read: {one_line(why if path in why else f'{path}: {why}')}", file=sys.stderr)
    if report.interrupted:
        print("sage: stopped; what was stored stays, and the next import goes on there", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED)
    exit_if_nothing(files, "" if as_json else "there is no transcript")


@app.command("forget")
def forget(
    session: Annotated[str, typer.Option("--session", metavar="ID", help="This session.")] = "",
    project: ProjectOption = "",
    before: Annotated[str, typer.Option("--before", metavar="WHEN", help="What was said before this time.")] = "",
    message: Annotated[str, typer.Option("--message", metavar="ID", help="This message.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Everything that was ever said.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much it would be.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Delete messages for good: text, words and vectors. Several options together mean what fits all of them.

    The agents' own transcripts stay, and are not read again for this: only `import --again` would do that. Exits with 1
    when there is nothing to delete.

    Example:  sage conversations forget --session 5e551011

    Example:  sage conversations forget --project shop --before "6 months ago" --dry-run
    """
    from sage_code.memory.tiers.finding import message_named, session_named

    if everything and (session or project or before or message):
        raise UsageError("--all leaves nothing for the other options", "leave one of them out")
    with _opened() as recall:
        what: dict[str, Any] = {
            "session": session_named(recall, session).id if session else "",
            "project": _scope(recall, project, here=False),
            "before": before_of(before),
            "message": message_named(recall, message).id if message else "",
            "everything": everything,
        }
        found = recall.forget(**what, dry_run=True)
        is_wanted = bool(found.messages) and not dry_run
        if is_wanted and not force:
            count = _count(found.messages, "message")
            is_wanted = typer.confirm(f"Delete {count} for good?", err=True)
            exit_if_nothing(is_wanted, "nothing was deleted")
        done = recall.forget(**what) if is_wanted or (session and not dry_run) else found
    document = {"messages": done.messages, "sessions": done.sessions, "dry_run": dry_run}
    line = f"{'would delete' if dry_run else 'deleted'} {_count(done.messages, 'message')}"
    answer(document, as_json, f"{line} and {_count(done.sessions, 'session')}" if done.sessions else line)
    exit_if_nothing(done.messages or done.sessions)


def _print_found(found: FoundMessage, explain: bool, dates: bool, *, is_first: bool) -> None:
    """A result: where it is from, what was said before, the passage, what was said after."""
    cyan, dim, _, bold, end = colours()
    message = found.message
    if not is_first:
        print()
    facts = (when(_stamp(message.created_at), dates), _who(message), _folder(message.project))
    ids = f"{one_line(message.session[:_ID_CHARS])} --around {message.id[:_ID_CHARS]}"
    print(f"{bold}{found.score:.2f}{end}  {'  '.join(one_line(fact) for fact in facts if fact)}  {dim}{ids}{end}")
    for sign, near in (("<", found.before), (None, None), (">", found.after)):
        if sign is None:
            for line in plain(found.passage).splitlines():
                print(f"    {cyan}{line}{end}")
        elif near is not None:
            print(f"  {dim}{sign} {one_line(_who(near))}: {one_line(shortened(near.content))}{end}")
    if explain:
        parts = ", ".join(f"{name} {value}" for name, value in _rounded(found).items())
        say(f"      {one_line(parts)}", " " * 6)
        for note in found.plugins:
            say(f"      plugin  {one_line(note)}", " " * 6)


def _print_session(session: Session, messages: list[Message]) -> None:
    """A session, message by message."""
    _, dim, _, bold, end = colours()
    say(f"{bold}{one_line(session.title or session.id)}{end}")
    facts = (
        session.id,
        session.project,
        session.source,
        f"{_count(session.messages, 'message')}, {len(messages)} shown",
    )
    say(f"{dim}{'  '.join(one_line(fact) for fact in facts if fact)}{end}")
    for one in messages:
        head = f"{one.id[:_ID_CHARS]}  {_stamp(one.created_at)}  {one_line(_who(one))}"
        print(f"\n{dim}{head}{end}")
        for line in plain(one.content).splitlines():
            print(wrapped(line, "") if sys.stdout.isatty() else line)


def _around(messages: list[Message], middle: Message, limit: int) -> list[Message]:
    """The messages of a session around one of them."""
    place = next(number for number, one in enumerate(messages) if one.id == middle.id)
    start = max(0, place - limit // 2) if limit else 0
    return messages[start : start + limit] if limit else messages


def _import_document(report: ImportReport) -> dict[str, Any]:
    """What an import did, for programs."""
    return {
        "files": report.files,
        "unchanged": report.unchanged,
        "left_out": report.left_out,
        "messages": report.messages,
        "known": report.known,
        "bytes": report.bytes,
        "bad_lines": report.bad_lines,
        "seconds": round(report.seconds, 3),
        "failed": [{"path": path, "why": why} for path, why in report.failed.items()],
        "interrupted": report.interrupted,
    }


def _import_lines(report: ImportReport) -> Iterable[str]:
    """What an import did, for people."""
    speed = f", {report.bytes / _MB / report.seconds:.0f} MB/s" if report.bytes > _MB and report.seconds else ""
    yield (
        f"{_count(report.messages, 'new message')} in {_count(report.files, 'file')} "
        f"({report.bytes / _MB:.1f} MB in {report.seconds:.1f} s{speed})"
    )
    for count, what in (
        (report.unchanged, "unchanged since they were read"),
        (report.left_out, "of projects that set remember_conversations to false"),
        (len(report.failed), "not read"),
    ):
        if count:
            yield f"{_count(count, 'file')} {what}"
    if report.bad_lines:
        yield f"{_count(report.bad_lines, 'line')} damaged or too long, and left out"


def _session_row(session: Session) -> dict[str, Any]:
    """A session as it is printed."""
    return {
        "id": session.id,
        "project": session.project,
        "channel": session.channel,
        "title": session.title,
        "source": session.source,
        "started_at": _stamp(session.started_at),
        "last_at": _stamp(session.last_at),
        "messages": session.messages,
    }


def _message_row(message: Message) -> dict[str, Any]:
    """A message as it is printed."""
    return {
        "id": message.id,
        "time": _stamp(message.created_at),
        "role": message.role,
        "speaker": message.speaker,
        "tool_name": message.tool_name,
        "tokens": message.tokens,
        "content": message.content,
    }


def _rounded(found: FoundMessage) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in found.signals.items() if value}


def _who(message: Message) -> str:
    return f"{message.role} ({message.speaker})" if message.speaker else message.role


def _folder(project: str) -> str:
    """The last part of a project's path."""
    return project.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or project


def _stamp(moment: Any) -> str:
    from sage_code.memory.tiers.documents import stamp

    return stamp(moment)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
