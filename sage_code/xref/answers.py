"""The questions people ask: who refers to this, who calls it, what does it call, what could break.

Each answer is a list of frozen values, best first where they are ranked, and bounded: a chain of calls is followed to
a depth, every definition is visited once, and confidence is the product along the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver


@dataclass(frozen=True, slots=True)
class Usage:
    """A place that refers to a definition."""

    file: str
    line: int
    scope: str  # qualified name of the definition around it; empty at the top of a file
    kind: str  # call inherit type use import
    definition: Definition  # what it refers to
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A definition (or the top of a file: `scope` is empty) that calls another one."""

    file: str
    line: int  # of the first call
    scope: str
    calls: Definition  # the definition that is called from here
    distance: int  # 1: directly
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Callee:
    """A definition that is called, and from where."""

    file: str  # of the call
    line: int
    scope: str
    definition: Definition
    distance: int
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Affected:
    """What could break when a definition or a file changes."""

    file: str
    line: int
    scope: str
    distance: int
    confidence: float
    why: str  # calls, inherits from, imports ... what


def references(
    graph: CodeGraph, definition: Definition, *, min_confidence: float = DEFAULT_CONFIDENCE
) -> list[Usage]:
    """Every place that refers to `definition`, by file and line."""
    raise NotImplementedError


def callers(
    graph: CodeGraph, definition: Definition, depth: int = 1, min_confidence: float = DEFAULT_CONFIDENCE
) -> list[Caller]:
    """Who calls `definition`, and who calls those, up to `depth`; by distance, then confidence."""
    raise NotImplementedError


def callees(
    graph: CodeGraph, definition: Definition, depth: int = 1, min_confidence: float = DEFAULT_CONFIDENCE
) -> list[Callee]:
    """What `definition` calls, and what those call, up to `depth`; by distance, then line."""
    raise NotImplementedError


def impact(graph: CodeGraph, what: str | Definition, *, max_distance: int = 5) -> list[Affected]:
    """What could break when a file (its path) or a definition changes: callers, subclasses, importers, and theirs."""
    raise NotImplementedError
