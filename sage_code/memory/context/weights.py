"""How much each feature of a sentence counts (`scoring.py`).

Learned by `benchmarks/summary_weights.py` from half of DialogSum's dev part and of LoCoMo's sessions: what share of a
sentence is in a summary that somebody wrote. The first words of a talk, names, and what is central to it and taken up
by the next message say much; sentences about the other one, pleasantries and what begins with `it` or `that` little.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "early": 0.291,
    "position": 0.052,
    "late": 0.027,
    "opens its message": 0.021,
    "length": 0.228,
    "short": -0.099,
    "long": -0.131,
    "central": 1.026,
    "content": 0.146,
    "names": 0.536,
    "numbers": 0.023,
    "question": 0.011,
    "answer": 0.028,
    "exclaims": 0.003,
    "first person": -0.040,
    "second person": -0.146,
    "plan": 0.094,
    "past": -0.021,
    "pleasantry": -0.139,
    "deictic": -0.114,
    "echoed": 0.228,
    "echoes": 0.082,
    "frequent": 0.134,
    "message length": -0.110,
    "first of speaker": 0.117,
    "question early": -0.181,
    "words of the budget": -0.560,
    "fills the budget": -0.002,
}
