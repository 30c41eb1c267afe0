"""`sage refs`, `callers`, `callees`, `impact`, `outline`, `map` and `similar`: what the code says about itself."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.index_commands import JsonOption, PathOption, open_project
from sage_cli.output import EXIT_NOTHING, one_line, plain, print_json, say_missing

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.xref.graph import Definition
    from sage_code.xref.resolve import Resolver

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
# A name like `make` may be meant in ten thousand places: as long as somebody watches a cursor, and as the server waits.
_PATIENCE_S = 8.0


def refs(
    symbol: SymbolArgument,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show who uses a symbol, each place with the confidence that it is really meant.

    Example:  sage refs Server.start --min-confidence 0.8
    """
    project = open_project(path)
    resolver = project.resolver(seconds or math.inf)
    found = [
        use
        for one in _definitions(project, symbol, resolver)
        for use in project.references(one, min_confidence=min_confidence, resolver=resolver)
    ]
    rows = [{**asdict(use), "definition": _target(use.definition)} for use in found]
    _answer(symbol, "references", rows, limit, as_json, _use_line, stopped=resolver.ran_out)


def callers(
    symbol: SymbolArgument,
    depth: DepthOption = 1,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show who calls a function, and who calls those.

    Example:  sage callers parse_config --depth 3
    """
    project = open_project(path)
    resolver = project.resolver(seconds or math.inf)
    found = [
        one
        for target in _definitions(project, symbol, resolver)
        for one in project.callers(target, depth, min_confidence, resolver=resolver)
    ]
    rows = [{**asdict(one), "calls": _target(one.calls)} for one in found]
    _answer(symbol, "callers", rows, limit, as_json, _use_line, stopped=resolver.ran_out)


def callees(
    symbol: SymbolArgument,
    depth: DepthOption = 1,
    min_confidence: ConfidenceOption = None,
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what a function calls.

    Example:  sage callees Server.start
    """
    project = open_project(path)
    resolver = project.resolver(seconds or math.inf)
    found = [
        one
        for source in _definitions(project, symbol, resolver)
        for one in project.callees(source, depth, min_confidence, resolver=resolver)
    ]
    rows = [{**asdict(one), "definition": _target(one.definition)} for one in found]
    _answer(symbol, "callees", rows, limit, as_json, _callee_line, stopped=resolver.ran_out)


def impact(
    what: Annotated[str, typer.Argument(metavar="FILE|SYMBOL", help="A file of the project, or a symbol.")],
    limit: LimitOption = _DEFAULT_LIMIT,
    seconds: SecondsOption = _PATIENCE_S,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what could break when a file or a symbol changes.

    Example:  sage impact src/server.py
    """
    project = open_project(path)
    resolver = project.resolver(seconds or math.inf)
    is_file = os.path.isfile(what) or os.path.isfile(os.path.join(project.root, what))
    targets: Sequence[str | Definition] = [what] if is_file else _definitions(project, what, resolver)
    found = [one for target in targets for one in project.impact(target, resolver=resolver)]
    _answer(what, "affected", [asdict(one) for one in found], limit, as_json, _use_line, stopped=resolver.ran_out)


def outline(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of the project.")],
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show the skeleton of a file: signatures and docstrings, bodies left out.

    Example:  sage outline src/server.py
    """
    found = open_project(path).outline(file)
    if as_json:
        items = [{**asdict(item.symbol), "depth": item.depth} for item in found.items]
        print_json({"file": found.file, "language": found.language, "lines": found.lines, "symbols": items})
    for item in () if as_json else found.items:
        print(plain(f"{item.symbol.line:>6}  " + item.text().replace("\n", "\n        ")))
    if not found.items:
        raise typer.Exit(EXIT_NOTHING)


def map_project(
    below: Annotated[str, typer.Argument(metavar="[PATH]", help="Only this folder of the project.")] = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-t", min=16, help="What the answer may cost.")] = 1024,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show the most important symbols of a project, by who refers to them, within a budget of tokens.

    Example:  sage map --max-tokens 2000
    """
    found = open_project(path).map(below, max_tokens)
    if as_json:
        print_json(asdict(found))
    elif found.entries:
        print(plain(found.text))
    if not found.entries:
        raise typer.Exit(EXIT_NOTHING)


def similar(
    where: Annotated[str, typer.Argument(metavar="[FILE:LINE|SYMBOL]", help="What to compare with.")] = "",
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Near-identical code across the index.")] = False,
    limit: LimitOption = 10,
    path: PathOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show what else looks like this.

    Example:  sage similar src/server.py:120

    Example:  sage similar --duplicates
    """
    project = open_project(path)
    if duplicates:
        pairs = project.duplicates(limit or 1000)
        _answer(where, "duplicates", [asdict(pair) for pair in pairs], 0, as_json, _duplicate_line)
        return
    file, line = _place(project, where)
    found = project.similar(file, line, limit or 1000)
    rows = [{**asdict(one.place), "similarity": round(one.similarity, 4)} for one in found]
    _answer(where, "similar", rows, 0, as_json, _similar_line)


def _place(project: Project, where: str) -> tuple[str, int]:
    file, _, line = where.rpartition(":")
    if file and line.isdecimal():
        return file, int(line)
    found = _definitions(project, where)
    return found[0].file, found[0].symbol.line


def _definitions(project: Project, name: str, resolver: Resolver | None = None) -> Sequence[Definition]:
    found = project.definitions(name, resolver=resolver)
    if not found:
        say_missing(name, project.nearest(name))
        raise typer.Exit(EXIT_NOTHING)
    return found


def _target(definition: Definition) -> dict[str, Any]:
    symbol = definition.symbol
    return {"file": definition.file, "line": symbol.line, "kind": symbol.kind, "qualname": symbol.qualname}


def _answer(
    asked: str,
    what: str,
    rows: list[dict[str, Any]],
    limit: int,
    as_json: bool,
    line: Any,
    *,
    stopped: bool = False,
) -> None:
    """Print what was found; `stopped`: the time was over before everything was looked at."""
    shown = rows[:limit] if limit else rows
    if as_json:
        document: dict[str, Any] = {"query": asked, what: shown}
        if len(shown) < len(rows):
            document["truncated"] = len(rows) - len(shown)
        if stopped:
            document["incomplete"] = True
        print_json(document)
    else:
        for row in shown:
            print(line(row))
        if len(shown) < len(rows):
            print(f"... and {len(rows) - len(shown)} more; --limit 0 shows all", file=sys.stderr)
        if not rows:
            print(f"no {what}{' so far' if stopped else ''}", file=sys.stderr)
        if stopped:
            print("the time was over before everything was looked at; --seconds 0 looks to the end", file=sys.stderr)
    if not rows:
        raise typer.Exit(EXIT_NOTHING)


def _use_line(row: dict[str, Any]) -> str:
    scope = one_line(row["scope"]) or "(top of the file)"
    return f"{one_line(row['file'])}:{row['line']}  {scope}  {row['confidence']:.2f}  {one_line(row['why'])}"


def _callee_line(row: dict[str, Any]) -> str:
    target = row["definition"]
    where = f"{one_line(target['file'])}:{target['line']}"
    return f"{one_line(target['qualname'])}  {where}  {row['confidence']:.2f}  called in line {row['line']}"


def _similar_line(row: dict[str, Any]) -> str:
    where = f"{one_line(row['file'])}:{row['start_line']}"
    return f"{row['similarity']:.2f}  {where}  {one_line(row['kind'])} {one_line(row['qualname'])}"


def _duplicate_line(row: dict[str, Any]) -> str:
    first, second = (f"{one_line(p['file'])}:{p['start_line']}-{p['end_line']}" for p in (row["first"], row["second"]))
    return f"{row['similarity']:.2f}  {first}  {second}"
