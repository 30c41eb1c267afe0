"""Learn the weights of the features of search from labelled questions: `python -m training.rank --help`.

A linear model over the named features of `sage_code/search/features.py`, fitted so that the labelled files get the
largest share of a softmax over all candidates of a question. The report is cross-validated: the weights that rank the
questions of a repository are learned without that repository. The weights that are written come from all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from sage_code.embed import default_embedder
from sage_code.search.engine import SearchEngine
from sage_code.search.features import NAMES, PATH_FEATURES
from sage_code.search.query import parse_query
from sage_code.search.ranking import GROUPS, Ranking, RelevanceTest
from sage_code.search.snapshot import SearchSnapshot

# Weights are drawn towards what is expected, mostly zero: few labels, many features that say nearly the same.
# Cross-validated NDCG@10 over the labelled folders, by penalty: 0.02 0.878, 0.005 0.884, 0.001 0.891.
_PENALTY = 0.001
# Expected weights of path classes that hardly any labelled repository has: elsewhere such code is rarely the answer.
_EXPECTED = {"is_vendored": -1.5, "is_generated": -1.5, "is_compat": -1.5, "is_superseded": -1.5}
# What the group of questions by name may differ from the others.
_GROUP_PENALTY = 0.002
_ROUNDS = 3
_TOP = 10
# Questions about other repositories that each repository is asked: what finding nothing looks like.
_FOREIGN = 10
# Of the real questions at most this share may be answered with "no good match".
_REFUSED = 0.01
# A first answer that only this share of the real questions falls below is as likely as none at all.
_NONE = 0.05
# What tells whether a question is about the project, beside the margin of its first answer.
_SIGNS = {"by_meaning": ("file_cover", "dense_relative", "file_dense"), "by_words": ("file_cover",)}
_SIGN_PENALTY = 1e-4
_SEED = 7
# Weights that no label can teach: no labelled question is a path, since the answer is obvious.
_GIVEN = {"path_match": 6.0}


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


def gather(labels: Path, repos: Path, roots: Path, *, whole: bool) -> list[Question]:
    """The candidates of every labelled question, from indexes below `roots`; and of some that are about another
    repository, which have no targets."""
    embedder = default_embedder()
    below = {repo["name"]: "" if whole else repo["benchmark_root"] for repo in json.loads(repos.read_text())}
    asked = [json.loads(line) for line in labels.read_text().splitlines()]
    rng = random.Random(_SEED)
    questions = []
    for repo, folder in below.items():
        snapshot = SearchSnapshot(os.path.join(roots, repo, folder).rstrip("/"))
        engine = SearchEngine(snapshot, embedder)
        own = [label for label in asked if label["repo"] == repo]
        for label in own + rng.sample([label for label in asked if label["repo"] != repo], _FOREIGN):
            query = parse_query(label["query"])
            found = engine.candidates(query)
            targets = []
            for target in label["relevant"] + label["secondary"] if label["repo"] == repo else ():
                path = target["repo_path"].removeprefix(folder).lstrip("/")
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
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(_TOP, len(question.targets))))
    return gains / ideal


def design(question: Question, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The features of a question's candidates: one copy for all questions, and one for those of its group."""
    matrix = question.matrix.astype(np.float64) * ~hidden
    return np.concatenate([matrix, matrix * (question.group == "names")], axis=1)


