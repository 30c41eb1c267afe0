"""What a reference stands for, from scopes, imports, receivers and types; by name alone where these say nothing."""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition

DEFAULT_CONFIDENCE = 0.4


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a reference may mean."""

    definition: Definition
    confidence: float
    why: str


class Resolver:
    """Resolves the references of one graph, and remembers what it learnt about its files."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph

    def targets(self, file: str, reference: Reference) -> list[Target]:
        """What `reference` of `file` may mean, best first."""
        raise NotImplementedError


def targets(graph: CodeGraph, file: str, reference: Reference) -> list[Target]:
    """What one reference may mean, best first. Whoever asks often keeps a `Resolver`."""
    return Resolver(graph).targets(file, reference)
