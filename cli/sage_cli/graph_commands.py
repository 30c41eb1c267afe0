"""`sage refs`, `callers`, `callees`, `impact`, `outline`, `map` and `similar`: what the code says about itself."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, ProjectOption
from sage_cli.output import EXIT_NOTHING, asked_file, one_line, plain, print_json, say, say_missing, shown_path

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.xref.graph import Definition

SymbolArgument = Annotated[str, typer.Argument(metavar="SYMBOL", help="A name, bare or qualified: `Server.run`.")]
DepthOption = Annotated[int, typer.Option("--depth", "-d", min=1, max=20, help="Steps along the calls.")]
ConfidenceOption = Annotated[
    float | None, typer.Option("--min-confidence", "-c", min=0, max=1, help="Leave out what is less certain.")
]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0 shows all.")]
SecondsOption = Annotated[
    float, typer.Option("--seconds", "-s", min=0, help="Look no longer than this, and say so; 0 looks to the end.")
]
_DEFAULT_LIMIT = 100
_NOTHING = {
    "references": "nothing refers to it",
    "callers": "nothing calls it",
    "callees": "it calls nothing that is known",
    "affected": "nothing else is affected",
    "similar": "nothing is like it",
    "duplicates": "no duplicates",
}
# A name like `make` may be meant in ten thousand places: as long as somebody watches a cursor, and as the server waits.
_PATIENCE_S = 8.0


def refs(
    symbol: SymbolArgument,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show who uses a symbol, each place with the confidence that it is really meant.

    Example:  sage refs Server.start --min-confidence 0.8
    """
    opened = open_project(project)
    resolver = opened.resolver(seconds or math.inf)
    found = [
        use
        for one in opened.definitions(symbol, resolver=resolver)
        for use in opened.references(one, min_confidence=min_confidence, resolver=resolver)
    ]
    rows = _with_lines(opened, found, limit, lambda use: {"definition": _target(use.definition)})
    _answer(opened, symbol, "references", rows, limit, as_json, _use_lines, stopped=resolver.ran_out)


