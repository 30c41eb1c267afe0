"""Search in the project where one stands, in named ones, or in all that are registered.

Scores are probabilities, so the answers of several projects are merged by them. Each project answers from its own
snapshot; what several projects hold is searched as it was last indexed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace

from sage_code.errors import NotIndexed, SageError, UsageError
from sage_code.index import registry
from sage_code.index.registry import ProjectEntry
from sage_code.search.query import parse_query
from sage_code.search.results import Hit, SearchResponse
from sage_code.search.service import NEAREST, Searcher, SearchOptions
from sage_code.settings.loading import Settings, load_settings


class Searchers:
    """The searchers of a process: the one of its own project, and those of others once they were asked."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root = root
        self._known = {root: Searcher(root, settings)}

    def search(self, text: str, options: SearchOptions, *, everywhere: bool = False) -> SearchResponse:
        """Answer from this project, from those that `in:` names, or from all."""
        names = parse_query(text).filters.projects
        if everywhere:
            roots = [entry.root for entry in registry.projects()]
            if not roots:
                raise NotIndexed("no project is indexed yet", "run `sage index` in one")
        else:
            roots = list(dict.fromkeys(find_project(name).root for name in names)) or [self._root]
        if len(roots) == 1 and not everywhere:
            return self._of(roots[0]).search(text, options)
        return self._merged(text, roots, options)

    def _of(self, root: str) -> Searcher:
        if root not in self._known:
            self._known[root] = Searcher(root, load_settings(root))
        return self._known[root]

    def _merged(self, text: str, roots: Sequence[str], options: SearchOptions) -> SearchResponse:
        started = time.perf_counter()
        found: list[tuple[Hit, bool]] = []
        silent: list[str] = []
        more = False
        for root in roots:
            try:
                answer = self._of(root).search(text, replace(options, refresh=False))
            except UsageError:
                raise  # the question itself, the same for all
            except SageError as error:
                silent.append(error.message)
                continue
            more |= answer.truncated
            found += [(replace(hit, project=answer.project, root=root), answer.good) for hit in answer.results]
        good = any(flag for _, flag in found)
        # A project without a good answer offers its nearest; beside good ones of others they are of no use.
        hits = sorted(
            (hit for hit, flag in found if flag or not good), key=lambda hit: (-hit.score, hit.root, hit.rank)
        )
        shown = hits[: options.limit if good else NEAREST]
        note = f"{len(roots) - len(silent)} projects, as they were last indexed"
        if silent:
            note += f"; left out: {'; '.join(silent)}"
        return SearchResponse(
            query=text,
            project="",
            root="",
            results=tuple(replace(hit, rank=rank) for rank, hit in enumerate(shown, 1)),
            good=good,
            truncated=good and (more or len(shown) < len(hits)),
            took_ms=round((time.perf_counter() - started) * 1000, 2),
            note=note,
        )


def find_project(name: str) -> ProjectEntry:
    """The registered project with this name or folder; several or none is a usage error that names what there is."""
    known = registry.projects()
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
