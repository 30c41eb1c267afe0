"""Orders the messages of a pool by how likely they answer a question.

The score is a weighted sum of signals (`features.py`), turned into a probability. The weights are in `weights.json`,
which `benchmarks/recall.py --train` writes. The order does not depend on the order of what is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from sage_code.embed.bundled import BundledEmbedder
from sage_code.memory.tiers.ranking.features import GROUPS, NAMES, signals
from sage_code.memory.tiers.ranking.meanings import Meanings
from sage_code.memory.tiers.ranking.pool import Candidate, Floats, Pool, Statistics
from sage_code.memory.tiers.ranking.question import Question

__all__ = ["Candidate", "Model", "Ranked", "Statistics", "certainty", "rank", "read_model"]

WEIGHTS_FILE = Path(__file__).with_name("weights.json")
# 1: one weight a signal, and the weights of `certainty`.
WEIGHTS_VERSION = 1
# Nothing is certain, and beyond this the exponential overflows.
_LIMIT = 30.0
# Of the signals that are shown; a BLAS rounds further ones as it likes.
_DECIMALS = 3
_comparing = Lock()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message and how likely it answers."""

    key: int
    score: float  # 0 to 1
    signals: dict[str, float]  # what each group of signals adds, compared with the mean of the pool
    best_part: int  # the number of the passage that fits best


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of the signals, and those of `certainty`, which give the logarithm of the odds."""

    weights: Floats
    certainty: NDArray[np.float64]


@lru_cache(maxsize=1)
def read_model() -> Model:
    """The weights that come with Sage."""
    stored = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
    weights = np.array([stored["weights"].get(name, 0.0) for name in NAMES], np.float32)
    return Model(weights, np.array(stored["certainty"], np.float64))


def certainty(totals: Floats, base: Floats) -> NDArray[np.float64]:
    """What makes a message of a pool certain, a row a message: its lead over the pool, and how well the pool fits.

    The sum of the signals alone is comparable within a question only. `base` is the share of the question that a
    message says; if the best message says little of it, no message answers.
    """
    z = totals.astype(np.float64)
    best = z.max()
    lead = z - best - np.log(np.exp(z - best).sum())
    return np.stack([lead, np.full(len(z), float(base.max())), np.ones(len(z))], axis=1)


def rank(
    question: Question, pool: Sequence[Candidate], statistics: Statistics, limit: int | None = None
) -> list[Ranked]:
    """The best messages of a pool that are allowed, also neighbours, best first; of equal ones the newer first."""
    if not pool:
        return []
    if not question.terms:  # nothing was asked that has words
        return [Ranked(one.key, 0.0, {}, 0) for one in sorted(pool, key=_newest_first) if one.allowed][:limit]
    with _comparing:
        meanings = _meanings()
        meanings.make_room()
        loaded = Pool(pool, meanings)
        found = signals(question, loaded, statistics, meanings)
    model = read_model()
    matrix = np.stack([found.columns[name] for name in NAMES], axis=1)
    totals = matrix @ model.weights
    odds = np.clip(certainty(totals, found.columns["base"]) @ model.certainty, -_LIMIT, _LIMIT)
    scores = 1 / (1 + np.exp(-odds))
    candidates = loaded.candidates
    rows = [row for row, one in enumerate(candidates) if one.allowed]
    rows.sort(key=lambda row: (-float(scores[row]), _newest_first(candidates[row])))
    rows = rows[:limit]
    by_group = np.round(((matrix[rows] - matrix.mean(axis=0)) * model.weights) @ _GROUP_OF_COLUMN, _DECIMALS)
    return [
        Ranked(
            candidates[row].key, float(scores[row]), dict(zip(GROUPS, shares, strict=True)), int(found.best_parts[row])
        )
        for row, shares in zip(rows, by_group.tolist(), strict=True)
    ]


# Sums the columns of each group.
_GROUP_OF_COLUMN = np.array([[name in names for names in GROUPS.values()] for name in NAMES], np.float32)


def _newest_first(one: Candidate) -> tuple[float, int]:
    return -one.created, -one.key


@lru_cache(maxsize=1)
def _meanings() -> Meanings:
    return Meanings(BundledEmbedder())
