"""Weighs the features of candidates with the weights of `weights.json`, which `training/rank.py` has learned.

The score of a candidate is a small network over its features: a weighted sum, plus a few units that are active for
some combinations of features only, such as those of long questions. The probability of a hit is the probability that
the query is about this project at all, times that this file answers it and not another.

The same features give the same score to the last bit, whatever else is scored with them: inputs and weights are whole
numbers, small enough for exact sums, because a matrix product adds in an order that depends on the row.
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
# Features are counted in 256ths of their spread, up to 64 spreads; weights in 4096ths; what units give in 1024ths.
_INPUT, _LARGEST, _WEIGHT, _UNIT = 256.0, 64.0, 4096.0, 1024.0

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Network:
    """A weighted sum of features and the units beside it; the arrays hold whole numbers."""

    mean: Doubles
    spread: Doubles
    linear: Doubles  # of each feature
    inner: Doubles  # of each unit, the weight of each feature
    inner_bias: Doubles  # in units of a feature times a weight
    outer: Doubles  # of each unit, what its activity adds

    def inputs(self, matrix: NDArray[np.float32]) -> Doubles:
        """The features as whole numbers."""
        scaled = (matrix.astype(np.float64) - self.mean) / self.spread
        whole: Doubles = np.rint(np.clip(scaled, -_LARGEST, _LARGEST) * _INPUT)
        return whole

    def scores(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of each candidate."""
        inputs = self.inputs(matrix)
        activity = np.rint(np.maximum(inputs @ self.inner.T + self.inner_bias, 0) * (_UNIT / (_INPUT * _WEIGHT)))
        total = inputs @ self.linear / (_INPUT * _WEIGHT) + activity @ self.outer / (_UNIT * _WEIGHT)
        return np.asarray(total, np.float32)

    def shares(self, features: NDArray[np.float32]) -> tuple[float, Doubles]:
        """The score of a candidate that is usual in everything, and what each feature adds to that.

        A unit's activity is divided among the features in the proportion in which they move it: all of it is divided
        (these are its integrated gradients along the straight line from the usual candidate to this one).
        """
        inputs = self.inputs(features[None, :])[0] / _INPUT
        moved = self.inner @ inputs / _WEIGHT
        start = self.inner_bias / (_INPUT * _WEIGHT)
        active = np.maximum(start + moved, 0) - np.maximum(start, 0)
        part = np.divide(active, moved, out=np.zeros_like(moved), where=np.abs(moved) > _TINY)
        shares: Doubles = inputs * (self.linear + (self.outer * part) @ self.inner / _WEIGHT) / _WEIGHT
        # What is left is the score of the usual candidate, give or take the rounding of the units.
        return float(self.scores(features[None, :])[0]) - float(shares.sum()), shares


class RelevanceTest(NamedTuple):
    """Tells whether a query is about the project, by its best candidate; fields are named as in `weights.json`."""

    signs: dict[str, float]  # weights of the margin and of some features
    offset: float
    line: float  # the probability from which a query counts as being about the project


@dataclass(frozen=True, slots=True)
class Ranking:
    """What scores candidates, and what turns scores into probabilities."""

    network: Network
    none: float  # the score at which an answer is as likely as no answer
    slope: float
    offset: float
    by_meaning: RelevanceTest
    by_words: RelevanceTest  # for a model that is not at hand

    def scores(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """The score of each candidate of `matrix`."""
        return self.network.scores(matrix)

    def shares(self, features: NDArray[np.float32]) -> tuple[float, dict[str, float]]:
        """The score of a usual candidate, and what each feature adds to it, largest first."""
        usual, shares = self.network.shares(features)
        order = np.argsort(-np.abs(shares), kind="stable").tolist()
        return usual, {NAMES[row]: float(shares[row]) for row in order if shares[row]}

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
    """A ranking from the content of its file; a feature that is not there counts nothing."""
    net = data["network"]
    column = {name: number for number, name in enumerate(net["features"])}
    rows = [column.get(name) for name in NAMES]

    def ordered(values: list[float], missing: float, scale: float) -> Doubles:
        return np.array([missing if row is None else round(values[row] * scale) / scale for row in rows], np.float64)

    def whole(values: list[float], scale: float) -> Doubles:
        return np.array([round(value * scale) for value in values], np.float64)

    network = Network(
        mean=ordered(net["mean"], 0.0, 1e6),
        spread=ordered(net["spread"], 1.0, 1e6),
        linear=ordered(net["linear"], 0.0, _WEIGHT) * _WEIGHT,
        inner=np.array([ordered(unit, 0.0, _WEIGHT) * _WEIGHT for unit in net["inner"]], np.float64),
        inner_bias=whole(net["inner_bias"], _INPUT * _WEIGHT),
        outer=whole(net["outer"], _WEIGHT),
    )
    known = data["calibration"]
    by_meaning, by_words = RelevanceTest(**known["by_meaning"]), RelevanceTest(**known["by_words"])
    return Ranking(network, known["none"], known["slope"], known["offset"], by_meaning, by_words)
