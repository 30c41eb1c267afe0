"""Finds text of a query that stands in the code word for word: quoted parts, and runs of its words.

An error message stands in the code with other values than in the question, and often over several lines; so what
counts is the longest run of words of the query that a line has in the same order. Signs between them do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

from sage_code.text.lexemes import words_of
from sage_code.text.stems import STOP_WORDS

_WORD = re.compile(r"\w+")
# Text in quotes, on one line; an apostrophe inside of a word is no quote.
_QUOTED = re.compile(r"\"([^\"\n]{2,})\"|`([^`\n]{2,})`|(?<!\w)'([^'\n]{2,})'(?!\w)|“([^”\n]{2,})”")
NAME = re.compile(r"[\w$]+(?:(?:\.|::|->|#)[\w$]+)*(?:\(\))?")
_AROUND = frozenset({'""', "''", "``", "“”"})
# A report may quote many things; the longest ones say most.
_MAX_LITERALS = 16
# A whole query up to this length may be a line of code or a message; a longer one is a report.
_WHOLE_CHARS = 200
# Runs are looked for in so many characters of a line: minified code has lines of a megabyte.
_RUN_CHARS = 2_000
# What a stop word counts in a run, against any other word: `is not set` is more than `set`.
_STOP_WORD_VALUE = 0.25
# A quoted word counts as one more word of the query.
_SINGLE_VALUE = 1.0
# The name of what a text adds to the score of a hit in which it stands word for word, and hardly anywhere else.
VERBATIM = "verbatim"
# The value of a literal of several words that stands whole in a line, which no run of a few words reaches.
LITERAL_VALUE = 100.0


class Run(NamedTuple):
    """Text of the query that stands in a line."""

    value: float  # how much it counts: the square of its words, so that a long run beats several short ones
    start: int
    end: int


_NO_RUN = Run(0.0, 0, 0)


def quoted_texts(text: str) -> tuple[str, list[str]]:
    """The whole text without the quotes around it, and the texts that it has in quotes."""
    whole = text.strip()
    if len(whole) > 2 and (whole[0] + whole[-1]) in _AROUND:
        whole = whole[1:-1].strip()
    return whole, [part for groups in _QUOTED.findall(text) if (part := next(filter(None, groups)).strip())]


class LiteralFinder:
    """Finds the literals and the runs of one query."""

    def __init__(self, text: str) -> None:
        whole, parts = quoted_texts(text.lower())
        quoted = set(parts)
        if len(whole) <= _WHOLE_CHARS and "\n" not in whole:
            quoted.add(whole)
        words = {one: _WORD.findall(one) for one in quoted}
        # Texts of several words, in lower case, longest first; a qualified name asks for its definition instead.
        several = sorted(
            (one for one in quoted if len(words[one]) > 1 and not NAME.fullmatch(one)),
            key=lambda one: (-len(one), one),
        )
        self.literals = tuple(several[:_MAX_LITERALS])
        self._single = frozenset(found[0] for found in words.values() if len(found) == 1)
        self._words = _WORD.findall(text.lower())
        self._telling = frozenset(word for word in self._words if word not in STOP_WORDS and len(word) > 1)
        telling = [position for position, word in enumerate(self._words) if word in self._telling]
        # The shortest runs: two telling words and what is between them; every other run has one of them.
        # Each is kept with its first and its last word: where one of these is missing, so is the run.
        links = {
            (f" {' '.join(self._words[first : last + 1])} ", self._words[first], self._words[last])
            for first, last in pairwise(telling)
        }
        self._links = tuple(sorted(links | {(f" {word} ", word, word) for word in self._single}))
        self._at: dict[str, list[int]] = defaultdict(list)
        for position, word in enumerate(self._words):
            self._at[word].append(position)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The first and the last word of each of the shortest runs."""
        return [(first, last) for _, first, last in self._links]

    def literal_lines(self, lower: str) -> list[int]:
        """The lines of a text in lower case, from 1, that hold the longest literal that any line holds."""
        for literal in self.literals:
            start, lines, line, counted = lower.find(literal), [], 1, 0
            while start >= 0:
                line += lower.count("\n", counted, start)
                counted = start
                lines.append(line)
                start = lower.find(literal, start + len(literal))
            if lines:
                return sorted(set(lines))
        return []

    def has_run(self, text: str) -> bool:
        """Whether a text, in lower case, may have a literal or a run: said much faster than by looking for one."""
        if any(literal in text for literal in self.literals):
            return True
        links = [link for link, first, last in self._links if first in text and last in text]
        words = f" {' '.join(words_of(text))} " if links else ""
        return any(link in words for link in links)

    def best_run(self, line: str) -> Run:
        """The literal or the longest run of two or more telling words in a line; one of value 0 if there is none."""
        lower = line.lower()
        if len(lower) != len(line):  # a few letters get longer, and offsets would shift
            lower = line
        for literal in self.literals:
            start = lower.find(literal)
            if start >= 0:
                return Run(LITERAL_VALUE + len(literal), start, start + len(literal))
        if len(line) <= _RUN_CHARS and not self.has_run(lower):
            return _NO_RUN
        best, before = _NO_RUN, dict[int, tuple[int, int]]()
        for found in _WORD.finditer(lower, 0, _RUN_CHARS):
            # By position in the query, how many words end there that also end here, and where the first begins.
            here = {}
            for position in self._at.get(found[0], ()):
                length, start = before.get(position - 1, (0, found.start()))
                here[position] = (length + 1, start)
                if length:
                    value = self._value(position - length, position + 1)
                    if value > best.value:
                        best = Run(value, start, found.end())
            before = here
            if not best.value and found[0] in self._single:
                best = Run(_SINGLE_VALUE, found.start(), found.end())
        return best

    def _value(self, first: int, end: int) -> float:
        """What a run of the query's words counts; nothing with less than two telling words."""
        telling = sum([word in self._telling for word in self._words[first:end]])
        return (telling + _STOP_WORD_VALUE * (end - first - telling)) ** 2 if telling > 1 else 0.0
