"""Learn how the features of search are weighed, from labelled questions: `python -m training.rank --help`.

A linear model over the named features of `sage_code/search/features.py`, fitted so that the labelled files get the
largest share of a softmax over all candidates of a question. What is reported is cross-validated: the weights that
rank a repository's questions never saw that repository. The weights that are written come from all of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sage_code.embed import default_embedder
from sage_code.search.engine import SearchEngine
from sage_code.search.features import NAMES, PATH_FEATURES
from sage_code.search.query import parse_query
from sage_code.search.ranking import GROUPS
from sage_code.search.snapshot import SearchSnapshot

# Weights are drawn towards zero: few labels, many features that say nearly the same.
_PENALTY = 0.02
# What the group of questions by name may differ from the others.
_GROUP_PENALTY = 0.08
_ROUNDS = 3
_TOP = 10


@dataclass(frozen=True, slots=True)
class Question:
    """A labelled question with its candidates."""

    repo: str
    language: str
    category: str
    text: str
    group: str
    files: NDArray[np.int64]
    matrix: NDArray[np.float32]
    targets: tuple[int, ...]  # numbers of files; -1 for one that is no candidate


def gather(labels: Path, repos: Path, roots: Path, *, whole: bool, only: Sequence[str] = ()) -> list[Question]:
    """The candidates of every labelled question, from indexes below `roots`."""
    embedder = default_embedder()
    below = {repo["name"]: "" if whole else repo["benchmark_root"] for repo in json.loads(repos.read_text())}
    by_repo = defaultdict(list)
    for line in labels.read_text().splitlines():
        label = json.loads(line)
        by_repo[label["repo"]].append(label)
    questions = []
    for repo, asked in by_repo.items():
        if only and repo not in only:
            continue
        snapshot = SearchSnapshot(os.path.join(roots, repo, below[repo]).rstrip("/"))
        engine = SearchEngine(snapshot, embedder)
        for label in asked:
            query = parse_query(label["query"])
            found = engine.candidates(query)
            targets = []
            for target in label["relevant"] + label["secondary"]:
                path = target["repo_path"].removeprefix(below[repo]).lstrip("/")
                targets.append(snapshot.file_numbers.get(path, -1))
            questions.append(
                Question(
                    repo, label["language"], label["category"], label["query"], GROUPS[query.kind], found.files,
                    found.matrix, tuple(targets),
                )
            )  # fmt: skip
    return questions


def best_of_files(question: Question, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rows of the best chunk of each file, best first."""
    order = np.lexsort((question.files, -scores))
    _, first = np.unique(question.files[order], return_index=True)
    chosen: NDArray[np.int64] = order[np.sort(first)]
    return chosen


def ndcg(question: Question, scores: NDArray[np.float64]) -> float:
    """NDCG@10 of the ranking by files, as `shared/quality/score.py` counts it."""
    ranked = question.files[best_of_files(question, scores)][:_TOP].tolist()
    gains = sum(1 / math.log2(ranked.index(target) + 2) for target in set(question.targets) if target in ranked)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(_TOP, len(question.targets))))
    return gains / ideal


def design(question: Question, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The features of a question's candidates: once for all questions, once more for those of its group."""
    matrix = question.matrix.astype(np.float64) * ~hidden
    return np.concatenate([matrix, matrix * (question.group == "names")], axis=1)


def fit(questions: Sequence[Question], hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights under which the labelled files come first."""
    weights = np.zeros(2 * len(NAMES))
    weights[[NAMES.index(name) for name in ("body", "name", "dense", "defines", "file_body")]] = 1.0
    penalty = np.repeat([_PENALTY, _GROUP_PENALTY], len(NAMES))
    for _ in range(_ROUNDS):
        blocks, wanted = [], []
        for question in questions:
            rows = design(question, hidden)
            chosen = best_of_files(question, rows @ weights)
            relevant = np.isin(question.files[chosen], question.targets)
            if relevant.any():
                blocks.append(rows[chosen])
                wanted.append(relevant / relevant.sum())
        starts = np.cumsum([0, *(len(block) for block in blocks)])[:-1]
        matrix, share = np.concatenate(blocks), np.concatenate(wanted)
        sizes = np.diff(np.append(starts, len(matrix)))

        def loss(
            given: NDArray[np.float64],
            matrix: NDArray[np.float64] = matrix,
            share: NDArray[np.float64] = share,
            starts: NDArray[np.int64] = starts,
            sizes: NDArray[np.int64] = sizes,
        ) -> tuple[float, NDArray[np.float64]]:
            scores = matrix @ given
            scores -= np.repeat(np.maximum.reduceat(scores, starts), sizes)
            powers = np.exp(scores)
            sums = np.add.reduceat(powers, starts)
            chance = powers / np.repeat(sums, sizes)
            value = -(share * (scores - np.repeat(np.log(sums), sizes))).sum() / len(starts)
            gradient = matrix.T @ (chance - share) / len(starts)
            return value + (penalty * given**2).sum() / 2, gradient + penalty * given

        weights = minimize(loss, weights, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return weights


def cross_validated(questions: Sequence[Question], hidden: NDArray[np.bool_]) -> list[float]:
    """NDCG@10 of every question, by weights that never saw its repository."""
    values = [0.0] * len(questions)
    for repo in dict.fromkeys(question.repo for question in questions):
        weights = fit([question for question in questions if question.repo != repo], hidden)
        for place, question in enumerate(questions):
            if question.repo == repo:
                values[place] = ndcg(question, design(question, hidden) @ weights)
    return values


def by(questions: Sequence[Question], values: Sequence[float], field: str) -> dict[str, float]:
    """Means over repositories of their means, by a field of the questions."""
    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for question, value in zip(questions, values, strict=True):
        cells[getattr(question, field) if field else "all", question.repo].append(value)
    means: dict[str, list[float]] = defaultdict(list)
    for (name, _), found in cells.items():
        means[name].append(float(np.mean(found)))
    return {name: float(np.mean(found)) for name, found in sorted(means.items())}


def hide(names: Sequence[str]) -> NDArray[np.bool_]:
    """A mask of features that are not to be seen."""
    return np.array([name in names for name in NAMES])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--roots", type=Path, required=True, help="indexed checkouts, by the names of the repositories")
    parser.add_argument("--whole", action="store_true", help="the whole trees are indexed, not the labelled folders")
    parser.add_argument("--ablations", action="store_true", help="each feature left out in turn")
    parser.add_argument("--out", type=Path, help="write the weights here")
    given = parser.parse_args()
    questions = gather(given.labels, given.repos, given.roots, whole=given.whole)
    reach = np.mean([np.mean(np.isin(question.targets, question.files)) for question in questions])
    print(f"{len(questions)} questions; {reach:.3f} of the targets are candidates")
    values = cross_validated(questions, hide(()))
    print(f"cross-validated NDCG@10 {by(questions, values, '')['all']:.4f}")
    for field in ("category", "language"):
        print(" ", " ".join(f"{name} {value:.3f}" for name, value in by(questions, values, field).items()))
    blind = cross_validated(questions, hide(tuple(PATH_FEATURES)))
    print(f"path-blind {by(questions, blind, '')['all']:.4f}")
    if given.ablations:
        for name in NAMES:
            without = cross_validated(questions, hide((name,)))
            print(f"  without {name:16} {by(questions, without, '')['all']:.4f}")
    weights = fit(questions, hide(()))
    for number, name in enumerate(NAMES):
        print(f"  {name:16} words {weights[number]:7.3f} names {weights[number] + weights[number + len(NAMES)]:7.3f}")


if __name__ == "__main__":
    main()
