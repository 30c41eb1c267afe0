"""The weights of the features: learned by `training/rank.py`, read from `weights.json`, and able to explain a score.

A score is a weighted sum. Questions by name and questions in words weigh the features differently. What people see is a
probability: that the question is about this project at all, times that this file answers it rather than the others.
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
# Which set of weights a kind of question takes.
GROUPS = {"symbol": "names", "path": "names", "error": "words", "snippet": "words", "words": "words"}


class About(NamedTuple):
    """When a question is about the project: by signs of its best answer, and above a line."""

    signs: dict[str, float]
    offset: float
    line: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Weights by group of questions, and what turns sums into probabilities."""

    weights: dict[str, NDArray[np.float32]]
    none: float  # the sum of an answer that is as likely as none at all
    slope: float
    offset: float
    by_meaning: About
    by_words: About  # for a model that is not at hand

    def scores(self, matrix: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
        """The weighted sums of the rows of `matrix`."""
        # Feature by feature: the order of a matrix product depends on where a row is, and so does its last digit.
        total: NDArray[np.float32] = np.add.reduce(np.ascontiguousarray(matrix.T) * self.weights[GROUPS[kind]][:, None])
        return total

    def shares(self, row: NDArray[np.float32], kind: str) -> dict[str, float]:
        """What each feature brings to the sum, largest first."""
        brought = row * self.weights[GROUPS[kind]]
        order = np.argsort(-np.abs(brought), kind="stable").tolist()
        return {NAMES[place]: float(brought[place]) for place in order if brought[place]}

    def leads(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """How far each of the best sums of the files is ahead of all others, and of none: log odds."""
        sums = np.append(scores.astype(np.float64), self.none)
        powers = np.exp(sums - sums.max())
        others = np.maximum(powers.sum() - powers, _TINY)
        leads: NDArray[np.float64] = np.log(np.maximum(powers, _TINY) / others)[:-1]
        return leads

    def about(self, row: NDArray[np.float32], lead: float) -> tuple[float, bool]:
        """How probable it is that the question is about the project, by its best answer; and whether that is enough."""
        signs = {"lead": lead, **dict(zip(NAMES, row.tolist(), strict=True))}
        judge = self.by_meaning if signs["file_dense"] else self.by_words
        chance = _logistic(judge.offset + sum(weight * signs[name] for name, weight in judge.signs.items()))
        return chance, chance >= judge.line

    def probability(self, lead: float) -> float:
        """That a file with this lead answers a question which is about the project."""
        return _logistic(self.slope * lead + self.offset)


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 30.0), -30.0)))


@cache
def learned() -> Ranking:
    """The ranking that is shipped."""
    with open(_FILE, "rb") as file:
        data = orjson.loads(file.read())
    return from_json(data)


def from_json(data: dict[str, Any]) -> Ranking:
    """A ranking from its file's content; a feature that is not named there weighs nothing."""
    weights = {
        group: np.array([named.get(name, 0.0) for name in NAMES], np.float32)
        for group, named in data["weights"].items()
    }
    known = data["calibration"]
    by_meaning, by_words = About(**known["by_meaning"]), About(**known["by_words"])
    return Ranking(weights, known["none"], known["slope"], known["offset"], by_meaning, by_words)
