"""The zones of a long question and the frames of its stack traces, as values."""

from __future__ import annotations

from typing import NamedTuple

# How much a word counts in each zone. Reports are about their title; a frame or a message is exact but may be of
# another project; code to reproduce a problem uses what is broken, among much else.
TITLE, PROSE, CODE, MESSAGE, NOISE = 3.0, 1.0, 0.7, 1.5, 0.05


class Zone(NamedTuple):
    """A line or block of the question, and how much its words count."""

    weight: float
    text: str


class Frame(NamedTuple):
    """A line of a stack trace: the innermost has the highest closeness, 1."""

    path: str
    name: str
    closeness: float
