"""Searches the fleet: all repositories that `sage fleet index` has put into the store's table.

Candidates come from the table's indexes, the ranking is that of a project. A `FleetSearcher` keeps the table open for
the next question, and looks from time to time whether there is a newer version of it. A table in a remote store is
read from a copy on this machine (`store.remote.mirror`), unless it is too large.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sage_code.errors import NotIndexed, SageError, StoreError
from sage_code.paths import sage_home
from sage_code.search.results import FOLDED_BELOW, SearchResponse
from sage_code.search.service import NEAREST
from sage_code.serving.requester import readable_repositories
from sage_code.store.remote.address import address_of

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.search.fleet_candidates import FleetCandidates
    from sage_code.search.fleet_snapshot import FleetSnapshot
    from sage_code.search.query import Query
    from sage_code.search.results import Hit
    from sage_code.search.snippets import FileText, SearchOptions
    from sage_code.search.soft import WordMeanings
    from sage_code.settings.loading import Settings
    from sage_code.store.fleet_index import FleetStatistics
    from sage_code.store.remote.address import Address

# Seconds after which a newer version of the table is looked for.
_LOOKED_AFTER = 10.0


class FleetSearcher:
    """Answers queries about the fleet of a store."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._embedder: Embedder | None = None
        self._meanings: WordMeanings | None = None
        self._opened: tuple[FleetCandidates, FleetStatistics] | None = None
        self._version, self._looked = ("", 0), 0.0
        self._note = ""

    def search(self, query: Query, options: SearchOptions) -> SearchResponse:
        """The best hits of all repositories; without a good one the nearest few."""
        started = time.perf_counter()
        from sage_code.search.engine import SearchEngine, word_meanings  # lazy: NumPy
        from sage_code.search.fleet_snapshot import FleetNearness, FleetSnapshot
        from sage_code.search.hits import HitMaker
        from sage_code.search.snippets import FileText

        embedder = self._model()
        candidates, statistics = self._open(self._table(embedder))
        if self._meanings is None:
            self._meanings = word_meanings(embedder)
        texts = [query.title, query.text] if query.title_terms != query.terms else [query.text]
        with _explained("searching", self.uri):
            files = candidates.files(query, embedder.embed_query(texts), readable_repositories())
        snapshot = FleetSnapshot(files, embedder.name, embedder.dim, statistics)

        def read(path: str) -> str:
            return snapshot.by_path[path].text

        def source(path: str) -> FileText:
            return FileText(read(path))

        dense = FleetNearness(snapshot, statistics)
        engine = SearchEngine(snapshot, embedder, read=read, dense=dense, meanings=self._meanings)
        ranked = engine.rank(query, options.limit + options.more + 1) if files else []
        from sage_code.discover.rules import discover_rules  # lazy: only snippets of projects use them

        make = HitMaker(engine, query, discover_rules(self._settings), options, source)
        least = FOLDED_BELOW * ranked[0].probability if ranked and options.folds else 0.0
        good = bool(ranked) and (ranked[0].good or ranked[0].is_found(query))
        shown = ranked[: options.limit + options.more if good else min(options.limit, NEAREST)]
        hits = [
            _of_repository(make.hit(rank, found, is_folded=found.probability < least), snapshot)
            for rank, found in enumerate(shown, 1)
        ]
        more = good and len(ranked) > len(shown)
        took = round((time.perf_counter() - started) * 1000, 2)
        return SearchResponse(query, "", "", tuple(hits), good, more, took, self._note)

    @property
    def uri(self) -> str:
        """The store of the fleet."""
        return self._settings.store_uri or os.path.join(sage_home(), "codebase", "lancedb")

    def _model(self) -> Embedder:
        if self._embedder is None:
            from sage_code.embed.loading import load_embedder  # lazy: NumPy

            self._embedder = load_embedder(self._settings.code_embedding_model, "code", self._settings)
        return self._embedder

    def _table(self, embedder: Embedder) -> Address:
        from sage_code.store.fleet_table import fleet_table  # lazy: Arrow
        from sage_code.store.lance import table_name

        name = fleet_table(table_name(embedder.name, embedder.dim))
        return address_of(self.uri, self._settings).below(f"{name}.lance")

    def _open(self, table: Address) -> tuple[FleetCandidates, FleetStatistics]:
        """The table in its newest version, looked up now and then."""
        now = time.monotonic()
        if self._opened is not None and now - self._looked < _LOOKED_AFTER:
            return self._opened
        import lance  # lazy: a second and more

        from sage_code.search.fleet_candidates import FleetCandidates
        from sage_code.store.fleet_index import read_statistics

        with _explained("opening the fleet's table", self.uri):
            if table.is_remote:
                table, self._note = self._mirrored(table)
            dataset = lance.dataset(table.uri, storage_options=table.options)
            self._looked = now
            version = (table.uri, dataset.version)
            if self._opened is None or version != self._version:
                statistics = read_statistics(table, self._model().dim)
                self._opened, self._version = (FleetCandidates(dataset, statistics), statistics), version
        return self._opened

    def _mirrored(self, table: Address) -> tuple[Address, str]:
        """Where a remote table is to be read, here or in its store, and what is to be said about that."""
        from sage_code.store.fleet_index import statistics_of  # lazy: only remote fleets need it
        from sage_code.store.remote.mirror import Mirror

        store = address_of(self.uri, self._settings)
        names = [os.path.basename(one.uri) for one in (table, statistics_of(table))]
        found = Mirror(store, names, round(self._settings.fleet_cache_gb * 1e9)).current()
        return found.place.below(names[0]) if found.place else table, found.note


def has_fleet(settings: Settings) -> bool:
    """Whether the store may have a fleet: a local one is looked at, a remote one has to be asked."""
    uri = settings.store_uri or os.path.join(sage_home(), "codebase", "lancedb")
    if "://" in uri:
        return True
    try:
        with os.scandir(uri) as entries:
            return any(entry.name.startswith("fleet") for entry in entries)
    except OSError:
        return False


def _of_repository(hit: Hit, snapshot: FleetSnapshot) -> Hit:
    """The hit with its repository, and with its path there."""
    file = snapshot.by_path[hit.file]
    return replace(hit, file=file.path, repository=file.repository, owner=file.owner)


@contextlib.contextmanager
def _explained(doing: str, uri: str) -> Iterator[None]:
    """Turn an error of Lance into one that says what to do; a table that is not there is `NotIndexed`."""
    try:
        yield
    except SageError:
        raise
    except (ValueError, OSError, RuntimeError) as error:
        text = str(error).strip() or type(error).__name__
        if "was not found" in text or "Not found" in text:
            raise NotIndexed(f"the store {uri} has no fleet", "`sage fleet index` makes one") from error
        hint = "check `store_uri` and the network; projects on this machine can be searched without the fleet"
        raise StoreError(f"{doing} failed in {uri}: {text.splitlines()[0][:300]}", hint) from error
