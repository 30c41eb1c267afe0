"""`sage refs-check`, `stale`, `still-true` and `why`: what was concluded about the code, and whether it still holds."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, ProjectOption
from sage_cli.output import EXIT_NOTHING, one_line, plain, print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sage_code.memory.code.check import RefState
    from sage_code.memory.code.staleness import CheckedMemory
    from sage_code.memory.files.code_ref import CodeRef

_MARK = {"unchanged": "  ", "moved": "→ ", "changed": "! ", "gone": "✗ "}


def refs_check(
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show what is unchanged, too.")] = False,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Hold every memory against the code that it is about: unchanged, moved, changed or gone.

    Code that has only moved is followed. Exits with 0, whatever it finds: the check is done.

    Example:  sage refs-check

    Example:  sage refs-check --json
    """
    opened = open_project(project)
    hidden = () if everything else ("unchanged",)
    _answer("", opened.root, opened.refs_check(), as_json, hidden, "no memory refers to code")


def stale(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the memories that need another look, because their code has changed or is gone.

    Exits with 0, also when there are none: `sage still-true ID` confirms one that holds all the same.

    Example:  sage stale
    """
    opened = open_project(project)
    _answer("", opened.root, opened.stale(), as_json, ("unchanged", "moved"), "no memory is stale")


def still_true(
    memory: Annotated[str, typer.Argument(metavar="ID", help="Of a checkpoint or of an item of knowledge.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Say that a stale memory holds all the same: it refers to the code as it is now.

    Example:  sage still-true which-queue
    """
    from sage_code.memory.confirming import confirm
    from sage_code.memory.documents import confirmed_document

    done = confirm(open_project(project).memory, memory)
    if as_json:
        print_json(confirmed_document(done))
        return
    dropped = f", {done.dropped} gone and taken out" if done.dropped else ""
    print(f"still true: {one_line(done.id)} ({len(done.refs)} references, {done.renewed} renewed{dropped})")


def why(
    what: Annotated[str, typer.Argument(metavar="FILE:LINE|SYMBOL", help="A place, a file or a symbol.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """List everything that was ever concluded about a place in the code.

    Exits with 1 when nothing was.

    Example:  sage why src/server.py:120

    Example:  sage why Server.start
    """
    opened = open_project(project)
    found = opened.why(what)
    _answer(what, opened.root, found, as_json, (), "no memory about this code")
    if not found:
        raise typer.Exit(EXIT_NOTHING)


def _answer(
    query: str, root: str, found: Sequence[CheckedMemory], as_json: bool, hidden: tuple[str, ...], none: str
) -> None:
    counts: Counter[str] = Counter(state.state for one in found for state in one.states)
    if as_json:
        document: dict[str, Any] = {"query": query} if query else {}
        document |= {"root": root, "memories": [_row(one) for one in found]}
        print_json({**document, "counts": {state: counts[state] for state in _MARK}})
    else:
        for one in found:
            _show(one, hidden)
        said = ", ".join(f"{counts[state]} {state}" for state in _MARK if counts[state])
        print(said if found else none, file=sys.stderr)


def _show(one: CheckedMemory, hidden: tuple[str, ...]) -> None:
    memory = one.memory
    print(f"{one_line(memory.id)}  {memory.kind}" + ("  (stale)" if one.is_stale else ""))
    if memory.title:
        print(f"    {one_line(memory.title)}")
    for state in one.states:
        if state.state not in hidden:
            print(f"  {_MARK[state.state]}{state.state:<9} {_place(state.ref)}{_now(state)}")
            for line in plain(state.diff).split("\n") if state.diff else ():
                print(f"      {line}")


def _place(ref: CodeRef) -> str:
    lines = f":{ref.lines[0]}-{ref.lines[1]}" if ref.lines else ""
    return one_line(f"{ref.file}{lines}" + (f" {ref.symbol}" if ref.symbol else ""))


def _now(state: RefState) -> str:
    return f"  now {_place(state.now)}" if state.now and state.state in ("moved", "changed") else ""


def _row(one: CheckedMemory) -> dict[str, Any]:
    memory = one.memory
    return {
        "id": memory.id,
        "kind": memory.kind,
        "title": memory.title,
        "ts": memory.ts,
        "scope": memory.scope,
        "stale": one.is_stale,
        "refs": [
            {
                **_where(state.ref),
                "relevance": "stale" if state.is_stale else state.ref.relevance,
                "state": state.state,
                "now": _where(state.now) if state.now else None,
                "diff": state.diff,
            }
            for state in one.states
        ],
    }


def _where(ref: CodeRef) -> dict[str, Any]:
    return {"file": ref.file, "lines": list(ref.lines) if ref.lines else None, "symbol": ref.symbol}
