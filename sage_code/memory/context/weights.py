"""How much each feature of a sentence counts (`scoring.py`).

Learned by `benchmarks/summary_weights.py` from half of DialogSum's dev part and of LoCoMo's sessions: what share of a
sentence is in a summary that somebody wrote. The first words of a talk, names, and what is central to it and taken up
by the next message say much; sentences about the other one, pleasantries and what begins with `it` or `that` little.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "early": 0.287,
    "position": 0.054,
    "late": 0.026,
    "opens its message": 0.021,
    "length": 0.216,
    "short": -0.098,
    "long": -0.132,
    "central": 1.020,
    "content": 0.148,
    "names": 0.538,
    "numbers": 0.023,
    "question": 0.008,
    "answer": 0.026,
    "first person": -0.041,
    "second person": -0.146,
    "plan": 0.097,
    "pleasantry": -0.138,
    "deictic": -0.114,
    "echoed": 0.228,
    "echoes": 0.083,
    "frequent": 0.136,
    "message length": -0.112,
    "first of speaker": 0.119,
    "question early": -0.177,
    "words of the budget": -0.561,
}
