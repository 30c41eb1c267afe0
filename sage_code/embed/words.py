"""From a text to the rows of the bundled model: identifiers are split, known words looked up, unknown ones split again.

`parseHTTPHeader` gives `parse`, `http`, `header`, and `parsehttpheader` if the vocabulary has it, so that all ways to
write a compound give a common row. An unknown word gives the known words inside it and one of a fixed number of
buckets, so that texts with the same rare word have a common row. Training and running share this module.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from sage_code.text.lexemes import words_of

# Longer runs of letters are data (base64, hashes), not words.
MAX_WORD_CHARS = 64
_MAX_RARE_CHARS = 24
# Shorter pieces of an unknown word mean nothing: every other word has `in` or `er`.
_MIN_PIECE, _MAX_PIECE = 3, 16
# The cache of words is emptied at this many (about 20 MB), which bounds its memory.
_MAX_CACHED = 1 << 17

# For up to so many words, searching the text of the vocabulary (50 µs a word) is faster than numbering it (5 ms).
_FEW_WORDS = 100

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def split_identifier(word: str) -> list[str]:
    """The parts of an identifier in lower case."""
    if word.isascii():
        return [part.lower() for part in _PART.findall(word)]
    # Outside ASCII, case does not mark the parts; such words are split at underscores only.
    return [part.lower() for part in word.split("_") if part]


class _Lines:
    """Line numbers by the text of the line. A query needs a few, which are searched for; more make a dictionary."""

    def __init__(self, text: str) -> None:
        self._text = f"\n{text}\n"
        self._size = text.count("\n") + 1
        self._asked = 0
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return self._size

    def number(self, word: str) -> int | None:
        """The number of the line that is `word`."""
        if not self._numbers:
            self._asked += 1
            if self._asked <= _FEW_WORDS:
                offset = self._text.find(f"\n{word}\n")
                return self._text.count("\n", 0, offset) if offset >= 0 else None
            self.number_all()
        return self._numbers.get(word)

    def lookup(self) -> Callable[[str], int | None]:
        """What gives the number of a line, for many words."""
        return self._numbers.get if self._numbers else self.number

    def number_all(self) -> None:
        """Make the dictionary now: many words will be asked for."""
        if not self._numbers:
            self._numbers = dict(zip(self._text[1:-1].split("\n"), range(self._size), strict=True))


class Vocabulary(dict[str, tuple[int, ...]]):
    """Maps a word of a text to the numbers of its rows; a cache that fills itself.

    Numbers below `len(words)` are words, the others are buckets of unknown words.
    """

    def __init__(self, words: Sequence[str] | str, buckets: int) -> None:
        """`words` as a list, or as the lines of a text, which is split only when many words are looked up."""
        super().__init__()
        self._words = _Lines(words if isinstance(words, str) else "\n".join(words))
        self._buckets = buckets
        self.rows = len(self._words) + buckets

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MAX_CACHED:
            self.clear()
        numbers = self[word] = tuple(self._look_up(word)) if len(word) <= MAX_WORD_CHARS else ()
        return numbers

    def look_up_all(self, words: Sequence[str]) -> list[tuple[int, ...]]:
        """The rows of single words; of many at once faster than one by one."""
        if len(words) > _FEW_WORDS:
            self._words.number_all()
        return list(map(self.__getitem__, words))

    def count(self, text: str) -> Counter[int]:
        """How often each row occurs in `text`, in the order of first appearance."""
        return Counter(chain.from_iterable(map(self.__getitem__, words_of(text))))

    def _look_up(self, word: str) -> list[int]:
        """The rows of an identifier: of the whole compound, and of its parts."""
        parts = split_identifier(word)
        numbers = []
        if len(parts) > 1 and (compound := self._words.number("".join(parts))) is not None:
            numbers.append(compound)
        for part in parts:
            number = self._words.number(part)
            if number is not None:
                numbers.append(number)
            elif not part.isdigit():
                numbers += self._split_unknown(part)
        return numbers

    def _split_unknown(self, part: str) -> list[int]:
        """The known words inside an unknown word, longest first from the left, and its bucket."""
        numbers = []
        start = 0
        number_of = self._words.lookup()
        while start <= len(part) - _MIN_PIECE:
            for end in range(min(len(part), start + _MAX_PIECE), start + _MIN_PIECE - 1, -1):
                number = number_of(part[start:end])
                if number is not None:
                    numbers.append(number)
                    start = end
                    break
            else:
                start += 1
        if self._buckets and 1 < len(part) <= _MAX_RARE_CHARS:
            # CRC-32: in the standard library, and the same on every machine.
            numbers.append(len(self._words) + zlib.crc32(part.encode("utf-8", "surrogatepass")) % self._buckets)
        return numbers
