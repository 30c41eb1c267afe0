"""Finds the lines of a text that match: a plain text, or a regular expression."""

from __future__ import annotations

from sage_code.errors import UsageError
from sage_code.search.exact.needs import is_word, need_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from sage_code.search.exact.needs import Need
    from sage_code.search.exact.patterns import Pattern

MAX_TEXT_CHARS = 8_192
# A shorter text is no faster to find than the pattern that it is part of.
_MIN_LITERAL_CHARS = 2


class Matcher:
    """One question: finds its matches in texts."""

    __slots__ = ("_is_regex", "_literal", "_pattern", "_sample", "ignore_case", "need", "text")

    def __init__(self, text: str, *, regex: bool = False, ignore_case: bool = False) -> None:
        if not text:
            raise UsageError("there is nothing to look for", 'give a text: sage search --exact "no such file"')
        if len(text) > MAX_TEXT_CHARS:
            raise UsageError(f"the text is longer than {MAX_TEXT_CHARS:,} characters", "search for a part of it")
        self.text, self._is_regex = text, regex
        self._pattern: Pattern | None = None
        if regex or ignore_case:
            import re  # lazy: most texts are found without

            from sage_code.search.exact.patterns import Pattern

            self._pattern = Pattern(text if regex else re.escape(text), ignore_case=ignore_case)
            self.ignore_case, literal = self._pattern.ignores_case, self._pattern.literal
            self.need: Need = self._pattern.need
        else:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            self.ignore_case, literal = False, text
            self.need = need_of(text)
        self._literal = literal if len(literal) >= _MIN_LITERAL_CHARS or self._pattern is None else ""
        # What the bytes of a file must contain. Line ends differ between files.
        self._sample = max(self._literal.split("\n"), key=len)

    @property
    def is_pattern(self) -> bool:
        """Whether a regular expression was asked for."""
        return self._is_regex

    def words(self) -> list[str]:
        """The words of the text as they are written."""
        return "".join(char if is_word(char) else " " for char in self.text).split()

    def may_match(self, data: bytes) -> bool:
        """Whether a file with these bytes, which is neither UTF-16 nor UTF-32, may have a match."""
        if self._sample.isascii():
            return self._sample.encode() in data
        return not data.isascii()

    def matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of the first match of each line; of each match, where matches may span lines."""
        if self._pattern is None:
            return _plain(text, self._literal)
        if self._pattern.spans_lines:
            return _spanning(text, self._pattern)
        return _in_lines(text, self._pattern, self._literal)


def _plain(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    """The matches of a plain text."""
    length, find = len(wanted), text.find
    start = find(wanted)
    while start >= 0:
        end = start + length
        yield start, end
        line_end = find("\n", end - 1)
        if line_end < 0:
            return
        start = find(wanted, line_end + 1)


def _in_lines(text: str, pattern: Pattern, literal: str) -> Iterator[tuple[int, int]]:
    """The first match of each line; only lines with `literal` are compared with the pattern."""
    search, find = pattern.compiled.search, text.find
    place, length = 0, len(text)
    while place < length:  # behind the last line end there is no line
        if literal:
            start = find(literal, place)
            if start < 0:
                return
            place = text.rfind("\n", place, start) + 1 or place
            line_end = find("\n", start)
            line_end = length if line_end < 0 else line_end
            found = search(text, place, line_end)
        else:
            found = search(text, place)
            if found is None:
                return
            line_end = find("\n", found.start())
            line_end = length if line_end < 0 else line_end
        if found is not None and found.start() < length:
            yield found.span()
        elif found is not None and not text.endswith("\n"):
            yield found.span()  # an empty match at the end of a last line without a line end
        place = line_end + 1


def _spanning(text: str, pattern: Pattern) -> Iterator[tuple[int, int]]:
    """The matches of a pattern that may span lines."""
    for found in pattern.compiled.finditer(text):
        if found.start() < len(text) or not text.endswith("\n"):
            yield found.span()
