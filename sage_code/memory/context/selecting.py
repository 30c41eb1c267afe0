"""Chooses sentences for a summary: the best ones that say different things, within a number of words.

A sentence costs its own words, and its message a label ("Ann: …") once. One that does not fit is cut, and the cut is
marked. The same candidates give the same choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sage_code.memory.context.sentences import CUT
from sage_code.memory.context.summary import CHARS_A_WORD, words_in
from sage_code.memory.context.terms import likeness, overlap

# What a sentence loses that repeats the terms of a chosen one. 0.2 to 0.6 are about equal on both sets of dialogues, 0
# is worse (`benchmarks/summaries.py`).
_REPEATS = 0.4
# Above this share of common terms two sentences say the same.
_SAME = 0.8
# A longer sentence is cut. Shorter limits lose nothing on dialogues and gain nothing.
MOST_WORDS = 40
# The last sentence is cut to what is left if that is so many words.
_LEAST_CUT = 4
# Only the best ones are compared with each other; a summary of 1,000 words has about 60 sentences.
_COMPARED = 240
# When so many do not fit, the rest is not tried.
_MOST_MISSES = 24


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence in a summary's text, said by somebody or under a heading."""

    label: str
    text: str
    ids: tuple[str, ...]
    order: int  # where it was said
    group: int = -1  # sentences of one group share their label; -1: of none
    terms: frozenset[str] = frozenset()

    @property
    def cost(self) -> int:
        """Its words in the text, with its label."""
        return words_in(f"{self.label}: {self.text} ") if self.label else words_in(f"{self.text} ")


def best_lines(
    candidates: Iterable[tuple[float, Line]], room: int, taken: Sequence[Line] = (), most_words: int = MOST_WORDS
) -> list[Line]:
    """The best of the candidates in at most so many words, in the order in which they were said.

    What says the same as a line that is taken already is left out.
    """
    ranked = sorted(candidates, key=lambda one: (-one[0], one[1].order))[:_COMPARED]
    left = [(score, line, max((_common(line, other) for other in taken), default=0.0)) for score, line in ranked]
    said = {line.text.casefold() for line in taken}
    chosen: list[Line] = []
    groups: set[int] = set()
    misses = 0
    while left and room > 0 and misses < _MOST_MISSES:
        at = max(range(len(left)), key=lambda place: left[place][0] - _REPEATS * left[place][2])
        _, line, common = left.pop(at)
        if common >= 1.0 + _SAME or line.text.casefold() in said:
            continue
        fitted = fitting(line, room, most_words, is_labelled=line.group in groups)
        if fitted is None:
            misses += 1
            continue
        chosen.append(fitted)
        said.add(line.text.casefold())
        room -= _cost(fitted, is_labelled=line.group in groups)
        if line.group >= 0:
            groups.add(line.group)
        left = [(score, other, max(before, _common(other, line))) for score, other, before in left]
    return sorted(chosen, key=lambda one: one.order)


def fitting(line: Line, room: int, most_words: int = MOST_WORDS, *, is_labelled: bool = False) -> Line | None:
    """The line, or its beginning, in so many words; None if too little would be left of it."""
    label = 0 if is_labelled or not line.label else words_in(f"{line.label}: ")
    whole = cut_to(line.text, most_words)
    fitted = Line(line.label, whole, line.ids, line.order, line.group, line.terms)
    if _cost(fitted, is_labelled=is_labelled) <= room:
        return fitted
    for words in range(room - label, _LEAST_CUT - 1, -1):
        fitted = Line(line.label, cut_to(line.text, words), line.ids, line.order, line.group, line.terms)
        if _cost(fitted, is_labelled=is_labelled) <= room:
            return fitted
    return None


def cut_to(text: str, most: int) -> str:
    """A text, or its beginning with a mark, in so many words."""
    if words_in(text) <= most:
        return text
    words = text.split()[:most]
    while len(words) > 1 and words_in(f"{' '.join(words)}{CUT}") > most:
        words.pop()
    return f"{' '.join(words)[: most * CHARS_A_WORD - 1]}{CUT}"


def laid_out(lines: Iterable[Line]) -> str:
    """The text of a summary: one line for each message or heading."""
    rows: list[tuple[int, str]] = []
    for line in lines:
        if rows and line.group >= 0 and rows[-1][0] == line.group:
            rows[-1] = line.group, f"{rows[-1][1]} {line.text}"
        else:
            rows.append((line.group, f"{line.label}: {line.text}" if line.label else line.text))
    return "\n".join(text for _, text in rows)


def _cost(line: Line, *, is_labelled: bool) -> int:
    return words_in(f"{line.text} ") if is_labelled else line.cost


def _common(these: Line, those: Line) -> float:
    """How much of the terms two lines share; above 1 if they say the same."""
    if not these.terms or not those.terms:
        return 0.0
    share = overlap(these.terms, those.terms)
    return share + (share > _SAME and likeness(these.terms, those.terms) > _SAME)
