"""`sage refs`, `callers`, `callees`, `impact`, `outline`, `map` and `similar`: how definitions are related."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import FileArgument, JsonOption, LimitOption, NoRefreshOption, ProjectOption, VimgrepOption
from sage_cli.output import (
    asked_file,
    exit_if_nothing,
    one_line,
    plain,
    print_json,
    say,
    say_missing,
    say_note,
    shown_path,
)
from sage_cli.vimgrep import Place, check_alone, print_places

if TYPE_CHECKING:
    from sage_code.lookup.related import Relation
    from sage_code.project import Project

SymbolArgument = Annotated[str, typer.Argument(metavar="SYMBOL", help="A name, bare or qualified: `Server.run`.")]
DepthOption = Annotated[int, typer.Option("--depth", "-d", min=1, max=20, help="Steps along the calls.")]
ConfidenceOption = Annotated[
    float | None,
    typer.Option("--min-confidence", "-c", min=0, max=1, help="Leave out what is less certain; 0 shows all."),
]
SecondsOption = Annotated[
    float | None,
    typer.Option("--seconds", "-s", min=0, help="Look no longer than this (8), and say so; 0 looks to the end."),
]
_LIMIT = 100
# `--limit 0` of `sage similar`, which orders all chunks.
_MOST_SIMILAR = 1_000
# Added to a note: the lines of what changed files hold would be wrong.
_LEFT_OUT = "; what is in changed files is left out"
# What is said when a list, by its key in the JSON document, is empty.
_NOTHING = {
    "references": "nothing refers to it",
    "callers": "nothing calls it",
    "callees": "it calls nothing that is known",
    "affected": "nothing else is affected",
    "similar": "nothing is like it",
    "duplicates": "no duplicates",
}


def refs(
    symbol: SymbolArgument,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _LIMIT,
    seconds: SecondsOption = None,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
    vimgrep: VimgrepOption = False,
) -> None:
    """Show what uses a symbol, each use with the confidence that this symbol is meant.

    Example:  sage refs Server.start --min-confidence 0.8
    """
    _show_related(
        "references", symbol, limit, seconds, project, no_refresh, as_json, vimgrep, min_confidence=min_confidence
    )


def callers(
    symbol: SymbolArgument, depth: DepthOption = 1, min_confidence: ConfidenceOption = None,
    limit: LimitOption = _LIMIT, seconds: SecondsOption = None,
    project: ProjectOption = ".", no_refresh: NoRefreshOption = False, as_json: JsonOption = False,
    vimgrep: VimgrepOption = False,
) -> None:  # fmt: skip
    """Show what calls a function or hands it on as a value, and what calls the callers.

    Example:  sage callers parse_config --depth 3
    """
    asked = (symbol, limit, seconds, project, no_refresh, as_json, vimgrep)
    _show_related("callers", *asked, depth=depth, min_confidence=min_confidence)


def callees(
    symbol: SymbolArgument, depth: DepthOption = 1, min_confidence: ConfidenceOption = None,
    limit: LimitOption = _LIMIT, seconds: SecondsOption = None,
    project: ProjectOption = ".", no_refresh: NoRefreshOption = False, as_json: JsonOption = False,
    vimgrep: VimgrepOption = False,
) -> None:  # fmt: skip
    """Show what a function calls.

    Example:  sage callees Server.start
    """
    asked = (symbol, limit, seconds, project, no_refresh, as_json, vimgrep)
    _show_related("callees", *asked, depth=depth, min_confidence=min_confidence)


def impact(
    what: Annotated[str, typer.Argument(metavar="FILE|SYMBOL", help="A file of the project, or a symbol.")],
    limit: LimitOption = _LIMIT,
    seconds: SecondsOption = None,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
    vimgrep: VimgrepOption = False,
) -> None:
    """Show what could break when a file or a symbol changes.

    Example:  sage impact src/server.py
    """
    _show_related("impact", what, limit, seconds, project, no_refresh, as_json, vimgrep)


def outline(file: FileArgument, project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Show the skeleton of a file: signatures and docstrings, bodies left out.

    Example:  sage outline src/server.py
    """
    opened = open_project(project)
    found = opened.outline(asked_file(opened.root, file))
    if as_json:
        items = [{**asdict(item.symbol), "depth": item.depth} for item in found.items]
        print_json({"file": found.file, "language": found.language, "lines": found.lines, "symbols": items})
    for item in () if as_json else found.items:
        for number, line in enumerate(plain(item.text()).split("\n")):
            say(f"{item.symbol.line if number == 0 else '':>6}  {line}", " " * (10 + 4 * item.depth))
    exit_if_nothing(found.items, f"nothing is defined in {one_line(found.file)}")


