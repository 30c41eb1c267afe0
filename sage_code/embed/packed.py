"""The files of the bundled model: their names, and the facts in `model.json`. Loads no NumPy."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache

from sage_code.errors import ModelError

MODEL_FOLDER = os.path.join(os.path.dirname(__file__), "model")
FACTS, VOCABULARY, ROWS, WEIGHTS = "model.json", "vocabulary.txt", "rows.npy", "weights.npy"
# 1: int8 rows; uint16 weights for first lines, other lines and queries, with the rows' scales in them
FORMAT = 1


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """What is known about a packed model without loading it."""

    name: str  # with a hash of the weights, so that vectors of two trainings never mix
    dim: int
    words: int
    buckets: int
    size_bytes: int


@cache
def packed_facts(folder: str = MODEL_FOLDER) -> PackedFacts | None:
    """The facts of the model in `folder`, or None when no weights have been packed."""
    try:
        with open(os.path.join(folder, FACTS), encoding="utf-8") as file:
            facts = json.load(file)
    except FileNotFoundError:
        return None
    if facts["format"] != FORMAT:
        raise ModelError(f"{folder} holds a model of format {facts['format']}, not {FORMAT}", "install Sage again")
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in (FACTS, VOCABULARY, ROWS, WEIGHTS))
    return PackedFacts(facts["name"], facts["dim"], facts["words"], facts["buckets"], size)
