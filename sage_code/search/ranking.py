"""The weights of the features: learned by `training/rank.py`, read from `weights.json`, and able to explain a score.

A score is a weighted sum. Questions by name and questions in words weigh the features differently. The calibration
turns the sum into the probability that the chunk answers the question.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache

import numpy as np
import orjson
from numpy.typing import NDArray

from sage_code.search.features import NAMES

_FILE = os.path.join(os.path.dirname(__file__), "weights.json")
# Which set of weights a kind of question takes.
GROUPS = {"symbol": "names", "path": "names", "error": "words", "snippet": "words", "words": "words"}


@dataclass(frozen=True, slots=True)
class Ranking:
    """Weights by group of questions, and the calibration."""

    weights: dict[str, NDArray[np.float32]]
    slope: float
    offset: float
    line: float  # below this nothing good was found

    def scores(self, matrix: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
        """The weighted sums of the rows of `matrix`."""
        return matrix @ self.weights[GROUPS[kind]]

    def shares(self, row: NDArray[np.float32], kind: str) -> dict[str, float]:
        """What each feature brings to the sum, largest first."""
        brought = row * self.weights[GROUPS[kind]]
        order = np.argsort(-np.abs(brought), kind="stable").tolist()
        return {NAMES[place]: float(brought[place]) for place in order if brought[place]}

    def probability(self, score: float) -> float:
        """A sum as a number between 0 and 1."""
        return 1 / (1 + math.exp(-max(min(self.slope * score + self.offset, 30.0), -30.0)))


@cache
def learned() -> Ranking:
    """The ranking that is shipped."""
    with open(_FILE, "rb") as file:
        data = orjson.loads(file.read())
    return from_json(data)


def from_json(data: dict[str, dict[str, dict[str, float]]]) -> Ranking:
    """A ranking from its file's content; a feature that is not named there weighs nothing."""
    weights = {
        group: np.array([named.get(name, 0.0) for name in NAMES], np.float32)
        for group, named in data["weights"].items()
    }
    calibration = data["calibration"]
    return Ranking(weights, **calibration)  # type: ignore[arg-type]
