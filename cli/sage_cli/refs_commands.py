"""`sage refs-check`, `stale`, `still-true` and `why`: memories about code, and whether that code has changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, plain, print_json

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
    """Check the code that every memory is about: is it unchanged, moved, changed or gone?

    Code that has only moved is followed. Exits with 0 in every case.

    Example:  sage refs-check

    Example:  sage refs-check --json
    """
    opened = open_project(project)
    hidden = () if everything else ("unchanged",)
    _answer("", opened.root, opened.refs_check(), as_json, hidden, "no memory refers to code")


def stale(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the memories that need another look because their code has changed or is gone.

    Exits with 0, also when there are none. `sage still-true ID` confirms a memory that is still true.

    Example:  sage stale
    """
    opened = open_project(project)
    _answer("", opened.root, opened.stale(), as_json, ("unchanged", "moved"), "no memory is stale")


def still_true(
    memory: Annotated[str, typer.Argument(metavar="ID", help="The id of a checkpoint or of an item of knowledge.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Confirm that a stale memory is still true: it refers to the code as it is now.

    Example:  sage still-true which-queue
    """
    from sage_code.memory.confirming import confirm
    from sage_code.memory.documents import confirmed_document

    done = confirm(open_project(project).memory, memory)
    dropped = f", {done.dropped} gone and taken out" if done.dropped else ""
    line = f"still true: {one_line(done.id)} ({len(done.refs)} references, {done.renewed} renewed{dropped})"
    answer(confirmed_document(done), as_json, line)


def why(
    what: Annotated[str, typer.Argument(metavar="FILE:LINE|SYMBOL", help="Lines, a file or a symbol.")],
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """List every memory about a piece of code.

    Exits with 1 when there is none.

    Example:  sage why src/server.py:120

    Example:  sage why Server.start
    """
    opened = open_project(project)
    found = opened.why(what)
    _answer(what, opened.root, found, as_json, (), "no memory about this code")
    exit_if_nothing(found)


def _answer(
    query: str, root: str, found: Sequence[CheckedMemory], as_json: bool, hidden: tuple[str, ...], none: str
) -> None:
    """Print memories with the references whose state is not `hidden`, and `none` when there is no memory."""
    from sage_code.memory.documents import checked_document

    document = checked_document(found, root, query)
    if as_json:
        print_json(document)
        return
    for one in found:
        _show(one, hidden)
    counts = ", ".join(f"{count} {state}" for state, count in document["counts"].items() if count)
    print(counts if found else none, file=sys.stderr)


def _show(one: CheckedMemory, hidden: tuple[str, ...]) -> None:
    memory = one.memory
    print(f"{one_line(memory.id)}  {memory.kind}" + ("  (stale)" if one.is_stale else ""))
    if memory.title:
        print(f"    {one_line(memory.title)}")
    for state in one.states:
        if state.state not in hidden:
            print(f"  {_MARK[state.state]}{state.state:<9} {_where(state.ref)}{_now(state)}")
            for line in plain(state.diff).split("\n") if state.diff else ():
                print(f"      {line}")


def _where(ref: CodeRef) -> str:
    lines = f":{ref.lines[0]}-{ref.lines[1]}" if ref.lines else ""
    return one_line(f"{ref.file}{lines}" + (f" {ref.symbol}" if ref.symbol else ""))


def _now(state: RefState) -> str:
    return f"  now {_where(state.now)}" if state.now and state.state in ("moved", "changed") else ""
