"""Learns how the features of search are weighed, from labelled questions of many kinds.

    python -m training.rank DATA/gathered/*.npz --report            # cross-validated over repositories
    python -m training.rank DATA/gathered/*.npz --out sage_code/search/weights.json

A small network over the named features (`sage_code/search/ranking.py` runs it), fitted so that the labelled files get
the largest share of a softmax over all candidates of a question. Of a file without a labelled function the chunk that
scores best counts, which is found in a second round. The report is cross-validated: the weights that rank the
questions of a repository have not seen that repository, in any set. Repositories that are held out are never learned
from; the report has them under a name of their own. `training/rank_gather.py` makes the files.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize  # type: ignore[import-untyped]

from sage_code.search.features import NAMES, PATH_FEATURES
from sage_code.search.ranking import Network, Ranking, RelevanceTest, from_json
from training.rank_gather import IN_FUNCTION

# Units beside the weighted sum, of each network; networks of several seeds are joined into one, which gives their mean.
UNITS = 40
SEEDS = 3
_RATE, _DECAY, _BATCH = 2e-3, 0.3, 64
# The share of the features that a question does without while it is learned from, so that no feature decides alone.
_DROPPED = 0.15
# Questions that are shown in all, by round; fewer questions are shown more often.
_SHOWN = 240_000
_MOST_EPOCHS, _LEAST_EPOCHS = 40, 6
# Candidates of a question that are learned from: the right ones, and the others that score best.
_CANDIDATES = 96
# Of a file with a labelled function, its other chunks count this much.
_SAME_FILE = 0.4
# How much a question counts, by the first word of its kind. Few people have labelled questions, and few wrote reports;
# many made questions are alike.
_WEIGHTS = {"labelled": 8.0, "written": 4.0, "report": 2.0, "commit": 1.0, "web": 10.0}
_MADE_WEIGHT = 0.5
# A feature spreads at least this much, so that one that is nearly always the same is not blown up.
_LEAST_SPREAD = 0.05
# A feature with this spread is always as usual.
_HIDDEN = 1e9
_FOLDS = 6
# Questions of this kind are all asked of one corpus: they are divided by number, not by repository.
_ONE_CORPUS = "web"
# Weights that labels cannot teach: few projects keep an older version beside the newer one, bundles beside their
# sources, or copies of other projects, and a reader opens the others.
_GIVEN = {"is_superseded": -5.0, "is_generated": -5.0, "is_vendored": -4.0}
_TOP = 10
# Of the questions that people ask, and whose answer is among the first files, at most this share may be answered with
# "no good match"; the subject of a commit was not written to find anything.
_REFUSED = 0.01
_ANSWERED = 5
_ASKED = frozenset({"labelled", "written", "report", "web", "doc", "message"})
# A first answer that only this share of the real questions falls below is as likely as none at all.
_NONE = 0.05
# What tells whether a question is about the project, beside the margin of its first answer.
_SIGNS = {
    "by_meaning": ("file_cover", "cover", "dense_relative", "file_dense", "run_share", "defines", "asked_words"),
    "by_words": ("file_cover", "cover", "run_share", "defines", "asked_words"),
}
_SIGN_PENALTY = 1e-4

_WORK: list[Callable[[int], Any]] = []

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one file, with their candidates: those of question n are rows `at[n]` to `at[n + 1]`."""

    name: str
    asked: list[dict[str, Any]]
    at: Ints
    matrix: Floats
    files: Ints
    marks: NDArray[np.uint8]

    def rows(self, number: int) -> slice:
        """The rows of a question's candidates."""
        return slice(int(self.at[number]), int(self.at[number + 1]))


def load(path: Path) -> Questions:
    """The questions of a file that `rank_gather.py` has written; features that it lacks are 0."""
    with np.load(path, allow_pickle=False) as data:
        known = {str(name): column for column, name in enumerate(data["names"])}
        matrix = np.zeros((len(data["matrix"]), len(NAMES)), np.float32)
        for column, name in enumerate(NAMES):
            if name in known:
                matrix[:, column] = data["matrix"][:, known[name]]
        asked = [json.loads(str(line)) for line in data["questions"]]
        for number, question in enumerate(asked):
            if question["kind"] == _ONE_CORPUS:
                question["repo"] = f"{question['repo']} {number % _FOLDS}"
        at = np.concatenate([[0], np.cumsum(data["count"])]).astype(np.int64)
        return Questions(path.stem, asked, at, matrix, data["files"].astype(np.int64), data["mark"])


