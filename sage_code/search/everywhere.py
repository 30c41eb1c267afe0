"""Searches the current project, the projects that `in:` names, or all registered projects and the fleet.

Each project answers from its own snapshot. Scores are probabilities, so the hits of several projects are merged by
score. A search in several projects does not bring their indexes up to date. Projects and repositories that the user of
a request may not read are not searched and not named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sage_code.errors import NotIndexed, SageError, UsageError
from sage_code.index import registry
from sage_code.index.freshness import Freshness
from sage_code.index.registry import ProjectEntry
from sage_code.paths import anybody_listens
from sage_code.search.query import Query
from sage_code.search.results import Hit, SearchResponse
from sage_code.search.service import NEAREST, Searcher
from sage_code.search.snippets import SearchOptions
from sage_code.serving.requester import may_read, readable_repositories
from sage_code.settings.loading import Settings, load_settings

if TYPE_CHECKING:
    from sage_code.search.fleet import FleetSearcher


class Searchers:
    """The searchers of a process: that of its own project, and those of other projects that were searched."""

    def __init__(self, root: str, settings: Settings, freshness: Freshness | None = None) -> None:
        """`freshness` is that of the process's own project, if it asks for more than searches."""
        self._root = root
        self._known = {root: Searcher(root, settings, freshness)}
        self._settings = settings
        self._fleet: FleetSearcher | None = None

    def search(self, query: Query, options: SearchOptions, *, everywhere: bool = False) -> SearchResponse:
        """Search this project, those that `in:` names, or all, with what plugins change about it."""
        if not anybody_listens():
            return self._search(query, options, everywhere)
        from sage_code.search.plugged import answered, asked  # lazy: most users have no plugins

        plugged = asked(query, options.limit, find_project)
        wider = options._replace(more=max(options.more, plugged.more))
        response = self._search(plugged.query, wider, everywhere)
        return answered(response, plugged, options, self._root, partial(self._hit_at, plugged.query, options))

    def _search(self, query: Query, options: SearchOptions, everywhere: bool) -> SearchResponse:
        """Search one project, or several and the fleet."""
        wanted = query.filters
        if everywhere or wanted.repositories or wanted.owners:
            fleet = self._fleet_of_store()
            known = _readable()
            # A project on this machine is the repository that has its name; its owner is not known.
            if wanted.repositories:
                known = [entry for entry in known if entry.name in wanted.repositories]
            roots = [] if wanted.owners else [entry.root for entry in known]
            if not roots and fleet is None:
                if wanted.repositories or wanted.owners:
                    raise NotIndexed("no such repository is indexed", "`sage fleet index` makes the index of a fleet")
                raise NotIndexed("no project is indexed yet", "run `sage index` in one")
            return self._merged(query, roots, options, fleet)
        else:
            roots = list(dict.fromkeys(find_project(name).root for name in query.filters.projects)) or [self._root]
        if len(roots) == 1:
            return self._searcher(roots[0]).search(query, options)
        return self._merged(query, roots, options)

    def _hit_at(
        self, query: Query, options: SearchOptions, root: str, file: str, line: int, score: float
    ) -> Hit | None:
        return self._searcher(root).hit_at(query, options, file, line, score)

    def _searcher(self, root: str) -> Searcher:
        if root not in self._known:
            self._known[root] = Searcher(root, load_settings(root))
        return self._known[root]

    def _fleet_of_store(self) -> FleetSearcher | None:
        """The searcher of the fleet, if the store may have one and the user may read of it."""
        if readable_repositories() == ():
            return None
        from sage_code.search.fleet import FleetSearcher, has_fleet  # lazy: most users have no fleet

        if self._fleet is None and has_fleet(self._settings):
            self._fleet = FleetSearcher(self._settings)
        return self._fleet

    def _merged(
        self, query: Query, roots: Sequence[str], options: SearchOptions, fleet: FleetSearcher | None = None
    ) -> SearchResponse:
        """The best hits of several projects; a project that cannot be searched is named in the note."""
        started = time.perf_counter()
        found: list[tuple[Hit, bool]] = []
        failed: list[str] = []
        more = False
        for root in roots:
            try:
                answer = self._searcher(root).search(query, options._replace(refresh=False))
            except UsageError:
                raise  # the query is wrong for all of them
            except SageError as error:
                failed.append(error.message)
                continue
            more |= answer.truncated
            found += [(replace(hit, project=answer.project, root=root), answer.good) for hit in answer.results]
        searched = f"{len(roots) - len(failed)} projects, as they were last indexed"
        if fleet is not None:
            try:
                answer = fleet.search(query, options)
            except UsageError:
                raise
            except NotIndexed:
                if not found and not roots:
                    raise
            except SageError as error:
                failed.append(error.message)
            else:
                searched += f", and the fleet: {answer.note}" if answer.note else ", and the fleet"
                more |= answer.truncated
                found += [(hit, answer.good) for hit in answer.results if not _is_among(hit, found)]
        good = any(flag for _, flag in found)
        # A project without a good hit answers with its nearest; if another has good hits these are left out.
        hits = sorted(
            (hit for hit, flag in found if flag or not good),
            key=lambda hit: (-hit.score, hit.root, hit.repository, hit.rank),
        )
        shown = hits[: options.limit + options.more if good else NEAREST]
        note = searched
        if failed:
            note += f"; left out: {'; '.join(failed)}"
        return SearchResponse(
            parsed=query,
            project="",
            root="",
            results=tuple(replace(hit, rank=rank) for rank, hit in enumerate(shown, 1)),
            good=good,
            truncated=good and (more or len(shown) < len(hits)),
            took_ms=round((time.perf_counter() - started) * 1000, 2),
            note=note,
        )


def _readable() -> list[ProjectEntry]:
    return [entry for entry in registry.projects() if may_read(entry.root)]


def _is_among(hit: Hit, found: Sequence[tuple[Hit, bool]]) -> bool:
    """Whether a hit of the fleet is one of a project on this machine, which may be newer."""
    name = hit.repository.rpartition("/")[2]
    return any((one.file, one.qualname, one.project) == (hit.file, hit.qualname, name) for one, _ in found)


def find_project(name: str) -> ProjectEntry:
    """The registered project with this name or folder; none or several are a usage error that lists the candidates."""
    known = _readable()
    folder = os.path.realpath(os.path.expanduser(name))
    found = [entry for entry in known if entry.root == folder] or [entry for entry in known if entry.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} projects are called {name[:80]!r}",
            f"give the folder of one: {', '.join(entry.root for entry in found)}",
        )
    names = ", ".join(sorted({entry.name for entry in known})[:20])
    raise UsageError(
        f"no indexed project is called {name[:80]!r}", f"there are: {names}" if known else "run `sage index` in one"
    )
