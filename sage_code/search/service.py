"""Search as a face asks for it: a fresh index, a question, answers that say how sure they are.

What is expensive to open (the model, the mapped snapshot) is kept for the next question of the same process, and
opened anew when another index has been published meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field, replace
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from sage_code.compiled.inventory import missing, reading
from sage_code.compiled.published import current
from sage_code.discover import discover_rules
from sage_code.errors import IndexCorrupt
from sage_code.files.atomic import resolve
from sage_code.index import registry
from sage_code.paths import compiled_dir
from sage_code.search.freshness import Freshness
from sage_code.search.query import Filters, Query, parse_query
from sage_code.search.results import SearchResponse
from sage_code.search.snippets import SNIPPET_LINES

if TYPE_CHECKING:
    from sage_code.compiled.published import Generation
    from sage_code.embed.protocol import Embedder
    from sage_code.search.engine import SearchEngine
    from sage_code.settings.loading import Settings

# Offered when nothing is good enough.
NEAREST = 3
_OTHER_MODEL = "the index was made with another model: until `sage index` only words count"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a question is to be answered."""

    limit: int = 10
    filters: Filters = field(default_factory=Filters)
    explain: bool = False
    refresh: bool = True
    lines: int = SNIPPET_LINES  # of a snippet; 0: none is wanted
    context: int = 0  # lines of the file around it


class Searcher:
    """Answers questions about one project."""

    def __init__(self, root: str, settings: Settings) -> None:
        self.root, self._settings = root, settings
        self._engine: SearchEngine | None = None
        self._name = ""
        self._embedder: Embedder | None = None
        self._freshness = Freshness(root, settings)

    def search(self, text: str, options: SearchOptions | None = None) -> SearchResponse:
        """The best places for a question; without a good one the nearest few."""
        options = options or SearchOptions()
        started = time.perf_counter()
        query = parse_query(text)
        given = options.filters
        query = replace(query, filters=query.filters.and_also(given.languages, given.paths, given.kinds))
        if self._engine is None:
            # While git is asked what has changed, this process would only wait.
            Thread(target=import_module, args=("numpy",), daemon=True).start()
        note = self._freshness.ensure() if options.refresh else ""
        try:
            with reading(self.root):
                return self._answer(text, query, options, note, started)
        except IndexCorrupt:
            # What this user never indexed is not indexed by a question.
            if not options.refresh or all(entry.root != self.root for entry in registry.projects()):
                raise
        self._engine = None  # what it has mapped is damaged
        note = self._freshness.mend()
        with reading(self.root):
            return self._answer(text, query, options, note, started)

    def _answer(self, text: str, query: Query, options: SearchOptions, note: str, started: float) -> SearchResponse:
        engine = self._open()
        if self._embedder is not None and self._embedder.name != engine.snapshot.generation.model:
            note = note or _OTHER_MODEL
        from sage_code.search.hits import HitMaker  # lazy: NumPy

        ranked = engine.rank(query, options.limit + 1)
        make = HitMaker(engine, query, discover_rules(self._settings), options.lines, options.context)
        hits = [make.hit(rank, found, explain=options.explain) for rank, found in enumerate(ranked[: options.limit], 1)]
        if options.explain:
            from sage_code.search.calls import with_calls  # lazy: only an explanation pays for the code graph

            hits = with_calls(engine.snapshot, hits)
        good = bool(ranked) and (ranked[0].good or ranked[0].is_definition(query))
        if not good:
            hits = hits[:NEAREST]
        if options.lines and not all(hit.snippet for hit in hits):
            note = note or "some of these files cannot be read any more: run `sage index`"
        more = good and len(ranked) > options.limit
        took = round((time.perf_counter() - started) * 1000, 2)
        return SearchResponse(text, self._name, self.root, tuple(hits), good, more, took, note)

    def _registered_name(self) -> str:
        known = (entry.name for entry in registry.projects() if entry.root == self.root)
        return next(known, os.path.basename(self.root) or self.root)

    def _open(self) -> SearchEngine:
        # Generations never change: the next question only looks whether another is published or this one is damaged.
        if self._engine is not None:
            opened = self._engine.snapshot.generation
            with contextlib.suppress(OSError):
                if opened.folder == resolve(compiled_dir(self.root)) and opened.is_untouched():
                    return self._engine
        generation = current(self.root)
        if generation is None:
            raise missing(self.root)
        from sage_code.search.engine import SearchEngine  # lazy: NumPy
        from sage_code.search.snapshot import SearchSnapshot

        self._engine = SearchEngine(SearchSnapshot(self.root), self._model_of(generation))
        self._name = self._registered_name()
        return self._engine

    def _model_of(self, generation: Generation) -> Embedder:
        """The model in use, when the index was made with it; otherwise one that knows no meaning."""
        if self._embedder is None or self._embedder.name != generation.model:
            from sage_code.embed.loading import load_embedder  # lazy: NumPy

            self._embedder = load_embedder(self._settings.code_embedding_model, "code", self._settings)
        if self._embedder.name == generation.model:
            return self._embedder
        from sage_code.search.words_only import WordsOnly

        return WordsOnly(generation.dim)