def weight_of(question: dict[str, Any]) -> float:
    """How much a question counts."""
    return _WEIGHTS.get(question["kind"].split()[0], _MADE_WEIGHT)


def best_of_files(files: Ints, scores: Floats) -> Ints:
    """The rows of the best chunk of each file, best first."""
    order = np.lexsort((files, -scores))
    _, first = np.unique(files[order], return_index=True)
    chosen: Ints = order[np.sort(first)]
    return chosen


class Net(torch.nn.Module):
    """The network of `sage_code.search.ranking.Network`, to be trained."""

    def __init__(self, mean: Floats, spread: Floats, units: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(mean))
        self.register_buffer("spread", torch.from_numpy(spread))
        self.linear = torch.nn.Linear(len(mean), 1, bias=False)
        self.inner = torch.nn.Linear(len(mean), units)
        self.outer = torch.nn.Linear(units, 1, bias=False)
        torch.nn.init.zeros_(self.linear.weight)
        torch.nn.init.zeros_(self.outer.weight)

    def forward(self, features: Any) -> Any:
        """The scores of candidates."""
        return self.of_inputs((features - self.mean) / self.spread)

    def of_inputs(self, inputs: Any) -> Any:
        """The scores of candidates, whose features are counted in spreads from the mean."""
        return (self.linear(inputs) + self.outer(torch.relu(self.inner(inputs)))).squeeze(-1)

    def scores(self, matrix: Floats) -> Floats:
        """The scores of the rows of a matrix."""
        with torch.no_grad():
            parts = [self(torch.from_numpy(matrix[at : at + 100_000])).numpy() for at in range(0, len(matrix), 100_000)]
        found: Floats = np.concatenate([np.empty(0, np.float32), *parts])
        return found


@dataclass(frozen=True, slots=True)
class Batches:
    """Questions to learn from, each with the same number of candidates."""

    features: NDArray[np.float16]
    shares: Floats  # what each candidate should get of the softmax
    there: NDArray[np.bool_]
    weights: Floats


def batches(sets: Sequence[Questions], chosen: Sequence[Sequence[int]], scores: Sequence[Floats]) -> Batches:
    """The chosen questions of each set that have an answer among their candidates."""
    features, shares, there, weights = [], [], [], []
    for questions, numbers, own in zip(sets, chosen, scores, strict=True):
        for number in numbers:
            rows = questions.rows(number)
            wanted, drop = _wanted(questions.files[rows], questions.marks[rows], own[rows])
            if not wanted.any():
                continue
            kept = np.flatnonzero(~drop)
            kept = kept[np.argsort(-(own[rows][kept] + 1e6 * (wanted[kept] > 0)), kind="stable")][:_CANDIDATES]
            row = np.zeros((_CANDIDATES, len(NAMES)), np.float16)
            row[: len(kept)] = questions.matrix[rows][kept]
            share = np.zeros(_CANDIDATES, np.float32)
            share[: len(kept)] = wanted[kept] / wanted[kept].sum()
            features.append(row)
            shares.append(share)
            there.append(np.arange(_CANDIDATES) < len(kept))
            weights.append(weight_of(questions.asked[number]))
    return Batches(np.stack(features), np.stack(shares), np.stack(there), np.array(weights, np.float32))


