"""What is related to a name: what refers to it, what calls it, what it calls, what may break when it changes.

A name may have several definitions. Their answers come in one list, from one state of the index and within one limit
of time for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sage_code.errors import UsageError
from sage_code.files.inside import relative_path
from sage_code.xref import answers
from sage_code.xref.answers import Affected, Callee, Caller, Usage
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver

Relation: TypeAlias = Literal["references", "callers", "callees", "impact"]
Use: TypeAlias = Usage | Caller | Callee | Affected
# A name like `make` may have ten thousand uses. People and agents wait so long for an answer.
DEFAULT_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Related:
    """What is related to all definitions of a name, or to a file."""

    uses: tuple[Use, ...]
    targets: int  # how many definitions, or one file; 0 when nothing has that name
    is_complete: bool  # False: the time was over, or `most` was reached, before everything was looked at


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
    resolver = Resolver(CompiledGraph(root), DEFAULT_SECONDS if seconds is None else seconds)
    targets = _targets(root, name, relation, resolver)
    ask = _question(relation, depth, DEFAULT_CONFIDENCE if min_confidence is None else min_confidence, resolver)
    uses: list[Use] = []
    for target in targets:
        if (most is not None and len(uses) >= most) or resolver.ran_out:
            return Related(tuple(uses), len(targets), is_complete=False)
        if check is not None:
            check()
        uses += ask(target)
    return Related(tuple(uses), len(targets), not resolver.ran_out)


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
    return resolver.graph.definitions(name)


def _question(
    relation: Relation, depth: int, min_confidence: float, resolver: Resolver
) -> Callable[[Any], Sequence[Use]]:
    """The question about one definition, or for `impact` one file."""
    if relation == "references":
        return lambda target: answers.references(resolver, target, min_confidence)
    if relation == "impact":
        return lambda target: answers.impact(resolver, target, min_confidence)
    walk = answers.callers if relation == "callers" else answers.callees
    return lambda target: walk(resolver, target, depth, min_confidence)
