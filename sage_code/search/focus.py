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
    """A definition in a chunk, and its best lines."""

    symbol: Symbol | None
    first: int
    last: int
    window: Window
    score: float

    @property
    def is_block(self) -> bool:
        """Whether it is more than a constant or a key, many of which share a few lines."""
        return self.symbol is not None and CHUNK_KIND.get(self.symbol.kind) != "constant"

    @property
    def size(self) -> int:
        return self.symbol.end_line - self.symbol.start_line + 1 if self.symbol else 1 << 30


def focus(matched: MatchedLines, symbols: Sequence[Symbol], own: str, names: frozenset[str], size: int) -> Focus:
    """The part of the matched lines that answers, in at most `size` shown lines.

    `symbols` are the definitions of these lines that may be its label, `own` is the qualified name of the chunk, and
    `names` are those that the query asks for.
    """
    whole = _part(matched, None, size, names)
    parts = [_part(matched, one, size, names, whole.window) for one in symbols]
    if not whole.window.score:
        own_parts = [part for part in parts if part.symbol is not None and part.symbol.qualname == own]
        # Nothing matches word for word: the chunk's own definition, if the chunk shows most of its lines as its own.
        chosen = max(own_parts, key=lambda part: part.last - part.first, default=whole)
        if not chosen.is_block and _shown(chosen) * 2 < _shown(whole):
            chosen = whole
    else:
        chosen = _innermost([part for part in parts if part.score], whole, own)
    return Focus(chosen.symbol, chosen.first, chosen.last, chosen.window)


def focus_on(line: int, symbols: Sequence[Symbol], first: int, last: int, size: int) -> Focus:
    """The part around one line of a chunk, whose lines are `first` to `last`; `symbols` are those with that line."""
    symbol = min(symbols, key=lambda one: (one.end_line - one.start_line, one.line != line), default=None)
    if symbol is not None:
        first, last = max(first, symbol.start_line), min(last, symbol.end_line)
    # The head of a definition, if the line is near it; otherwise more lines behind the line than before it.
    start = first if line < first + size else max(first, min(line - size // 3, last - size + 1))
    return Focus(symbol, first, last, Window(LITERAL_VALUE, start, min(start + size - 1, last), line))


def _part(
    matched: MatchedLines, symbol: Symbol | None, size: int, names: frozenset[str], around: Window | None = None
) -> _Part:
    """The part of the matched lines that a definition has; `around` is the best window of all lines, if it is known."""
    first = max(matched.first, symbol.start_line) if symbol else matched.first
    last = min(matched.last, symbol.end_line) if symbol else matched.last
    is_all = around is not None and (first, last) == (matched.first, matched.last)
    window = around if around is not None and is_all else matched.best_window(first, last, size)
    named = _NAMED if symbol is not None and symbol.name in names and window.score else 0.0
    return _Part(symbol, first, last, window, window.score + named)


def _shown(part: _Part) -> int:
    return part.window.last - part.window.first + 1


def _innermost(parts: Sequence[_Part], whole: _Part, own: str) -> _Part:
    """The smallest definition that matches nearly as well as all lines together; `whole` if there is none."""
    best = max(whole.score, *(part.score for part in parts)) if parts else whole.score
    good = [part for part in parts if part.score >= _INNER_SHARE * best and (part.is_block or _holds_most(part, whole))]
    if not good:
        good = [part for part in parts if part.is_block and part.score >= _ONLY_SHARE * best]
    inner = [part for part in good if not any(_is_inside(other, part) for other in good)]

    def preference(part: _Part) -> tuple[float, bool, int]:
        return part.score, part.symbol is not None and part.symbol.qualname == own, -part.size

    return max(inner, key=preference, default=whole)


def _holds_most(part: _Part, whole: _Part) -> bool:
    """Whether a constant matches as well as the run of constants that it is in."""
    return part.score + _ONE_MORE_LINE >= whole.score


def _is_inside(part: _Part, other: _Part) -> bool:
    """Whether the definition of a part lies inside that of another, larger one."""
    if part.symbol is None or other.symbol is None or part.size >= other.size:
        return False
    return other.symbol.start_line <= part.symbol.start_line and part.symbol.end_line <= other.symbol.end_line
