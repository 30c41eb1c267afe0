"""What a score means: from shared words and a cosine to the probability that a memory is about a question.

Models differ in what they give to texts that have nothing in common: 0.1 for one, 0.6 for the next. So each model is
asked once about pairs of texts that belong together and pairs that do not (`probes.txt`), and a cosine is read between
the two. How much words and meaning then say together was fitted on documentation nobody here wrote
(`benchmarks/recall_quality.py --fit`).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.embed.protocol import Embedder
    from sage_code.memory.index.passages import Floats

_PROBES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.txt")
# log-odds = BIAS + WORDS * share of the words + MEANING * evidence of the cosine
BIAS, WORDS, MEANING = -3.73, 4.47, 0.29
_MOST = 6.0  # no cosine alone says more than this, in log-odds


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a model's cosines spread: the means of unrelated and related pairs, and the deviation that both have."""

    unrelated: float
    related: float
    deviation: float

    def evidence(self, cosine: float) -> float:
        """What a cosine says, in log-odds: 0 where both kinds of pairs are equally likely."""
        slope = (self.related - self.unrelated) / self.deviation**2
        middle = (self.related + self.unrelated) / 2
        return min(max(slope * (cosine - middle), -_MOST), _MOST)

    def probability(self, words: float, cosine: float) -> float:
        """That a memory is about the question, from the share of its words and the cosine."""
        odds = BIAS + WORDS * words + MEANING * self.evidence(cosine)
        return 1 / (1 + math.exp(-odds))

    def probabilities(self, words: Floats, cosines: Floats) -> Floats:
        """The same for many memories at once."""
        import numpy as np  # lazy: describing a score needs none

        slope = (self.related - self.unrelated) / self.deviation**2
        middle = (self.related + self.unrelated) / 2
        evidence = np.clip(slope * (cosines - middle), -_MOST, _MOST)
        chances: Floats = 1 / (1 + np.exp(-(BIAS + WORDS * words + MEANING * evidence)))
        return chances


def probes() -> list[tuple[str, str]]:
    """Pairs of a question and a text that answers it."""
    with open(_PROBES, encoding="utf-8") as file:
        pairs = [tuple(line.rstrip("\n").split("\t")) for line in file if "\t" in line]
    return [(question, text) for question, text in pairs]


_known: dict[str, Calibration] = {}  # by the model's name: equal names mean equal vectors


def calibration_of(embedder: Embedder) -> Calibration:
    """How a model's cosines spread; it is asked once a process."""
    if embedder.name not in _known:
        _known[embedder.name] = _ask(embedder)
    return _known[embedder.name]


def _ask(embedder: Embedder) -> Calibration:
    """Every text against every other question than its own is an unrelated pair."""
    import numpy as np  # lazy: describing a score needs none

    pairs = probes()
    cosines = embedder.embed_query([question for question, _ in pairs]) @ embedder.embed_code([t for _, t in pairs]).T
    same = np.eye(len(pairs), dtype=bool)
    related, unrelated = cosines[same], cosines[~same]
    deviation = math.sqrt((float(related.var()) + float(unrelated.var())) / 2)
    # A model that tells nothing apart says nothing.
    apart = max(float(related.mean()), float(unrelated.mean()) + 1e-6)
    return Calibration(float(unrelated.mean()), apart, max(deviation, 1e-3))
