"""Weighs the features of candidates with the weights of `weights.json`, which `training/rank.py` has learned.

A score is a weighted sum of features; queries by name and queries in words have different weights. The probability of
a hit is the probability that the query is about this project at all, times that this file answers it and not another.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from sage_code.search.features import NAMES

_FILE = os.path.join(os.path.dirname(__file__), "weights.json")
_TINY = 1e-9
# The set of weights that a kind of query takes.
GROUPS = {"symbol": "names", "path": "names", "error": "words", "snippet": "words", "words": "words", "report": "words"}


class RelevanceTest(NamedTuple):
    """Tells whether a query is about the project, by its best candidate; fields are named as in `weights.json`."""

    signs: dict[str, float]  # weights of the margin and of some features
    offset: float
    line: float  # the probability from which a query counts as being about the project


@dataclass(frozen=True, slots=True)
class Ranking:
    """Weights by group of queries, and what turns scores into probabilities."""

    weights: dict[str, NDArray[np.float32]]
    none: float  # the score at which an answer is as likely as no answer
    slope: float
    offset: float
    by_meaning: RelevanceTest
    by_words: RelevanceTest  # for a model that is not at hand

    def scores(self, matrix: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
        """The score of each candidate of `matrix`."""
        # Feature by feature: a matrix product adds in an order that depends on the row, and so does its last digit.
        total: NDArray[np.float32] = np.add.reduce(np.ascontiguousarray(matrix.T) * self.weights[GROUPS[kind]][:, None])
        return total

    def shares(self, features: NDArray[np.float32], kind: str) -> dict[str, float]:
        """What each feature adds to the score, largest first."""
        shares = features * self.weights[GROUPS[kind]]
        order = np.argsort(-np.abs(shares), kind="stable").tolist()
        return {NAMES[row]: float(shares[row]) for row in order if shares[row]}

    def margins(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """How far the best score of each file is ahead of all the others and of `none`: log odds."""
        sums = np.append(scores.astype(np.float64), self.none)
        powers = np.exp(sums - sums.max())
        others = np.maximum(powers.sum() - powers, _TINY)
        margins: NDArray[np.float64] = np.log(np.maximum(powers, _TINY) / others)[:-1]
        return margins

    def relevance(self, features: NDArray[np.float32], margin: float) -> tuple[float, bool]:
        """The probability that the query is about the project, by its best candidate, and whether that is enough."""
        signs = {"lead": margin, **dict(zip(NAMES, features.tolist(), strict=True))}
        test = self.by_meaning if signs["file_dense"] else self.by_words
        probability = _logistic(test.offset + sum(weight * signs[name] for name, weight in test.signs.items()))
        return probability, probability >= test.line

    def probability(self, margin: float) -> float:
        """The probability that a file with this margin answers a query that is about the project."""
        return _logistic(self.slope * margin + self.offset)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 30.0), -30.0)))


@cache
def learned() -> Ranking:
    """The ranking that is shipped."""
    with open(_FILE, "rb") as file:
        data = orjson.loads(file.read())
    return from_json(data)


def from_json(data: dict[str, Any]) -> Ranking:
    """A ranking from the content of its file; a feature without a weight there counts 0."""
    weights = {
        group: np.array([named.get(name, 0.0) for name in NAMES], np.float32)
        for group, named in data["weights"].items()
    }
    known = data["calibration"]
    by_meaning, by_words = RelevanceTest(**known["by_meaning"]), RelevanceTest(**known["by_words"])
    return Ranking(weights, known["none"], known["slope"], known["offset"], by_meaning, by_words)
