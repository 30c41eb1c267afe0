"""Search as a face asks for it: a fresh index, a question, answers that say how sure they are.

What is expensive to open (the model, the mapped snapshot) is kept for the next question of the same process, and
opened anew when another index has been published meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sage_code import manifest
from sage_code.compiled.published import current
from sage_code.discover import list_files
from sage_code.errors import NotIndexed
from sage_code.indexer import discover_rules, index_project, look_for_changes, model_changed
from sage_code.search.query import Query, parse_query
from sage_code.search.results import SNIPPET_LINES, Hit, SearchResponse, Span, snippet

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.search.engine import Ranked, SearchEngine
    from sage_code.settings import Settings

# Seconds for which a project that was found fresh is taken to be so: a loop of questions pays for one look.
_FRESH_FOR_S = 2.0
# Up to this many changed files are brought in before answering.
_FEW_CHANGES = 20
# Offered when nothing is good enough.
_NEAREST = 3


class Searcher:
    """Answers questions about one project."""

    def __init__(self, root: str, settings: Settings) -> None:
        self.root, self._settings = root, settings
        self._engine: SearchEngine | None = None
        self._embedder: Embedder | None = None
        self._looked_at = float("-inf")

    def search(
        self,
        text: str,
        *,
        limit: int = 10,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        kinds: Sequence[str] = (),
        explain: bool = False,
        refresh: bool = True,
        lines: int = SNIPPET_LINES,
    ) -> SearchResponse:
        """The best places for a question."""
        started = time.perf_counter()
        query = parse_query(text)
        query = replace(query, filters=query.filters.and_also(tuple(languages), tuple(paths), tuple(kinds)))
        note = self._freshen() if refresh else ""
        engine = self._open()
        ranked = engine.rank(query, limit + 1)
        hits = [self._hit(place, query, lines, explain) for place in enumerate(ranked[:limit], 1)]
        good = bool(hits) and hits[0].score >= engine.ranking.line
        if not good:
            hits = hits[:_NEAREST]
        took = (time.perf_counter() - started) * 1000
        more = good and len(ranked) > limit
        return SearchResponse(text, engine.snapshot.root, tuple(hits), good, more, round(took, 2), note)

    def _open(self) -> SearchEngine:
        generation = current(self.root)
        if generation is None:
            raise NotIndexed(f"{self.root} is not indexed yet", f"run `sage index {self.root}` first")
        if self._engine is None or self._engine.snapshot.generation.name != generation.name:
            from sage_code.embed.registry import load_embedder
            from sage_code.search.engine import SearchEngine  # lazy: NumPy
            from sage_code.search.snapshot import SearchSnapshot

            if self._embedder is None or self._embedder.name != generation.model:
                self._embedder = load_embedder(self._settings.code_embedding_model, "code", self._settings)
            self._engine = SearchEngine(SearchSnapshot(self.root), self._embedder)
        return self._engine

    def _freshen(self) -> str:
        """Bring in the few files that have changed; otherwise what to say about them."""
        if time.monotonic() - self._looked_at < _FRESH_FOR_S:
            return ""
        self._looked_at = time.monotonic()
        old = manifest.load(self.root)
        if old is None:
            return ""
        if model_changed(old, self._settings):
            return "the embedding model has changed: run `sage index`"
        rules = discover_rules(self._settings)
        changes = look_for_changes(self.root, rules, list_files(self.root, rules), old, time.time_ns())
        changed = len(changes.suspects) + len(changes.removed)
        if not changed:
            return ""
        if changed > _FEW_CHANGES:
            return f"{changed} files have changed since the index was made: run `sage index`"
        index_project(self.root, self._settings)
        self._looked_at = time.monotonic()
        return ""

    def _hit(self, place: tuple[int, Ranked], query: Query, lines: int, explain: bool) -> Hit:
        rank, found = place
        assert self._engine is not None
        snapshot, ranking = self._engine.snapshot, self._engine.ranking
        path, qualname = snapshot.path(found.file), snapshot.qualname(found.chunk)
        first, last = int(snapshot.chunk_start[found.chunk]), int(snapshot.chunk_end[found.chunk])
        rules = discover_rules(self._settings)
        text, line = snippet(self.root, rules, path, first, last, query, lines)
        return Hit(
            rank=rank,
            score=round(ranking.probability(found.score), 4),
            file=path,
            start_line=first,
            end_line=last,
            kind=snapshot.kind(found.chunk),
            name=qualname.rpartition(".")[2],
            qualname=qualname,
            language=snapshot.language(found.file),
            signature=snapshot.signature(found.chunk),
            snippet=text,
            snippet_line=line,
            also=tuple(
                Span(int(snapshot.chunk_start[chunk]), int(snapshot.chunk_end[chunk]), snapshot.qualname(chunk))
                for chunk in found.also
            ),
            explain=ranking.shares(found.row, query.kind) if explain else {},
        )
