"""Words of code: identifiers and the words inside them, as every lexical part of Sage counts them.

`parseHTTPHeader` gives `parsehttpheader`, `parse`, `http`, `header`; `MAX_SIZE` gives `max_size`, `max`, `size`.
A project repeats a small vocabulary millions of times. So a `Lexicon` splits and numbers each identifier once, and
counting adds up numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sage_code.text.long_words import LONG_WORD, MAX_LEXEME_CHARS
from sage_code.text.numbering import Numbering

_WORD = re.compile(r"\w+")
# Every other character becomes a space: for ASCII, translating and splitting is five times faster than the pattern.
_SPACES = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
# Words whose lexemes are kept: a search that splits the texts of its candidates meets the same words again.
_KEPT = 65_536
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(text: str) -> list[str]:
    """The words of a text, in order and as they are written."""
    return text.translate(_SPACES).split() if text.isascii() else _WORD.findall(text)


@lru_cache(maxsize=_KEPT)
def split_word(word: str) -> tuple[str, ...]:
    """The lexemes of one identifier: itself in lower case, then its parts if it has several."""
    if len(word) > MAX_LEXEME_CHARS:
        return ()
    whole = word.lower()
    # Outside ASCII, case does not separate words reliably; such words are split at their underscores only.
    parts = _PART.findall(word) if word.isascii() else [part for part in word.split("_") if part]
    if len(parts) < 2:
        return (whole.strip("_") or whole,)
    return (whole, *(part.lower() for part in parts))


def lexemes(text: str) -> list[str]:
    """Every lexeme of `text`, in order."""
    return [lexeme for word in words_of(text) for lexeme in split_word(word)]


class Lexicon:
    """Numbers lexemes in the order of their first appearance, and counts texts in those numbers."""

    __slots__ = ("_of_word", "numbers")

    def __init__(self) -> None:
        self.numbers = Numbering[str]()
        self._of_word: dict[str, tuple[int, ...]] = {}

    def count(self, texts: Iterable[str]) -> tuple[list[int], list[int], list[int]]:
        """The lexemes of each text, and how often the word that each comes from occurs there.

        Three flat lists: numbers, counts, and for each text the number of its entries. A lexeme that several words of
        a text share has an entry for each of them, which the caller adds up.
        """
        numbers: list[int] = []
        counts: list[int] = []
        lengths: list[int] = []
        of_word, number_of, before = self._of_word, self.numbers.__getitem__, 0
        for text in texts:
            for word, count in Counter(words_of(text)).items():
                known = of_word.get(word)
                if known is None:
                    known = of_word[word] = tuple(map(number_of, split_word(word) or (LONG_WORD,)))
                numbers += known
                counts += (count,) * len(known)
            lengths.append(len(numbers) - before)
            before = len(numbers)
        return numbers, counts, lengths

    def since(self, start: int) -> Sequence[str]:
        """The lexemes numbered `start` and above, in order."""
        return list(self.numbers)[start:]


class WordNumbers(dict[str, int]):
    """Numbers words as they are looked up, and keeps the lexemes of each, numbered too."""

    __slots__ = ("lexemes", "terms")

    def __init__(self) -> None:
        super().__init__()
        self.terms = Numbering[str]()  # the numbers of lexemes
        self.lexemes: list[tuple[int, ...]] = []  # of each word, the whole word first

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.lexemes.append(tuple(map(self.terms.__getitem__, split_word(word) or (LONG_WORD,))))
        return number
