"""Learns the weights of `sage_code/memory/context/weights.py` and prints them.

    python benchmarks/summary_weights.py --dialogsum FILE --locomo FILE

Ridge regression over the sentences of the half of each set that may be looked at. What is learned is how much of a
sentence, with its speaker, is in the reference: the share of its words, plus six times that of its pairs of words.
Features and targets are taken relative to the mean of their dialogue, and both sets weigh the same. With four folds of
that half, six times the pairs was best of 0, 1, 2, 4, 6 and 8; so was a penalty of 3 of 0.5, 3 and 20.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from rouge import tokens_of
from summary_data import TUNED, Dialogue, dialogsum, locomo

from sage_code.memory.context.scoring import FEATURES, features_of
from sage_code.memory.context.utterances import Utterance, utterances_of

_PAIRS = 6.0
_PENALTY = 3.0
# The sentences of a set count as so many.
_SENTENCES = 1_000


def target(one: Utterance, reference: Sequence[str]) -> float:
    """How much of a sentence is in the reference."""
    own = tokens_of(f"{one.speaker}: {one.text}")
    words = (Counter(own) & Counter(reference)).total() / max(len(own), 1)
    pairs = (Counter(pairwise(own)) & Counter(pairwise(reference))).total() / max(len(own) - 1, 1)
    return words + _PAIRS * pairs


def learn(sets: Sequence[Sequence[Dialogue]]) -> dict[str, float]:
    """The weights of the features."""
    every, wanted, weights = [], [], []
    for dialogues in sets:
        found = []
        for dialogue in dialogues:
            said = utterances_of(dialogue.turns)
            if said:
                reference = tokens_of(dialogue.reference)
                rows = np.array(features_of(said, dialogue.words))
                targets = np.array([target(one, reference) for one in said])
                found.append((rows - rows.mean(axis=0), targets - targets.mean()))
        count = sum(len(rows) for rows, _ in found)
        every += [rows for rows, _ in found]
        wanted += [targets for _, targets in found]
        weights += [np.full(len(rows), _SENTENCES / count) for rows, _ in found]
    x, y, w = np.vstack(every), np.concatenate(wanted), np.concatenate(weights)[:, None]
    solved = np.linalg.solve((x * w).T @ x + _PENALTY * np.eye(len(FEATURES)), (x * w).T @ y)
    return dict(zip(FEATURES, map(float, solved), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogsum", type=Path, required=True, help="dialogsum.dev.jsonl")
    parser.add_argument("--locomo", type=Path, required=True, help="locomo10.json")
    given = parser.parse_args()
    sets = [[one for one in read if one.half == TUNED] for read in (dialogsum(given.dialogsum), locomo(given.locomo))]
    for name, weight in learn(sets).items():
        print(f'    "{name}": {weight:.3f},')


if __name__ == "__main__":
    main()
