"""Turns shared words and a cosine into the probability that a memory is about a question.

Models differ in the cosine of unrelated texts: 0.1 for one model, 0.6 for another. So each model embeds pairs of
related and unrelated texts once (`probes.txt`), and a cosine is compared with both distributions. The weights of words
and meaning were fitted on the documentation of other projects (`benchmarks/recall_quality.py --fit`).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sage_code.memory.index.passages import Floats

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder

_Numbers = TypeVar("_Numbers", float, Floats)  # of one memory, or of many
_PROBES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.txt")
# log-odds = BIAS + WORDS * share of the words + MEANING * evidence of the cosine
BIAS, WORDS, MEANING = -3.73, 4.47, 0.29
_MAX_EVIDENCE = 6.0  # of a cosine alone, in log-odds


@dataclass(frozen=True, slots=True)
class Calibration:
    """The distribution of a model's cosines: the means of unrelated and related pairs, and their common deviation."""

    unrelated: float
    related: float
    deviation: float

    def evidence(self, cosine: _Numbers) -> _Numbers:
        """The evidence of a cosine in log-odds: 0 where both kinds of pairs are equally likely."""
        slope = (self.related - self.unrelated) / self.deviation**2
        middle = (self.related + self.unrelated) / 2
        evidence: _Numbers = np.clip(slope * (cosine - middle), -_MAX_EVIDENCE, _MAX_EVIDENCE)
        return evidence

    def probability(self, words: _Numbers, cosine: _Numbers) -> _Numbers:
        """The probability that a memory is about a question, from the share of its words and the cosine."""
        evidence: Any = self.evidence(cosine)
        chance: _Numbers = 1 / (1 + np.exp(-(BIAS + WORDS * words + MEANING * evidence)))
        return chance


def probes() -> list[tuple[str, str]]:
    """Pairs of a question and a text that answers it."""
    with open(_PROBES, encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file if "\t" in line]
    return [(question, text) for question, text in pairs]


_known: dict[str, Calibration] = {}  # by the model's name: equal names mean equal vectors


def calibration_of(embedder: Embedder) -> Calibration:
    """The distribution of a model's cosines, measured once per process."""
    if embedder.name not in _known:
        _known[embedder.name] = _measured(embedder)
    return _known[embedder.name]


def _measured(embedder: Embedder) -> Calibration:
    """The distribution from the probes; each text with the question of another text is an unrelated pair."""
    pairs = probes()
    cosines = embedder.embed_query([question for question, _ in pairs]) @ embedder.embed_code([t for _, t in pairs]).T
    same = np.eye(len(pairs), dtype=bool)
    related, unrelated = cosines[same], cosines[~same]
    deviation = math.sqrt((float(related.var()) + float(unrelated.var())) / 2)
    # Keeps the slope positive for a model that cannot tell related from unrelated pairs.
    apart = max(float(related.mean()), float(unrelated.mean()) + 1e-6)
    return Calibration(float(unrelated.mean()), apart, max(deviation, 1e-3))
