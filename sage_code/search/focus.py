"""Decides which definition of a chunk, and which of its lines, answer a query: the label and the lines of a hit.

A small class is one chunk with its methods, tiny functions share one, and a gap between definitions may hold anything.
So the label is the smallest definition around the lines that match, and only lines of that definition are shown. Where
none is around them, the label is empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.literals import LITERAL_VALUE
from sage_code.search.snippets import MatchedLines, Window
from sage_code.values import Symbol

# A definition is taken instead of what is around it if it matches at least this well, as a share of the latter's score:
# a method that lacks one of four words, which another method has, still is what was asked for.
_INNER_SHARE = 0.7
# Without anything around it, a definition is taken rather than no name.
_ONLY_SHARE = 0.5
# Of several constants that match alike none is the answer: a single other line that matches adds less than this.
_ONE_MORE_LINE = 0.03
# What a name that is asked for adds to the score of its definition: as much as a word.
_NAMED = 1.0


class Focus(NamedTuple):
    """The part of a chunk that answers."""

    symbol: Symbol | None  # whose lines they are
    first: int  # the lines of the chunk that belong to it
    last: int
    window: Window  # those of them that are shown


class _Part(NamedTuple):
    """A definition in a chunk, and how well its best lines match."""

    symbol: Symbol
    score: float
    size: int  # in lines

    @property
    def is_block(self) -> bool:
        """Whether it is more than a constant or a key, many of which share a few lines."""
        return _is_block(self.symbol)


def focus(matched: MatchedLines, symbols: Sequence[Symbol], own: str, names: frozenset[str], size: int) -> Focus:
    """The part of the matched lines that answers, in at most `size` shown lines.

    `symbols` are the definitions of these lines that may be its label, `own` is the qualified name of the chunk, and
    `names` are those that the query asks for.
    """
    whole = matched.best_score(matched.first, matched.last, size)
    if not whole:
        return _own_definition(matched, [one for one in symbols if one.qualname == own], size)
    parts = []
    for one in symbols:
        if score := matched.best_score(one.start_line, one.end_line, size):
            score += _NAMED if one.name in names else 0.0
            parts.append(_Part(one, score, one.end_line - one.start_line + 1))
    return _focus(matched, _innermost(parts, whole, own), size)


def focus_on(line: int, symbols: Sequence[Symbol], first: int, last: int, size: int) -> Focus:
    """The part around one line of a chunk, whose lines are `first` to `last`; `symbols` are those with that line."""
    symbol = min(symbols, key=lambda one: (one.end_line - one.start_line, one.line != line), default=None)
    if symbol is not None:
        first, last = max(first, symbol.start_line), min(last, symbol.end_line)
    # The head of a definition, if the line is near it; otherwise more lines behind the line than before it.
    start = first if line < first + size else max(first, min(line - size // 3, last - size + 1))
    return Focus(symbol, first, last, Window(LITERAL_VALUE, start, min(start + size - 1, last), line))


def _focus(matched: MatchedLines, symbol: Symbol | None, size: int) -> Focus:
    """The lines of a definition, or all if it is None, with the best of them."""
    first = max(matched.first, symbol.start_line) if symbol else matched.first
    last = min(matched.last, symbol.end_line) if symbol else matched.last
    return Focus(symbol, first, last, matched.best_window(first, last, size))


def _own_definition(matched: MatchedLines, symbols: Sequence[Symbol], size: int) -> Focus:
    """Where nothing matches word for word: the chunk's own definition, if the chunk shows most of its lines as its own.

    `symbols` are those with the chunk's name."""
    whole = _focus(matched, None, size)
    parts = [_focus(matched, one, size) for one in symbols]
    chosen = max(parts, key=lambda part: part.last - part.first, default=whole)
    if not (chosen.symbol and _is_block(chosen.symbol)) and _shown(chosen) * 2 < _shown(whole):
        return whole
    return chosen


def _is_block(symbol: Symbol) -> bool:
    return CHUNK_KIND.get(symbol.kind) != "constant"


def _shown(part: Focus) -> int:
    return part.window.last - part.window.first + 1


def _innermost(parts: Sequence[_Part], whole: float, own: str) -> Symbol | None:
    """The smallest definition that matches nearly as well as all lines together, whose score is `whole`."""
    if not parts:
        return None
    best = max(whole, *(part.score for part in parts))
    good = [
        part
        for part in parts
        if part.score >= _INNER_SHARE * best and (part.is_block or part.score + _ONE_MORE_LINE >= whole)
    ]
    if not good:
        good = [part for part in parts if part.is_block and part.score >= _ONLY_SHARE * best]
    if len(good) > 1:
        good = [part for part in good if not any(_is_inside(other, part) for other in good)]

    def preference(part: _Part) -> tuple[float, bool, int]:
        return part.score, part.symbol.qualname == own, -part.size

    return max(good, key=preference).symbol if good else None


def _is_inside(part: _Part, other: _Part) -> bool:
    """Whether the definition of a part lies inside that of another, larger one."""
    if part.size >= other.size:
        return False
    return other.symbol.start_line <= part.symbol.start_line and part.symbol.end_line <= other.symbol.end_line