def fit(questions: Sequence[Question], hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The weights that rank the labelled files first."""
    weights = np.zeros(2 * len(NAMES))
    weights[[NAMES.index(name) for name in ("body", "name", "dense", "defines", "file_body")]] = 1.0
    penalty = np.repeat([_PENALTY, _GROUP_PENALTY], len(NAMES))
    expected = np.array([*(_EXPECTED.get(name, 0.0) for name in NAMES), *[0.0] * len(NAMES)])
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
            """The loss and its gradient."""
            scores = matrix @ given
            scores -= np.repeat(np.maximum.reduceat(scores, starts), sizes)
            powers = np.exp(scores)
            sums = np.add.reduceat(powers, starts)
            chance = powers / np.repeat(sums, sizes)
            value = -(share * (scores - np.repeat(np.log(sums), sizes))).sum() / len(starts)
            gradient = matrix.T @ (chance - share) / len(starts)
            away = given - expected
            return value + (penalty * away**2).sum() / 2, gradient + penalty * away

        weights = minimize(loss, weights, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return weights


def cross_validated(questions: Sequence[Question], hidden: NDArray[np.bool_]) -> list[float]:
    """NDCG@10 of every question, with weights learned without its repository."""
    values = [0.0] * len(questions)
    for repo in dict.fromkeys(question.repo for question in questions):
        weights = fit([question for question in questions if question.repo != repo], hidden)
        for number, question in enumerate(questions):
            if question.repo == repo:
                values[number] = ndcg(question, design(question, hidden) @ weights)
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


def hide(names: Collection[str]) -> NDArray[np.bool_]:
    """A mask of the features to leave out."""
    return np.array([name in names for name in NAMES])


def calibrate(
    questions: Sequence[Question], foreign: Sequence[Question], weights: NDArray[np.float64]
) -> dict[str, object]:
    """The calibration of scores as probabilities (see `Ranking`), and the thresholds below which there is no answer."""
    asked = [*questions, *foreign]
    real = np.array([bool(question.targets) for question in asked])
    sums = [design(question, hide(())) @ weights for question in asked]
    best = [best_of_files(question, found) for question, found in zip(asked, sums, strict=True)]
    tops = np.array([found[files[0]] for found, files in zip(sums, best, strict=True)])
    none = round(float(np.quantile(tops[real], _NONE)), 4)
    unset = RelevanceTest({}, 0.0, 0.0)
    ranking = Ranking({}, none, 0.0, 0.0, unset, unset)
    margins = [ranking.margins(found[files].astype(np.float32)) for found, files in zip(sums, best, strict=True)]
    # Which of the files ahead is right, of the questions that have an answer.
    ahead = np.concatenate([margin[:_TOP] for margin, answered in zip(margins, real, strict=True) if answered])
    right = np.concatenate(
        [np.isin(question.files[files[:_TOP]], question.targets) for question, files in zip(asked, best, strict=True)
         if question.targets]
    )  # fmt: skip
    slope, offset = _logistic(ahead[:, None], right)
    rows = np.array([question.matrix[files[0]] for question, files in zip(asked, best, strict=True)], np.float64)
    first = np.array([margin[0] for margin in margins])
    judges = {}
    for name, signs in _SIGNS.items():
        columns = np.stack([first, *(rows[:, NAMES.index(sign)] for sign in signs)], axis=1)
        *found, away = _logistic(columns, real)
        chances = 1 / (1 + np.exp(-(columns @ found + away)))
        line = float(np.quantile(chances[real], _REFUSED))
        caught = np.mean(chances[~real] < line)
        print(f"{name}: {_REFUSED:.0%} of real questions refused and {caught:.0%} of those about another repository")
        known = {sign: round(float(value), 4) for sign, value in zip(("lead", *signs), found, strict=True)}
        judges[name] = {"signs": known, "offset": round(float(away), 4), "line": round(line, 4)}
        if name == "by_meaning":
            about = chances
    shown = 1 / (1 + np.exp(-(slope * first + offset))) * about
    hit = np.array([bool(np.isin(q.files[files[0]], q.targets)) for q, files in zip(asked, best, strict=True)])
    for low, high in pairwise((0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)):
        inside = (shown >= low) & (shown < high)
        print(f"  first answers of {low:.1f} to {high:.1f}: {inside.sum()}, right {hit[inside].mean():.2f}")
    return {"none": none, "slope": round(float(slope), 4), "offset": round(float(offset), 4), **judges}


def _logistic(columns: NDArray[np.float64], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights of the columns, and an offset, under which the labels are most likely."""
    rows = np.concatenate([columns, np.ones((len(columns), 1))], axis=1)

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = rows @ given
        value = float(np.mean(np.logaddexp(0, logits) - labels * logits))
        gradient = rows.T @ (1 / (1 + np.exp(-logits)) - labels) / len(rows)
        own = np.append(given[:-1], 0.0)
        return value + _SIGN_PENALTY * float(own @ own), gradient + 2 * _SIGN_PENALTY * own

    found: NDArray[np.float64] = minimize(loss, np.zeros(rows.shape[1]), jac=True).x
    return found


def write(path: Path, weights: NDArray[np.float64], calibration: dict[str, object]) -> None:
    """The weights as a file that people can read."""
    common, more = weights[: len(NAMES)], weights[len(NAMES) :]
    groups = {"words": common, "names": common + more}
    named = {
        group: {name: round(float(value), 4) for name, value in zip(NAMES, values, strict=True)} | _GIVEN
        for group, values in groups.items()
    }
    path.write_text(json.dumps({"weights": named, "calibration": calibration}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--roots", type=Path, required=True, help="checkouts whose labelled folders are indexed")
    parser.add_argument("--whole-roots", type=Path, help="checkouts that are indexed whole: twice the questions")
    parser.add_argument("--ablations", action="store_true", help="each feature left out in turn")
    parser.add_argument("--out", type=Path, help="write the weights here")
    given = parser.parse_args()
    sets = {"labelled folders": gather(given.labels, given.repos, given.roots, whole=False)}
    if given.whole_roots:
        sets["whole trees"] = gather(given.labels, given.repos, given.whole_roots, whole=True)
    questions = [question for part in sets.values() for question in part if question.targets]
    foreign = [question for part in sets.values() for question in part if not question.targets]
    values = dict(zip(map(id, questions), cross_validated(questions, hide(())), strict=True))
    blind = dict(zip(map(id, questions), cross_validated(questions, hide(PATH_FEATURES)), strict=True))
    for name, part in sets.items():
        own = [question for question in part if question.targets]
        reach = np.mean([np.mean(np.isin(question.targets, question.files)) for question in own])
        total, unseen = (by(own, [found[id(question)] for question in own], "")["all"] for found in (values, blind))
        print(f"{name}: NDCG@10 {total:.4f}, path-blind {unseen:.4f}; {reach:.3f} of the targets are candidates")
        for field in ("category", "language"):
            cells = by(own, [values[id(question)] for question in own], field)
            print("  " + " ".join(f"{cell} {value:.3f}" for cell, value in cells.items()))
    if given.ablations:
        for name in NAMES:
            without = cross_validated(questions, hide((name,)))
            print(f"  without {name:16} {by(questions, without, '')['all']:.4f}")
    weights = fit(questions, hide(()))
    calibration = calibrate(questions, foreign, weights)
    if given.out:
        write(given.out, weights, calibration)


if __name__ == "__main__":
    main()