def _wanted(files: Ints, marks: NDArray[np.uint8], scores: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """How much each candidate is wanted, and which ones are left out: other chunks of a file that answers."""
    wanted, drop = np.zeros(len(files), np.float32), np.zeros(len(files), dtype=bool)
    for file in np.unique(files[marks > 0]):
        rows = np.flatnonzero(files == file)
        labelled = marks[rows] == IN_FUNCTION
        if labelled.any():
            wanted[rows] = np.where(labelled, 1.0, _SAME_FILE)
        else:
            best = rows[np.argmax(scores[rows])]
            drop[rows], drop[best], wanted[best] = True, False, 1.0
    return wanted, drop


def train(data: Batches, hidden: NDArray[np.bool_], seed: int = 1) -> Net:
    """A network that ranks the wanted candidates first, without the hidden features."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    known = data.features[data.there].astype(np.float32)
    spread = np.maximum(known.std(axis=0), _LEAST_SPREAD)
    spread[hidden] = _HIDDEN
    net = Net(known.mean(axis=0), spread.astype(np.float32), UNITS)
    fields: Any = net
    inputs = (torch.from_numpy(data.features.astype(np.float32)) - fields.mean) / fields.spread
    missing = torch.from_numpy(~data.there)
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    count = len(data.features)
    epochs = max(_LEAST_EPOCHS, min(_MOST_EPOCHS, _SHOWN // count))
    batch_count = -(-count // _BATCH)
    for step in range(epochs * batch_count):
        if step % batch_count == 0:
            parts = np.array_split(rng.permutation(count), batch_count)
        rows = parts[step % batch_count]
        rate = _RATE * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / (epochs * batch_count)))
        for group in optimiser.param_groups:
            group["lr"] = rate
        shown = inputs[rows]
        if _DROPPED:  # the same features for all candidates of a question
            shown = shown * torch.from_numpy(
                (rng.random((len(rows), 1, shown.shape[2])) >= _DROPPED).astype(np.float32)
            )
        scores = net.of_inputs(shown).masked_fill(missing[rows], -1e4)
        weights = torch.from_numpy(data.weights[rows])
        losses = -(torch.from_numpy(data.shares[rows]) * torch.log_softmax(scores, 1)).sum(1)
        loss = (losses * weights).sum() / weights.sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return net


def fit(sets: Sequence[Questions], learns: Callable[[dict[str, Any]], bool], hidden: NDArray[np.bool_]) -> Net:
    """The network that the questions teach which `learns` allows."""
    chosen = [
        [number for number, question in enumerate(part.asked) if question["targets"] and learns(question)]
        for part in sets
    ]
    start = [NAMES.index(name) for name in ("body_relative", "dense_relative", "whole_body", "file_defines")]
    scores = [part.matrix[:, start].sum(axis=1) for part in sets]
    first = train(batches(sets, chosen, scores), hidden)
    data = batches(sets, chosen, [first.scores(part.matrix) for part in sets])
    return joined([train(data, hidden, seed) for seed in range(1, SEEDS + 1)])


def joined(nets: Sequence[Net]) -> Net:
    """A network whose scores are the mean of those of `nets`, which were trained on the same data."""
    parts: Sequence[Any] = nets
    whole: Any = Net(parts[0].mean.numpy(), parts[0].spread.numpy(), sum(len(net.inner.bias) for net in parts))
    with torch.no_grad():
        whole.linear.weight[:] = sum(net.linear.weight for net in parts) / len(parts)
        whole.inner.weight[:] = torch.cat([net.inner.weight for net in parts])
        whole.inner.bias[:] = torch.cat([net.inner.bias for net in parts])
        whole.outer.weight[:] = torch.cat([net.outer.weight for net in parts], dim=1) / len(parts)
        for name, weight in _GIVEN.items():
            column = NAMES.index(name)
            if whole.spread[column] < _HIDDEN:
                whole.mean[column], whole.spread[column], whole.linear.weight[0, column] = 0.0, 1.0, weight
                whole.inner.weight[:, column] = 0.0
    joined_net: Net = whole
    return joined_net


def cross_validated(sets: Sequence[Questions], hidden: NDArray[np.bool_]) -> list[Floats]:
    """The scores of all candidates, by networks that have not learned from their repository."""
    repos = sorted({question["repo"] for part in sets for question in part.asked if not question["held_out"]})
    random.Random(1).shuffle(repos)
    fold = {repo: number % _FOLDS for number, repo in enumerate(repos)}
    found = [np.zeros(len(part.matrix), np.float32) for part in sets]

    def score(number: int) -> list[list[tuple[slice, Floats]]]:
        net = fit(sets, lambda one: not one["held_out"] and fold[one["repo"]] != number, hidden)
        return [
            [
                (part.rows(row), net.scores(part.matrix[part.rows(row)]))
                for row, question in enumerate(part.asked)
                if fold.get(question["repo"], 0) == number
            ]
            for part in sets
        ]

    for scored in in_processes(score, _FOLDS):
        for scores, own in zip(found, scored, strict=True):
            for rows, values in own:
                scores[rows] = values
    return found


def in_processes(work: Callable[[int], Any], count: int) -> Iterator[Any]:
    """The results of `work` for 0 up to `count`, from forked processes, which share the data."""
    _WORK[:] = [work]  # a forked process finds it here: a closure cannot be sent to it
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_do_work, range(count))


def _do_work(number: int) -> Any:
    return _WORK[0](number)


def judge(part: Questions, scores: Floats) -> list[dict[str, float]]:
    """Of each question with an answer: NDCG@10 over files, hits, and whether the function is shown."""
    rows = []
    for number, question in enumerate(part.asked):
        if not question["targets"]:
            continue
        own = part.rows(number)
        files, marks, values = part.files[own], part.marks[own], scores[own]
        best = best_of_files(files, values)
        right = np.isin(files[best], files[marks > 0])
        places = np.flatnonzero(right)
        first = int(places[0]) if len(places) else len(files) + 100
        gain = float((1 / np.log2(places[places < _TOP] + 2)).sum())
        ideal = sum(1 / math.log2(place + 2) for place in range(min(_TOP, question["files"])))
        row = {"ndcg": gain / ideal, "first": first < 1, "5": first < 5, "10": first < 10, "mrr": 1 / (first + 1)}
        if any(target.get("start") for target in question["targets"]) and len(best):
            shown = np.flatnonzero(files == files[best[0]])
            row["function"] = bool((marks[shown] == IN_FUNCTION).any())
            row["function first"] = bool(marks[best[0]] == IN_FUNCTION)
        rows.append({"number": number, "reach": question["reached"] / question["files"], **row})
    return rows


def report(part: Questions, rows: Sequence[dict[str, float]], title: str) -> None:
    """Print means over repositories of their means, by kind and language."""
    fields = ("ndcg", "mrr", "first", "5", "10", "reach", "function first", "function")

    def means(chosen: Sequence[dict[str, float]]) -> str:
        cells = []
        for field in fields:
            by_repo = defaultdict(list)
            for row in chosen:
                if field in row:
                    by_repo[part.asked[int(row["number"])]["repo"]].append(row[field])
            if by_repo:
                cells.append(f"{field} {np.mean([np.mean(values) for values in by_repo.values()]):.3f}")
        return f"{len(chosen):5} " + ", ".join(cells)

    print(f"{title} {part.name}: {means(rows)}")
    for key in ("kind", "language"):
        groups = defaultdict(list)
        for row in rows:
            question = part.asked[int(row["number"])]
            groups[f"{question[key]}{' (held out)' if question['held_out'] else ''}"].append(row)
        for name, own in sorted(groups.items()) if len(groups) > 1 else ():
            print(f"    {name:28} {means(own)}")


def hide(names: frozenset[str]) -> NDArray[np.bool_]:
    """A mask of the features to leave out."""
    return np.array([name in names for name in NAMES])


def calibrate(sets: Sequence[Questions], scores: Sequence[Floats], network: Network) -> dict[str, object]:
    """What turns scores into probabilities (see `Ranking`), and the lines below which there is no answer. The scores
    are cross-validated ones: those of the shipped weights fit their own questions too well."""
    asked, margins, tops, rows, right_first, answered = [], [], [], [], [], []
    unset = RelevanceTest({}, 0.0, 0.0)
    firsts: list[tuple[Questions, int, Ints, Floats]] = []
    for part, own in zip(sets, scores, strict=True):
        for number, question in enumerate(part.asked):
            values = own[part.rows(number)]
            if len(values):
                best = best_of_files(part.files[part.rows(number)], values)
                firsts.append((part, number, best, values[best]))
                asked.append(question)
                tops.append(float(values[best[0]]))
    real = np.array([bool(question["targets"]) for question in asked])
    none = round(float(np.quantile(np.array(tops)[real], _NONE)), 4)
    ranking = Ranking(network, none, 0.0, 0.0, unset, unset)
    ahead, right = [], []
    for part, number, best, values in firsts:
        found = ranking.margins(values)
        margins.append(found[0])
        rows.append(part.matrix[part.rows(number)][best[0]])
        files, marks = part.files[part.rows(number)], part.marks[part.rows(number)]
        hits = np.isin(files[best], files[marks > 0])
        right_first.append(bool(hits[0]))
        answered.append(bool(hits[:_ANSWERED].any()))
        if part.asked[number]["targets"]:
            ahead.append(found[:_TOP])
            right.append(hits[:_TOP])
    slope, offset = _logistic(np.concatenate(ahead)[:, None], np.concatenate(right))
    first, columns, judges = np.array(margins), np.array(rows, np.float64), {}
    asking = real & np.array(answered) & np.array([question["kind"].split()[0] in _ASKED for question in asked])
    told = ~real | np.array(answered)  # a question without an answer in sight teaches nothing about refusing
    for name, signs in _SIGNS.items():
        known = np.stack([first, *(columns[:, NAMES.index(sign)] for sign in signs)], axis=1)
        *slopes, away = _logistic(known[told], real[told])
        chances = 1 / (1 + np.exp(-(known @ slopes + away)))
        line = float(np.quantile(chances[asking], _REFUSED))
        share, foreign = np.mean(chances[real] < line), np.mean(chances[~real] < line)
        print(
            f"{name}: refused {_REFUSED:.0%} of people's questions, {share:.0%} of all, {foreign:.0%} of foreign ones"
        )
        weights = {sign: round(float(value), 4) for sign, value in zip(("lead", *signs), slopes, strict=True)}
        judges[name] = {"signs": weights, "offset": round(float(away), 4), "line": round(line, 4)}
        if name == "by_meaning":
            about = chances
    shown = 1 / (1 + np.exp(-(slope * first + offset))) * about
    hit = np.array(right_first)
    for low, high in pairwise((0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.01)):
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


def packed(net: Net) -> dict[str, Any]:
    """The network as `weights.json` has it."""

    def rounded(values: Any, digits: int = 4) -> Any:
        return np.round(np.asarray(values.detach(), np.float64), digits).tolist()

    return {
        "features": list(NAMES),
        "mean": rounded(net.mean),
        "spread": rounded(net.spread),
        "linear": rounded(net.linear.weight[0]),
        "inner": rounded(net.inner.weight),
        "inner_bias": rounded(net.inner.bias),
        "outer": rounded(net.outer.weight[0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gathered", type=Path, nargs="+")
    parser.add_argument("--report", action="store_true", help="print what the single signals reach, and path-blind")
    parser.add_argument("--out", type=Path, help="write the weights here")
    given = parser.parse_args()
    torch.set_num_threads(1)  # the same sums on every machine
    sets = [load(path) for path in given.gathered]
    scores = cross_validated(sets, hide(frozenset()))
    blind = cross_validated(sets, hide(PATH_FEATURES)) if given.report else []
    for number, part in enumerate(sets):
        report(part, judge(part, scores[number]), "all features")
        if given.report:
            report(part, judge(part, blind[number]), "path-blind")
            for name in ("body_relative", "whole_body", "dense_relative", "whole_dense"):
                report(part, judge(part, part.matrix[:, NAMES.index(name)]), f"{name} alone")
    net = fit(sets, lambda question: not question["held_out"], hide(frozenset()))
    network = packed(net)
    unset = {"signs": {}, "offset": 0.0, "line": 0.0}
    empty = {"none": 0.0, "slope": 0.0, "offset": 0.0, "by_meaning": unset, "by_words": unset}
    ranking = from_json({"network": network, "calibration": empty})
    calibration = calibrate(sets, scores, ranking.network)
    if given.out:
        given.out.write_text(json.dumps({"network": network, "calibration": calibration}) + "\n")


if __name__ == "__main__":
    main()
