"""What is related to a name: what refers to it, what calls it, what it calls, what may break when it changes.

A name may have several definitions. Their answers come in one list, from one state of the index and within one limit
of time for all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sage_code.errors import UsageError
from sage_code.files.inside import relative_path
from sage_code.xref import answers
from sage_code.xref.answers import Affected, Callee, Caller, Place, Usage
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver
from sage_code.xref.text_uses import TextUses, find_text_uses

Relation: TypeAlias = Literal["references", "callers", "callees", "impact"]
Use: TypeAlias = Usage | Caller | Callee | Affected
# A name like `make` may have ten thousand uses. People and agents wait so long for an answer.
DEFAULT_SECONDS = 8.0
# Of that time, what reading the text of the files may take; the rest is for the stored references.
_TEXT_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How much an answer leaves out, beside what a limit on its length cuts off."""

    below_confidence: int = 0  # lines that use the name, less certain than asked for
    definitions: int = 0  # definitions of the name that were not looked at to the end
    files: int = 0  # files with the name whose text was not read in time


@dataclass(frozen=True, slots=True)
class Related:
    """What is related to all definitions of a name, or to a file."""

    uses: tuple[Use, ...]
    targets: int  # how many definitions, or one file; 0 when nothing has that name
    is_complete: bool  # False: the time was over, or `most` was reached, before everything was looked at
    left_out: LeftOut = LeftOut()


def related(
    root: str,
    name: str,
    relation: Relation,
    *,
    depth: int = 1,
    min_confidence: float | None = None,
    seconds: float | None = None,
    most: int | None = None,
    check: Callable[[], None] | None = None,
) -> Related:
    """What is related to `name`, for `impact` also to a file.

    No definition is looked at after `seconds`, or once there are `most` uses. `check` is called before each definition
    and may raise to end the question.
    """
    started = time.monotonic()
    seconds = DEFAULT_SECONDS if seconds is None else seconds
    graph = CompiledGraph(root)
    resolver = Resolver(graph, seconds - (time.monotonic() - started))
    targets = _targets(root, name, relation, resolver)
    definitions = [target for target in targets if isinstance(target, Definition)]
    text = TextUses()
    if relation != "callees":
        text = find_text_uses(resolver, graph, root, definitions, seconds * _TEXT_SHARE)
    below: set[Place] = set()
    least = DEFAULT_CONFIDENCE if min_confidence is None else min_confidence
    ask = _question(relation, depth, least, resolver, text, below)
    uses: list[Use] = []
    unasked = 0
    for number, target in enumerate(targets):
        if (most is not None and len(uses) >= most) or resolver.ran_out:
            unasked += len(targets) - number  # beside the one before, if the time ended in the middle of it
            break
        if check is not None:
            check()
        uses += ask(target)
        unasked = int(resolver.ran_out)
    if relation in ("references", "callers") and definitions:
        if resolver.ran_out:
            known = {(use.file, use.line) for use in uses}
            rest = answers.so_far(resolver, definitions[len(definitions) - unasked :], least, text)
            uses += _shown_as(relation, [use for use in rest if (use.file, use.line) not in known], uses)
        alike = answers.same_name(resolver, definitions, text)
        below.update((usage.file, usage.line) for usage in alike if usage.confidence < least and _fits(relation, usage))
        uses += _shown_as(relation, [usage for usage in alike if usage.confidence >= least], uses)
    below -= {(use.file, use.line) for use in uses}
    left_out = LeftOut(len(below), unasked, text.files_left)
    return Related(tuple(uses), len(targets), not (unasked or text.files_left or resolver.ran_out), left_out)


def _fits(relation: Relation, usage: Usage) -> bool:
    return relation == "references" or usage.kind == "call"


def _shown_as(relation: Relation, found: Sequence[Usage], uses: Sequence[Use]) -> list[Use]:
    """Usages as the relation shows them: for callers, the scopes that call and are not among the `uses` yet."""
    if relation == "references":
        return list(found)
    known = {(use.file, use.scope) for use in uses}
    callers: dict[tuple[str, str], Use] = {}
    for use in found:
        if use.kind == "call" and (use.file, use.scope) not in known:
            caller = Caller(use.file, use.line, use.scope, use.definition, 1, use.confidence, use.why)
            callers.setdefault((use.file, use.scope), caller)
    return list(callers.values())


def as_row(use: Use) -> dict[str, Any]:
    """A use as plain data."""
    values = {name: getattr(use, name) for name in use.__slots__}
    return {name: _named(value) if isinstance(value, Definition) else value for name, value in values.items()}


def _named(definition: Definition) -> dict[str, Any]:
    """A definition by its location and its name."""
    symbol = definition.symbol
    return {"file": definition.file, "line": symbol.line, "kind": symbol.kind, "qualname": symbol.qualname}


def _targets(root: str, name: str, relation: Relation, resolver: Resolver) -> Sequence[str | Definition]:
    if relation == "impact":
        try:
            return [relative_path(root, name)]
        except UsageError:
            pass  # a symbol
    known = resolver.graph.known
    return [*resolver.graph.definitions(name), *(known.definitions(name) if known else ())]


def _question(
    relation: Relation, depth: int, least: float, resolver: Resolver, text: TextUses, below: set[Place]
) -> Callable[[Any], Sequence[Use]]:
    """The question about one definition, or for `impact` one file."""
    if relation == "references":
        return lambda target: answers.references(resolver, target, least, text=text, below=below)
    if relation == "impact":
        return lambda target: answers.impact(resolver, target, least, text=text)
    if relation == "callers":
        return lambda target: answers.callers(resolver, target, depth, least, text=text, below=below)
    return lambda target: answers.callees(resolver, target, depth, least)