def map_project(
    below: Annotated[str, typer.Argument(metavar="[FOLDER]", help="The same as --under.")] = "",
    under: Annotated[str, typer.Option("--under", "-u", metavar="PATH", help="Only below this folder.")] = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-t", min=16, help="What the answer may cost.")] = 1024,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the symbols of a project that are used most, within a budget of tokens.

    Example:  sage map --max-tokens 2000

    Example:  sage map --under src/server
    """
    opened = open_project(project)
    note = _refreshed(opened, no_refresh, as_json)
    found = opened.map(under or below, max_tokens, refresh=False)
    if as_json:
        print_json({**asdict(found), **({"note": note} if note else {})})
    for line in found.text.split("\n") if found.text and not as_json else ():
        is_file = not line.startswith("  ")
        say(f"{one_line(shown_path(opened.root, line[:-1]))}:" if is_file else one_line(line), " " * 8)
    exit_if_nothing(found.entries, "nothing here is referred to from elsewhere")


def similar(
    where: Annotated[str, typer.Argument(metavar="[FILE:LINE|SYMBOL]", help="What to compare with.")] = "",
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Near-identical code across the index.")] = False,
    limit: LimitOption = 10,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show code that is like the code of a line or a symbol.

    Example:  sage similar src/server.py:120

    Example:  sage similar --duplicates
    """
    opened = open_project(project)
    note = _refreshed(opened, no_refresh, as_json)
    limit = limit or _MOST_SIMILAR
    if duplicates:
        pairs = [asdict(pair) for pair in opened.duplicates(limit, refresh=False)]
        _answer(opened, where, "duplicates", pairs, as_json, _duplicate_line, note=note)
        return
    file, colon, line = where.rpartition(":")
    location = opened.locate(f"{asked_file(opened.root, file)}{colon}{line}", refresh=False)
    found = opened.similar(location.file, location.start_line or 1, limit, refresh=False) if location else []
    rows = [{**asdict(one.chunk), "similarity": round(one.similarity, 4)} for one in found]
    _answer(opened, where, "similar", rows, as_json, _similar_line, is_known=location is not None, note=note)


def _refreshed(project: Project, no_refresh: bool, as_json: bool) -> str:
    """Bring the index up to date unless that is not wanted; the note about what is not in it, said."""
    note = "" if no_refresh else project.refresh()
    note += _LEFT_OUT if note else ""
    say_note(note, as_json)
    return note


def _show_related(
    relation: Relation,
    name: str,
    limit: int,
    seconds: float | None,
    project: str,
    no_refresh: bool,
    as_json: bool,
    vimgrep: bool,
    *,
    depth: int = 1,
    min_confidence: float | None = None,
) -> None:
    """Answer one of the questions about the uses of a name, with the line of code of each use."""
    from sage_code.lookup.related import as_row

    check_alone(vimgrep, as_json)
    opened = open_project(project)
    note = _refreshed(opened, no_refresh, as_json)
    found = opened.related(
        asked_file(opened.root, name) if relation == "impact" else name,
        relation,
        depth=depth,
        min_confidence=min_confidence,
        seconds=math.inf if seconds == 0 else seconds,
        refresh=False,
    )
    shown = found.uses[:limit] if limit else found.uses
    rows = [as_row(use) for use in shown]
    if vimgrep and found.targets:
        print_places(_places(opened, rows, relation))
        exit_if_nothing(rows)
        return
    if relation != "callees":  # these are shown by their definition
        lines = opened.lines_at((use.file, use.line) for use in shown)
        rows = [{**row, "text": line} for row, line in zip(rows, lines, strict=True)]
    _answer(
        opened,
        name,
        "affected" if relation == "impact" else relation,
        rows,
        as_json,
        _callee_line if relation == "callees" else _use_lines,
        more=len(found.uses) - len(shown),
        is_complete=found.is_complete,
        left_out=asdict(found.left_out),
        is_known=found.targets > 0,
        note=note,
    )


def _places(project: Project, rows: Sequence[dict[str, Any]], relation: Relation) -> Iterator[Place]:
    """The places of uses for an editor; of what is called, those of the definitions."""
    meant = [row.get("definition") or row.get("calls") or {"qualname": ""} for row in rows]
    named = [one["qualname"].rpartition(".")[2] for one in meant]
    at = [row["definition"] if relation == "callees" else row for row in rows]
    lines = project.lines_at(((one["file"], one["line"]) for one in at), is_indented=True)
    for one, text, name in zip(at, lines, named, strict=True):
        yield project.root, one["file"], one["line"], text, name


def _answer(
    project: Project,
    asked: str,
    key: str,
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    lines: Callable[[str, dict[str, Any]], list[str]],
    *,
    more: int = 0,
    is_complete: bool = True,
    left_out: Mapping[str, int] | None = None,
    is_known: bool = True,
    note: str = "",
) -> None:
    """Print the rows under `key`, and say that there are `more`, what else is `left_out`, that time was over, or that
    nothing has that name."""
    if as_json:
        document: dict[str, Any] = {"query": asked, key: rows}
        document |= {"truncated": more} if more else {}
        document |= {} if is_complete else {"incomplete": True}
        document |= {"left_out": dict(left_out)} if left_out and any(left_out.values()) else {}
        document |= {} if is_known else {"nearest": project.nearest(asked)}
        document |= {"note": note} if note else {}
        print_json(document)
    elif not is_known:
        say_missing(asked, project.nearest(asked))
    else:
        for row in rows:
            first, *rest = lines(project.root, row)
            say(first)
            for line in rest:
                say(f"    {line}", " " * 8)
        if more:
            print(f"... and {more} more; --limit 0 shows all", file=sys.stderr)
        if not rows:
            print(f"{_NOTHING[key]}{'' if is_complete else ' so far'}", file=sys.stderr)
        if left_out and (less := left_out["below_confidence"]):
            print(f"... {'and ' * bool(rows)}{less} less certain; --min-confidence 0 shows all", file=sys.stderr)
        if not is_complete:
            unseen = _unseen(left_out or {})
            print(f"the time was over before {unseen} looked at; --seconds 0 looks to the end", file=sys.stderr)
    exit_if_nothing(rows)


def _unseen(left_out: Mapping[str, int]) -> str:
    """What there was no time for, with the verb."""
    counts = {what: left_out.get(what, 0) for what in ("definitions", "files")}
    counted = [f"{count} {what if count > 1 else what[:-1]}" for what, count in counts.items() if count]
    if not counted:
        return "everything was"
    return f"{' and '.join(counted)} with the name {'was' if sum(counts.values()) == 1 else 'were'}"


def _use_lines(root: str, row: dict[str, Any]) -> list[str]:
    scope = one_line(row["scope"]) or "(top of the file)"
    where = f"{one_line(shown_path(root, row['file']))}:{row['line']}"
    handed_on = ", handed on as a value" if row.get("kind") == "value" else ""
    line = f"{where}  {scope}  {row['confidence']:.2f}  {one_line(row['why'])}{handed_on}"
    return [line, one_line(row["text"])] if row["text"] else [line]


def _callee_line(root: str, row: dict[str, Any]) -> list[str]:
    target = row["definition"]
    where = f"{one_line(shown_path(root, target['file']))}:{target['line']}"
    return [f"{one_line(target['qualname'])}  {where}  {row['confidence']:.2f}  called in line {row['line']}"]


def _similar_line(root: str, row: dict[str, Any]) -> list[str]:
    where = f"{one_line(shown_path(root, row['file']))}:{row['line']}"
    return [f"{row['similarity']:.2f}  {where}  {one_line(row['kind'])} {one_line(row['qualname'])}"]


def _duplicate_line(root: str, row: dict[str, Any]) -> list[str]:
    first, second = (
        f"{one_line(shown_path(root, one['file']))}:{one['start_line']}-{one['end_line']}"
        for one in (row["first"], row["second"])
    )
    return [f"{row['similarity']:.2f}  {first}  {second}"]
