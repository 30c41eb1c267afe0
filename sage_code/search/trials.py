"""Asks labelled queries of indexed projects: as users do, with another ranking, or with all paths hidden."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import orjson
from numpy.typing import NDArray

from sage_code.embed.loading import load_embedder
from sage_code.errors import NotIndexed, UsageError
from sage_code.paths import find_root
from sage_code.search.engine import SearchEngine
from sage_code.search.evaluation import K, Label, PathRule, Score, ask_all, locations
from sage_code.search.query import parse_query
from sage_code.search.ranking import Ranking
from sage_code.search.service import Searcher
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.snippets import SearchOptions
from sage_code.settings.loading import load_settings
from sage_code.values import Location

Ask = Callable[[str], Sequence[Location]]


@dataclass(frozen=True, slots=True)
class Setup:
    """Where the repositories of the labels are, and how the queries are asked."""

    roots: str  # a folder with a checkout of each repository; the project itself if the labels name no repository
    below: Mapping[str, str]  # by repository, its folder that is indexed; empty for all of it
    strict: bool = False
    path_blind: bool = False
    ranking: Ranking | None = None  # None: the shipped one

    def root(self, repo: str) -> str:
        """The indexed folder of a repository."""
        if not repo:
            return find_root(self.roots)
        return os.path.realpath(os.path.join(self.roots, repo, self.below.get(repo, "")))


class PathBlindSnapshot(SearchSnapshot):
    """A snapshot that hides the paths of its files."""

    hides_paths = True

    def path(self, file: int) -> str:  # noqa: ARG002
        """Nothing."""
        return ""

    def paths(self, files: NDArray[np.int64]) -> list[str]:
        """Nothing, for each."""
        return [""] * len(files)


def run(labels: Sequence[Label], setup: Setup, done: Callable[[str], None] | None = None) -> list[Score]:
    """The scores of all queries, repository by repository; `done` is called with the name of each finished one."""
    by_repo: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_repo[label.repo].append(label)
    scores: list[Score] = []
    for repo, asked in by_repo.items():
        rule = PathRule(setup.strict, setup.below.get(repo, ""))
        scores += ask_all(asked, _asker(setup, repo), rule)
        if done is not None:
            done(repo)
    return scores


def read_folders(path: str) -> dict[str, str]:
    """By repository, the folder that its labels are about."""
    try:
        with open(path, "rb") as file:
            return {repo["name"]: repo.get("benchmark_root", "") for repo in orjson.loads(file.read())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{path} is no list of repositories: {error}", 'it holds [{"name": "...", "benchmark_root": "src"}]'
        ) from error


def _asker(setup: Setup, repo: str) -> Ask:
    """The function that searches a repository as the setup says."""
    root = setup.root(repo)
    if not os.path.isdir(root):
        raise UsageError(f"there is no {root}", "check out the repositories below --roots, by their names")
    settings = load_settings(root)
    if not setup.path_blind and setup.ranking is None:
        searcher = Searcher(root, settings)
        options = SearchOptions(limit=K, refresh=False)

        def search(text: str) -> Sequence[Location]:
            return locations(searcher.search(parse_query(text), options).results)

        return search
    return ranked(root, PathBlindSnapshot if setup.path_blind else SearchSnapshot, setup.ranking)


def ranked(root: str, kind: type[SearchSnapshot] = SearchSnapshot, ranking: Ranking | None = None) -> Ask:
    """A function that ranks without making hits; its results have their true paths, even if the snapshot hides them."""
    snapshot = kind(root)
    settings = load_settings(root)
    embedder = load_embedder(settings.code_embedding_model, "code", settings)
    if embedder.name != snapshot.generation.model:
        raise NotIndexed(f"{root} was indexed with another model", f"run `sage index {root}` first")
    engine = SearchEngine(snapshot, embedder, ranking)

    def ask(text: str) -> Sequence[Location]:
        return [
            Location(
                SearchSnapshot.path(snapshot, found.file),
                int(snapshot.chunk_start[found.chunk]),
                int(snapshot.chunk_end[found.chunk]),
            )
            for found in engine.rank(parse_query(text), K)
        ]

    return ask
