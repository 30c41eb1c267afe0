"""What a page shows of a search: hits with their lines, the facets to narrow them, and whether they are an answer.

A search as somebody types must be fast, so it ranks many candidates, reads only the files of those that are shown, and
leaves the index as it is: `found_freshness.py` says how old that is, and brings it up to date beside the searches.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sage_code.compiled.inventory import reading
from sage_code.errors import UsageError
from sage_code.paths import has_memories
from sage_code.search.everywhere import Searchers, find_project
from sage_code.search.explanation import Explanation
from sage_code.search.query import Query, parse_query
from sage_code.search.results import FOLDED_BELOW, Hit, OtherChunk, SearchResponse
from sage_code.search.snippets import SearchOptions
from sage_code.settings.loading import load_settings
from sage_code.text.masking import mask
from sage_code.views.found.facets import Candidate, Chosen, Facets, candidate_of, facets_of
from sage_code.views.found.marked_lines import FoundLine, shown_lines

# Candidates whose facets are counted: about as many files as a search ranks.
WIDE = 100
# Those of them that are made at once: a search without a good hit answers with so many.
_MADE = 3
_LINES = 6
# Searches without anything chosen whose candidates are kept for the counts, and how long.
_KEPT, _KEPT_S = 8, 30.0


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit as a page shows it; its texts are masked."""

    root: str
    file: str
    line: int
    kind: str
    name: str
    language: str
    score: float | None  # none where a text is or is not there
    lines: tuple[FoundLine, ...]
    also: tuple[OtherChunk, ...] = ()
    memory: tuple[str, ...] = ()  # titles of memories about it
    weak: bool = False  # a line is enough for it
    more_lines: int = 0  # of the file that match too and are not shown


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a search."""

    hits: tuple[FoundHit, ...]
    facets: Facets
    good: bool  # whether the first is likely enough to be called an answer
    more: bool  # whether there are others
    took_ms: float
    note: str = ""
    count: int | None = None  # of all files with a text, where it is known


class Finding:
    """Searches the projects of a user; what a search opens stays open for the next."""

    def __init__(self) -> None:
        self._searchers: Searchers | None = None
        self._lock = threading.Lock()  # an engine answers one question at a time
        self._kept: OrderedDict[tuple[str, tuple[str, ...]], tuple[float, list[Candidate]]] = OrderedDict()

    def search(self, question: str, roots: Sequence[str], chosen: Chosen, limit: int) -> Found:
        """The best hits of some projects."""
        started = time.perf_counter()
        query = parse_query(question, chosen.filters())
        with self._lock:
            response = self._ask(query, roots)
            found = response.results
            kept = [hit for hit in found if (hit.root or response.root) in roots and chosen.allows(hit.file)]
            shown = _with_memories(replace(response, results=tuple(_whole(hit, response) for hit in kept[:limit])))
            narrowed = [candidate_of(hit, response.root) for hit in kept]
            wide = self._unnarrowed(question, roots) if chosen.narrows else self._keep(question, roots, narrowed)
        took = round((time.perf_counter() - started) * 1000, 1)
        more = response.good and (len(kept) > limit or response.truncated)
        hits = tuple(_found_hit(hit, shown) for hit in shown.results)
        return Found(hits, facets_of(narrowed, wide, chosen), response.good and bool(hits), more, took, response.note)

    def explained(self, question: str, root: str, chosen: Chosen, file: str) -> tuple[Hit, Explanation] | None:
        """How the score of a file comes about; None if the search does not find it."""
        query = parse_query(question, chosen.filters())
        with self._lock:
            ranks = [hit.rank for hit in self._ask(query, (root,)).results if hit.file == file]
            # An explanation counts callers, so only as many hits as needed are explained.
            explained = self._ask(query, (root,), explained=ranks[0]).results if ranks else ()
        return next(((hit, hit.explain) for hit in explained if hit.file == file and hit.explain), None)

    def _ask(self, query: Query, roots: Sequence[str], *, explained: int = 0) -> SearchResponse:
        """The candidates, of which the first few are whole; or the first few hits, each explained."""
        if not roots:
            raise UsageError("no project is indexed yet", "run `sage index` in one")
        searched = tuple(_named(query.filters.projects, roots) if query.filters.projects else roots)
        query = query._replace(filters=query.filters._replace(projects=searched))
        if self._searchers is None:
            self._searchers = Searchers(searched[0], load_settings(searched[0]))
        options = SearchOptions(_MADE, False, False, _LINES, folds=True, more=WIDE - _MADE)
        if explained:
            options = SearchOptions(max(explained, _MADE), True, False, _LINES)
        return self._searchers.search(query, options)

    def _unnarrowed(self, question: str, roots: Sequence[str]) -> list[Candidate]:
        """The candidates of a question without anything chosen."""
        known = self._kept.get((question, tuple(roots)))
        if known is not None and time.monotonic() - known[0] < _KEPT_S:
            return known[1]
        response = self._ask(parse_query(question), roots)
        own = [hit for hit in response.results if (hit.root or response.root) in roots]
        return self._keep(question, roots, [candidate_of(hit, response.root) for hit in own])

    def _keep(self, question: str, roots: Sequence[str], found: list[Candidate]) -> list[Candidate]:
        self._kept[question, tuple(roots)] = (time.monotonic(), found)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found


def _named(names: Iterable[str], roots: Sequence[str]) -> list[str]:
    """The projects that `in:` names, all of which must be among some projects."""
    found = list(dict.fromkeys(find_project(name).root for name in names))
    if not set(found) <= set(roots):
        raise UsageError("the project that `in:` names is not searched here", "search all projects, or leave it out")
    return found


def _whole(hit: Hit, response: SearchResponse) -> Hit:
    """A candidate with its lines."""
    if hit.whole is None:
        return hit
    with reading(hit.root or response.root):
        return replace(hit.whole(), rank=hit.rank, project=hit.project, root=hit.root)


def _with_memories(response: SearchResponse) -> SearchResponse:
    if not any(
        has_memories(root) for root in {hit.root or response.root for hit in response.results if not hit.repository}
    ):
        return response
    from sage_code.memory.code.attached import with_memories  # lazy: most projects have no memories

    return with_memories(response)


def _found_hit(hit: Hit, response: SearchResponse) -> FoundHit:
    """A hit as it is shown."""
    is_weak = hit.score < FOLDED_BELOW * response.results[0].score and response.good
    return FoundHit(
        root=hit.root or response.root,
        file=hit.file,
        line=hit.line,
        kind=hit.kind,
        name=mask(hit.qualname)[0],
        language=hit.language,
        score=hit.score,
        lines=() if is_weak else shown_lines(hit.snippet, hit.snippet_line, hit.match_spans, hit.best_line),
        also=tuple(other._replace(name=mask(other.name)[0]) for other in hit.also[:4]),
        memory=tuple(mask(title)[0] for title in hit.memory),
        weak=is_weak,
    )
