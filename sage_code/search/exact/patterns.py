"""Understands a regular expression: what every match contains, and how it is kept within a line.

A pattern is Python's. Like in other search tools a match never spans lines, unless the pattern itself asks for a line
end (`\\n`) or for dots that match everything (`(?s)`): without that `a\\s+b` and `[^x]*` would run through whole files.
So characters and classes that can match a line end are rewritten in the parsed pattern. The standard library's parser
is used for that; it is not public, and the same in Python 3.11 to 3.14.
"""

from __future__ import annotations

import re
import warnings
from importlib import import_module

from sage_code.errors import UsageError
from sage_code.search.exact.needs import both, either, need_of

TYPE_CHECKING = False  # of `typing`, which takes a sixth of the process to load
if TYPE_CHECKING:
    from typing import Any

    from sage_code.search.exact.needs import Need

MAX_PATTERN_CHARS = 8_192
_HINT = "patterns are those of Python; for plain text use --exact"

_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")
_c: Any = import_module("re._constants")

_LINE_END = (_c.LITERAL, 10)
_NEGATED = {
    _c.CATEGORY_NOT_DIGIT: _c.CATEGORY_DIGIT,
    _c.CATEGORY_NOT_WORD: _c.CATEGORY_WORD,
    _c.CATEGORY_NOT_SPACE: _c.CATEGORY_SPACE,
}
_REPEATS = (_c.MAX_REPEAT, _c.MIN_REPEAT, _c.POSSESSIVE_REPEAT)


class Pattern:
    """A compiled regular expression, what every match needs, and a text that every match contains."""

    __slots__ = ("compiled", "ignores_case", "literal", "need", "spans_lines")

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        if len(text) > MAX_PATTERN_CHARS:
            raise UsageError(f"the pattern is longer than {MAX_PATTERN_CHARS:,} characters", "search for less")
        flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parsed = _parser.parse(text, flags)
                # Flags at the beginning of the pattern are known only after it was parsed.
                self.spans_lines = bool(parsed.state.flags & re.DOTALL) or _asks_for_line_end(parsed)
                if not self.spans_lines:
                    _keep_within_line(parsed)
                self.compiled: re.Pattern[str] = _compiler.compile(parsed, flags)
        except (re.error, OverflowError, RecursionError, ValueError) as error:
            raise UsageError(f"the pattern cannot be read: {error}", _HINT) from error
        self.ignores_case = bool(self.compiled.flags & re.IGNORECASE) or _has_case_flag(parsed)
        texts: list[str] = []
        self.need: Need = _need(parsed, texts, ignore_case=self.ignores_case)
        # The longest text that every match has in it: it is found faster than the pattern.
        self.literal = "" if self.ignores_case else max(texts, key=len, default="")


def _inner(operation: Any, given: Any) -> list[Any]:
    """The patterns inside of an operation."""
    if operation is _c.SUBPATTERN:
        return [given[3]]
    if operation in _REPEATS:
        return [given[2]]
    if operation is _c.BRANCH:
        return list(given[1])
    if operation in (_c.ASSERT, _c.ASSERT_NOT):
        return [given[1]]
    if operation is _c.GROUPREF_EXISTS:
        return [one for one in given[1:] if one is not None]
    return [given] if operation is _c.ATOMIC_GROUP else []


def _asks_for_line_end(pattern: Any) -> bool:
    """Whether a line end is written in the pattern, alone or in a class that is not negated."""
    for operation, given in pattern:
        if (operation, given) == _LINE_END:
            return True
        if operation is _c.IN and given[0][0] is not _c.NEGATE and _LINE_END in given:
            return True
        if operation is _c.SUBPATTERN and given[1] & re.DOTALL:
            return True
        if any(_asks_for_line_end(inner) for inner in _inner(operation, given)):
            return True
    return False


def _has_case_flag(pattern: Any) -> bool:
    """Whether a part of the pattern ignores case: `(?i:...)`."""
    return any(
        (operation is _c.SUBPATTERN and given[1] & re.IGNORECASE) or any(map(_has_case_flag, _inner(operation, given)))
        for operation, given in pattern
    )


def _keep_within_line(pattern: Any) -> None:
    """Rewrites, in place, what could match a line end."""
    for place, (operation, given) in enumerate(list(pattern)):
        if operation is _c.NOT_LITERAL:
            pattern[place] = (_c.IN, [(_c.NEGATE, None), (_c.LITERAL, given), _LINE_END])
        elif operation is _c.IN:
            pattern[place] = _class_within_line(pattern, given)
        for inner in _inner(operation, given):
            _keep_within_line(inner)


def _class_within_line(pattern: Any, items: list[Any]) -> tuple[Any, Any]:
    """A class of characters without the line end."""
    if items[0][0] is _c.NEGATE:
        return (_c.IN, [*items, _LINE_END])
    if len(items) == 1 and items[0][0] is _c.CATEGORY and items[0][1] in _NEGATED:
        return (_c.IN, [(_c.NEGATE, None), (_c.CATEGORY, _NEGATED[items[0][1]]), _LINE_END])
    space = (_c.CATEGORY, _c.CATEGORY_SPACE)
    if space in items:
        items = [item for item in items if item != space] + _SPACES
    if not any(_has_line_end(*item) for item in items):
        return (_c.IN, items)
    # `(?!\n)` before the class.
    alone = _parser.SubPattern(pattern.state, [_LINE_END])
    group = _parser.SubPattern(pattern.state, [(_c.ASSERT_NOT, (1, alone)), (_c.IN, items)])
    return (_c.SUBPATTERN, (None, 0, 0, group))


def _has_line_end(operation: Any, given: Any) -> bool:
    """Whether an item of a class matches a line end."""
    if operation is _c.RANGE:
        return bool(given[0] <= 10 <= given[1])
    return operation is _c.CATEGORY and given in (_c.CATEGORY_NOT_WORD, _c.CATEGORY_NOT_DIGIT)


# `\s` without the line end, character by character: a class is faster than a class with a condition before it.
# Written out, because to try all characters takes a millisecond.
SPACES = (
    *(9, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680),
    *range(0x2000, 0x200B),
    *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
)
_SPACES = [(_c.LITERAL, code) for code in SPACES]


def _need(pattern: Any, texts: list[str], *, ignore_case: bool) -> Need:
    """What every match contains; the texts that it is made of are added to `texts`."""
    needs: list[Need] = []
    run: list[str] = []

    def finish() -> None:
        if run:
            text = "".join(run)
            texts.append(text)
            needs.append(need_of(text, ignore_case=ignore_case))
            run.clear()

    for operation, given in _flat(pattern):
        if operation is _c.LITERAL:
            run.append(chr(given))
            continue
        if operation is _c.AT:
            # It matches no character. A word that begins or ends here is looked for as a part of one, which is right.
            continue
        finish()
        if operation in _REPEATS and given[0] > 0:
            needs.append(_need(given[2], texts, ignore_case=ignore_case))
        elif operation is _c.ATOMIC_GROUP:
            needs.append(_need(given, texts, ignore_case=ignore_case))
        elif operation is _c.BRANCH:
            needs.append(either([_need(one, [], ignore_case=ignore_case) for one in given[1]]))
    finish()
    return both(needs)


def _flat(pattern: Any) -> list[tuple[Any, Any]]:
    """The operations of a pattern, with those of its groups in their place."""
    found: list[tuple[Any, Any]] = []
    for operation, given in pattern:
        if operation is _c.SUBPATTERN:
            found += _flat(given[3])
        else:
            found.append((operation, given))
    return found
