"""Searches one project: brings its index up to date, ranks, and makes the hits.

Keeps the model and the mapped snapshot for the next query of the process, and opens them again when another generation
is published. Damaged compiled files are made again from the store.
"""

from __future__ import annotations

import contextlib
import os
import time
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from sage_code.compiled.inventory import missing, reading
from sage_code.compiled.published import current
from sage_code.discover.rules import discover_rules
from sage_code.errors import IndexCorrupt
from sage_code.files.atomic import resolve
from sage_code.files.looking import Looking
from sage_code.index import registry
from sage_code.index.freshness import Freshness
from sage_code.paths import compiled_dir
from sage_code.search.results import FOLDED_BELOW, SearchResponse
from sage_code.search.snippets import SearchOptions, read_text
from sage_code.settings.loading import load_settings

if TYPE_CHECKING:
    from sage_code.compiled.published import Generation
    from sage_code.embed.protocol import Embedder
    from sage_code.search.engine import SearchEngine
    from sage_code.search.query import Query
    from sage_code.search.results import Hit
    from sage_code.settings.loading import Settings

# Hits that are shown when none is good.
NEAREST = 3
_OTHER_MODEL = "the index was made with another model: until `sage index` only words count"


class Searcher:
    """Answers queries about one project."""

    def __init__(self, root: str, settings: Settings, freshness: Freshness | None = None) -> None:
        self.root, self._settings = root, settings
        self._engine: SearchEngine | None = None
        self._name = ""
        self._embedder: Embedder | None = None
        self._freshness = freshness or Freshness(root, lambda: load_settings(root), Looking(root))

    def search(self, query: Query, options: SearchOptions) -> SearchResponse:
        """The best hits; without a good one the nearest few."""
        started = time.perf_counter()
        if self._engine is None:
            # Loads NumPy while this process waits for git to say what has changed.
            Thread(target=import_module, args=("numpy",), daemon=True).start()
        note = self._freshness.ensure() if options.refresh else ""
        try:
            with reading(self.root):
                return self._answer(query, options, note, started)
        except IndexCorrupt:
            # A search does not index a project that this user has not indexed.
            if not options.refresh or all(entry.root != self.root for entry in registry.projects()):
                raise
        self._engine = None  # it maps damaged files
        note = self._freshness.mend()
        with reading(self.root):
            return self._answer(query, options, note, started)

    def _answer(self, query: Query, options: SearchOptions, note: str, started: float) -> SearchResponse:
        """Ranks, makes the hits and says what is to be known about them."""
        engine = self._open()
        if self._embedder is not None and self._embedder.name != engine.snapshot.generation.model:
            note = note or _OTHER_MODEL
        from sage_code.search.hits import HitMaker  # lazy: NumPy

        ranked = engine.rank(query, options.limit + options.more + 1)
        make = HitMaker(engine, query, discover_rules(self._settings), options)
        least = FOLDED_BELOW * ranked[0].probability if ranked and options.folds else 0.0
        good = bool(ranked) and (ranked[0].good or ranked[0].is_found(query))
        # An explanation needs the numbers of every candidate; otherwise one beyond the limit is made if it is shown.
        limit = options.limit + (options.more if options.explain else 0)
        hits = [
            make.hit(rank, found, is_folded=found.probability < least)
            for rank, found in enumerate(ranked[: limit if good else min(limit, NEAREST)], 1)
        ]
        if options.explain:
            from sage_code.search.calls import with_calls  # lazy: only an explanation pays for the code graph

            hits = with_calls(engine.snapshot, hits)
        if options.more and good:
            following = enumerate(ranked[limit : options.limit + options.more], limit + 1)
            hits += [make.candidate(rank, found, is_folded=found.probability < least) for rank, found in following]
        if options.lines and not all(hit.snippet or hit.whole for hit in hits):
            note = note or "some of these files cannot be read any more: run `sage index`"
        more = good and len(ranked) > options.limit + options.more
        took = round((time.perf_counter() - started) * 1000, 2)
        return SearchResponse(query, self._name, self.root, tuple(hits), good, more, took, note)

    def hit_at(self, query: Query, options: SearchOptions, file: str, line: int, score: float) -> Hit | None:
        """A line of an indexed file as a hit that no search has found; None if there is no such line."""
        from sage_code.search.hits import HitMaker  # lazy: NumPy

        with reading(self.root):
            engine = self._open()
            make = HitMaker(engine, query, discover_rules(self._settings), options._replace(explain=False))
            return make.hit_at(file, line, score)

    def _registered_name(self) -> str:
        known = (entry.name for entry in registry.projects() if entry.root == self.root)
        return next(known, os.path.basename(self.root) or self.root)

    def _open(self) -> SearchEngine:
        """The engine of the published generation."""
        # A generation never changes, so an open engine is used until another is published or its files are damaged.
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

        snapshot, rules = SearchSnapshot(self.root), discover_rules(self._settings)

        def read(path: str) -> str:
            return read_text(self.root, snapshot.generation.folder, rules, path).text

        self._engine = SearchEngine(snapshot, self._model_of(generation), read=read)
        self._name = self._registered_name()
        return self._engine

    def _model_of(self, generation: Generation) -> Embedder:
        """The model of the settings if the index was made with it, otherwise one that ranks by words alone."""
        if self._embedder is None or self._embedder.name != generation.model:
            from sage_code.embed.loading import load_embedder  # lazy: NumPy

            self._embedder = load_embedder(self._settings.code_embedding_model, "code", self._settings)
        if self._embedder.name == generation.model:
            return self._embedder
        from sage_code.search.words_only import WordsOnly

        return WordsOnly(generation.dim)
