"""What a search answers with: hits with their probability, fitted into a budget of tokens, and as a JSON document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

from sage_code.search.explanation import Explanation
from sage_code.search.query import Query
from sage_code.text.tokens import count_tokens, first_lines, fit

# Hits with less than this share of the first one's score are shown in a line each: they are hardly ever read.
FOLDED_BELOW = 0.1
_NOT_IN_DOCUMENT = ("match_spans", "best_line", "head_line", "whole")


class OtherChunk(NamedTuple):
    """Another good place in the file of a hit."""

    start_line: int
    end_line: int
    name: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk, or the whole definition that was asked for by name; the snippet is the part that matched."""

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
    repository: str = ""  # of a fleet, where the file is not on this machine
    owner: str = ""
    also: tuple[OtherChunk, ...] = ()
    memory: tuple[str, ...] = ()
    explain: Explanation | None = None  # how the score comes about
    callers: int | None = None  # counted only with `explain`; None also for what cannot be called
    callees: int | None = None
    plugins: tuple[str, ...] = ()  # with `explain`: what plugins have changed about it
    # Not in the document, for those who print a hit:
    match_spans: tuple[tuple[int, int], ...] = ()  # words of the query in the snippet, as offsets
    best_line: int = 0  # the line of the snippet that matches best
    head_line: int = 0  # the line of the definition's name; 0 where it has none
    whole: Callable[[], Hit] | None = None  # of a candidate beyond the limit, which has no lines yet: makes the hit


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The hits, best first; without a good one, the nearest few."""

    parsed: Query
    project: str  # its name; empty when several were searched
    root: str  # and its folder
    results: tuple[Hit, ...]
    good: bool  # whether the first is likely enough to be called an answer
    truncated: bool
    took_ms: float
    note: str = ""  # about the freshness of the index
    plugins: tuple[str, ...] = ()  # with `explain`: what plugins have changed about the query

    @property
    def query(self) -> str:
        """The query as it was typed."""
        return self.parsed.asked


def is_weak(hit: Hit, response: SearchResponse) -> bool:
    """Whether a hit is so much weaker than the first that a line is enough for it."""
    return hit.score < FOLDED_BELOW * response.results[0].score


def trimmed(hit: Hit, lines: int) -> Hit:
    """The hit with at most `lines` lines of its snippet: the best one, and those around it that match most."""
    rows = hit.snippet.split("\n")
    if len(rows) <= lines:
        return hit
    if lines < 1:
        return replace(hit, snippet="", match_spans=())
    starts = list(accumulate((len(row) + 1 for row in rows), initial=0))
    best = min(max(hit.best_line - hit.snippet_line, 0), len(rows) - 1)

    def matches(first: int) -> int:
        return sum(starts[first] <= start < starts[first + lines] for start, _ in hit.match_spans)

    first = max(range(max(best - lines + 1, 0), min(best, len(rows) - lines) + 1), key=matches)
    begin, end = starts[first], starts[first + lines] - 1
    spans = tuple((start - begin, stop - begin) for start, stop in hit.match_spans if begin <= start and stop <= end)
    return replace(hit, snippet=hit.snippet[begin:end], snippet_line=hit.snippet_line + first, match_spans=spans)


def within(response: SearchResponse, max_tokens: int) -> SearchResponse:
    """The first hits that fit into a budget of tokens; a first hit that is too long keeps a part of its snippet."""
    kept = fit(response.results, _cost, max_tokens)
    if response.results and not kept:
        first = response.results[0]
        room = max_tokens - _cost(first) + count_tokens(first.snippet)
        snippet = first_lines(first.snippet, room)
        spans = tuple(span for span in first.match_spans if span[1] <= len(snippet))
        kept = [replace(first, snippet=snippet, match_spans=spans)]
    return replace(response, results=tuple(kept), truncated=response.truncated or len(kept) < len(response.results))


def _cost(hit: Hit) -> int:
    head = f"{hit.file}:{hit.line} {hit.kind} {hit.qualname} {hit.signature} {' '.join(hit.memory)}"
    return count_tokens(f"{head}\n{hit.snippet}")


def document(response: SearchResponse) -> dict[str, Any]:
    """What `sage search --json` and the MCP tool answer: `compiled_schema/search.json`."""
    found: dict[str, Any] = {
        "query": response.query,
        "project": response.project,
        "root": response.root,
        "results": [_row(hit) for hit in response.results],
        "good": response.good,
        "truncated": response.truncated,
        "took_ms": response.took_ms,
        "note": response.note,
    }
    return {**found, "plugins": list(response.plugins)} if response.plugins else found


def _row(hit: Hit) -> dict[str, Any]:
    """A hit as the document has it."""
    # By hand: `dataclasses.asdict` copies deeply, which for ten hits takes as long as a tenth of the search.
    row: dict[str, Any] = {name: getattr(hit, name) for name in Hit.__slots__}
    for name in _NOT_IN_DOCUMENT:
        del row[name]
    row["also"] = [other._asdict() for other in hit.also]
    row["memory"] = list(hit.memory)
    if not hit.root:  # the document says once which project it is about
        del row["project"], row["root"]
    if not hit.repository:
        del row["repository"], row["owner"]
    if hit.explain is not None:
        row["explain"] = {name: round(share, 4) for name, share in hit.explain.shares.items()}
        row["arithmetic"] = hit.explain.arithmetic()
    else:
        del row["explain"], row["callers"], row["callees"]
    if hit.plugins:
        row["plugins"] = list(hit.plugins)
    else:
        del row["plugins"]
    return row