def callers(
    symbol: SymbolArgument,
    depth: DepthOption = 1,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show who calls a function, and who calls those.

    Example:  sage callers parse_config --depth 3
    """
    opened = open_project(project)
    resolver = opened.resolver(seconds or math.inf)
    found = [
        one
        for target in opened.definitions(symbol, resolver=resolver)
        for one in opened.callers(target, depth, min_confidence, resolver=resolver)
    ]
    rows = _with_lines(opened, found, limit, lambda one: {"calls": _target(one.calls)})
    _answer(opened, symbol, "callers", rows, limit, as_json, _use_lines, stopped=resolver.ran_out)


def callees(
    symbol: SymbolArgument,
    depth: DepthOption = 1,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what a function calls.

    Example:  sage callees Server.start
    """
    opened = open_project(project)
    resolver = opened.resolver(seconds or math.inf)
    found = [
        one
        for source in opened.definitions(symbol, resolver=resolver)
        for one in opened.callees(source, depth, min_confidence, resolver=resolver)
    ]
    rows = [{**asdict(one), "definition": _target(one.definition)} for one in found]
    _answer(opened, symbol, "callees", rows, limit, as_json, _callee_line, stopped=resolver.ran_out)


def impact(
    what: Annotated[str, typer.Argument(metavar="FILE|SYMBOL", help="A file of the project, or a symbol.")],
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what could break when a file or a symbol changes.

    Example:  sage impact src/server.py
    """
    opened = open_project(project)
    resolver = opened.resolver(seconds or math.inf)
    file = asked_file(opened.root, what)
    is_file = os.path.isfile(os.path.join(opened.root, file))
    targets: Sequence[str | Definition] = [file] if is_file else opened.definitions(what, resolver=resolver)
    found = [one for target in targets for one in opened.impact(target, resolver=resolver)]
    rows = _with_lines(opened, found, limit)
    _answer(opened, what, "affected", rows, limit, as_json, _use_lines, stopped=resolver.ran_out, known=bool(targets))


def outline(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of the project.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
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
    if not found.items:
        print(f"nothing is defined in {one_line(found.file)}", file=sys.stderr)
        raise typer.Exit(EXIT_NOTHING)


def map_project(
    below: Annotated[str, typer.Argument(metavar="[FOLDER]", help="The same as --under.")] = "",
    under: Annotated[str, typer.Option("--under", "-u", metavar="PATH", help="Only below this folder.")] = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-t", min=16, help="What the answer may cost.")] = 1024,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show the most important symbols of a project, by who refers to them, within a budget of tokens.

    Example:  sage map --max-tokens 2000

    Example:  sage map --under src/server
    """
    opened = open_project(project)
    found = opened.map(under or below, max_tokens)
    if as_json:
        print_json(asdict(found))
    for line in found.text.split("\n") if found.text and not as_json else ():
        is_file = not line.startswith("  ")
        say(f"{one_line(shown_path(opened.root, line[:-1]))}:" if is_file else one_line(line), " " * 8)
    if not found.entries:
        print("nothing here is referred to from elsewhere", file=sys.stderr)
        raise typer.Exit(EXIT_NOTHING)


def similar(
    where: Annotated[str, typer.Argument(metavar="[FILE:LINE|SYMBOL]", help="What to compare with.")] = "",
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Near-identical code across the index.")] = False,
    limit: LimitOption = 10,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what else looks like this.

    Example:  sage similar src/server.py:120

    Example:  sage similar --duplicates
    """
    opened = open_project(project)
    if duplicates:
        pairs = opened.duplicates(limit or 1000)
        _answer(opened, where, "duplicates", [asdict(pair) for pair in pairs], 0, as_json, _duplicate_line, known=True)
        return
    place = _place(opened, where)
    found = opened.similar(*place, limit or 1000) if place else []
    rows = [{**asdict(one.chunk), "similarity": round(one.similarity, 4)} for one in found]
    _answer(opened, where, "similar", rows, 0, as_json, _similar_line, known=place is not None)


def _place(project: Project, where: str) -> tuple[str, int] | None:
    file, _, line = where.rpartition(":")
    if file and line.isdecimal():
        here = asked_file(project.root, file)
        return os.path.relpath(here, project.root) if os.path.isabs(here) else file, int(line)
    found = project.definitions(where)
    return (found[0].file, found[0].symbol.line) if found else None


def _with_lines(
    project: Project, found: Sequence[Any], limit: int, more: Callable[[Any], dict[str, Any]] = lambda _: {}
) -> list[dict[str, Any]]:
    """The places as rows, those that are shown with their line of code."""
    shown = found[:limit] if limit else found
    lines = project.lines_at((one.file, one.line) for one in shown)
    lines += [""] * (len(found) - len(shown))
    return [{**asdict(one), "text": line, **more(one)} for one, line in zip(found, lines, strict=True)]


def _target(definition: Definition) -> dict[str, Any]:
    symbol = definition.symbol
    return {"file": definition.file, "line": symbol.line, "kind": symbol.kind, "qualname": symbol.qualname}


def _answer(
    project: Project,
    asked: str,
    what: str,
    rows: list[dict[str, Any]],
    limit: int,
    as_json: bool,
    lines: Callable[[str, dict[str, Any]], list[str]],
    *,
    stopped: bool = False,
    known: bool | None = None,
) -> None:
    """Print what was found; `stopped`: the time was over before everything was looked at; `known`: whether there is
    such a thing at all, if the caller has looked."""
    shown = rows[:limit] if limit else rows
    is_missing = not rows and not (project.definitions(asked) if known is None else known)
    if as_json:
        document: dict[str, Any] = {"query": asked, what: shown}
        if len(shown) < len(rows):
            document["truncated"] = len(rows) - len(shown)
        if stopped:
            document["incomplete"] = True
        if is_missing:
            document["nearest"] = project.nearest(asked)
        print_json(document)
    elif is_missing:
        say_missing(asked, project.nearest(asked))
    else:
        for row in shown:
            first, *rest = lines(project.root, row)
            say(first)
            for line in rest:
                say(f"    {line}", " " * 8)
        if len(shown) < len(rows):
            print(f"... and {len(rows) - len(shown)} more; --limit 0 shows all", file=sys.stderr)
        if not rows:
            print(f"{_NOTHING[what]}{' so far' if stopped else ''}", file=sys.stderr)
        if stopped:
            print("the time was over before everything was looked at; --seconds 0 looks to the end", file=sys.stderr)
    if not rows:
        raise typer.Exit(EXIT_NOTHING)


def _use_lines(root: str, row: dict[str, Any]) -> list[str]:
    scope = one_line(row["scope"]) or "(top of the file)"
    where = f"{one_line(shown_path(root, row['file']))}:{row['line']}"
    line = f"{where}  {scope}  {row['confidence']:.2f}  {one_line(row['why'])}"
    return [line, one_line(row["text"])] if row["text"] else [line]


def _callee_line(root: str, row: dict[str, Any]) -> list[str]:
    target = row["definition"]
    where = f"{one_line(shown_path(root, target['file']))}:{target['line']}"
    return [f"{one_line(target['qualname'])}  {where}  {row['confidence']:.2f}  called in line {row['line']}"]


def _similar_line(root: str, row: dict[str, Any]) -> list[str]:
    where = f"{one_line(shown_path(root, row['file']))}:{row['line']}"
    return [f"{row['similarity']:.2f}  {where}  {one_line(row['kind'])} {one_line(row['qualname'])}"]


def _duplicate_line(root: str, row: dict[str, Any]) -> list[str]:
    places = (row["first"], row["second"])
    first, second = (f"{one_line(shown_path(root, p['file']))}:{p['start_line']}-{p['end_line']}" for p in places)
    return [f"{row['similarity']:.2f}  {first}  {second}"]
