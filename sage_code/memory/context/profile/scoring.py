"""How likely something lasting was said: of a clause and of a message, by the weights that were learned for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sage_code.memory.context.profile.clauses import Clause, clauses_of, question_before
from sage_code.memory.context.profile.features import features_of
from sage_code.memory.context.profile.weights import CONSTANT, WEIGHTS
from sage_code.memory.context.summary import Spoken

# The probability from which on a message counts as holding a fact. A wrong fact does more harm than a missing one, so
# this is where the precision on the even dialogues of MSC is 0.90 (`benchmarks/profiles.py`).
TURN_LEAST = 0.68
# Log odds beyond this say nothing more.
_SURE = 12.0


def durable_score(message: Spoken, before: Sequence[Spoken] = ()) -> float:
    """The probability that a message says something lasting about its author; 0 for what no person wrote."""
    if message.role != "user":
        return 0.0
    asked = question_before(message, before)
    none = 1.0
    for clause in clauses_of(message.content):
        none *= 1.0 - probability(clause, asked)
    return 1.0 - none


def probability(clause: Clause, asked: Clause | None = None) -> float:
    """The probability that a clause says something lasting about its speaker."""
    weight = WEIGHTS.get
    odds = CONSTANT + sum([weight(name, 0.0) for name in features_of(clause, asked)])
    return 1.0 / (1.0 + math.exp(-min(max(odds, -_SURE), _SURE)))
