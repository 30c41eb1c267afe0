"""Counts the callers and callees of hits, for `explain` only: it may take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sage_code.search.results import Hit
from sage_code.search.snapshot import SearchSnapshot
from sage_code.xref import answers
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.resolve import Resolver
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE

# For all hits together; hits that are not counted by then have no counts.
_MAX_SECONDS = 3.0


def with_calls(snapshot: SearchSnapshot, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, those of functions and classes with the numbers of their callers and callees."""
    graph = CompiledGraph(snapshot.root, snapshot.opened)
    resolver = Resolver(graph, _MAX_SECONDS)
    counted = []
    for hit in hits:
        definition = _definition(graph, hit)
        if definition is not None:
            callers = [one for one in answers.callers(resolver, definition) if one.kind == "call"]
            callees = answers.callees(resolver, definition)
            if not resolver.ran_out:
                hit = replace(hit, callers=len(callers), callees=len(callees))
        counted.append(hit)
    return counted


def _definition(graph: CompiledGraph, hit: Hit) -> Definition | None:
    for symbol in graph.file_symbols(hit.file):
        here = hit.start_line <= symbol.line <= hit.end_line
        if here and symbol.qualname == hit.qualname and symbol.kind in FUNCTION_LIKE | CLASS_LIKE:
            return Definition(hit.file, hit.language, symbol)
    return None
