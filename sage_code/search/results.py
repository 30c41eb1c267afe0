"""What a search answers with: the places, how sure it is of each, and all of it within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sage_code.text.tokens import count_tokens, first_lines, fit


@dataclass(frozen=True, slots=True)
class Span:
    """Another good place in the same file."""

    start_line: int
    end_line: int
    name: str


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer: a chunk, or the whole definition that was asked for by name; the snippet is the part that matched."""

    rank: int
    score: float  # how likely this is an answer, 0 to 1
    file: str  # relative to the project's root
    line: int  # of the name, where it is a definition
    start_line: int
    end_line: int
    kind: str
    name: str
    qualname: str
    language: str
    signature: str
    snippet: str
    snippet_line: int  # the line of the file at which the snippet starts
    project: str = ""  # its name
    root: str = ""  # and its folder
    also: tuple[Span, ...] = ()
    memory: tuple[str, ...] = ()
    explain: Mapping[str, float] = field(default_factory=dict)  # what each signal brought
    callers: int | None = None  # counted only with `explain`; None also for what cannot be called
    callees: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answers, best first. Without a good one, the nearest few."""

    query: str
    project: str  # its name; empty when several were searched
    root: str  # and its folder
    results: tuple[Hit, ...]
    good: bool  # whether the first is likely enough to be called an answer
    truncated: bool
    took_ms: float
    note: str = ""  # about the freshness of the index


def within(response: SearchResponse, max_tokens: int) -> SearchResponse:
    """The first hits that fit into a budget of tokens; a first hit that is too long keeps a part of its snippet."""
    kept = fit(response.results, _cost, max_tokens)
    if response.results and not kept:
        first = response.results[0]
        room = max_tokens - _cost(first) + count_tokens(first.snippet)
        kept = [replace(first, snippet=first_lines(first.snippet, room))]
    return replace(response, results=tuple(kept), truncated=response.truncated or len(kept) < len(response.results))


def _cost(hit: Hit) -> int:
    head = f"{hit.file}:{hit.line} {hit.kind} {hit.qualname} {hit.signature} {' '.join(hit.memory)}"
    return count_tokens(f"{head}\n{hit.snippet}")


def document(response: SearchResponse) -> dict[str, Any]:
    """What `sage search --json` and the MCP tool answer: `compiled_schema/search.json`."""
    return {
        "query": response.query,
        "project": response.project,
        "root": response.root,
        "results": [_row(hit) for hit in response.results],
        "good": response.good,
        "truncated": response.truncated,
        "took_ms": response.took_ms,
        "note": response.note,
    }


def _row(hit: Hit) -> dict[str, Any]:
    # By hand: `dataclasses.asdict` copies deeply, which for ten hits takes as long as a tenth of the search.
    row: dict[str, Any] = {name: getattr(hit, name) for name in Hit.__slots__}
    row["also"] = [{"start_line": span.start_line, "end_line": span.end_line, "name": span.name} for span in hit.also]
    row["memory"] = list(hit.memory)
    if not hit.root:  # the answer says once which project it is about
        del row["project"], row["root"]
    if hit.explain:
        row["explain"] = {name: round(share, 4) for name, share in hit.explain.items()}
    else:
        del row["explain"], row["callers"], row["callees"]
    return row
