"""The words of a query: which of them are stop words, and which words of the code count as forms of them.

English function words are dropped: in code they are rare, so their rarity would count for much. `retries` and
`retrying` count as forms of `retry`, at a discount. The index keeps words as they are written, so forms are found at
search time, by their stem.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sage_code.text.lexemes import split_word

_STOP_WORDS = """
    a about after all also an and any are as at be been before being between both but by can could did do does doing
    done during each else few for from had has have having he her here him his how i if in into is it its itself just
    let like may me might more most my no nor not of off on once one only or other our out over own same shall she
    should so some such than that the their them then there these they this those through to too under until up us use
    used uses using very via was we were what when where whether which while who whom whose why will with within without
    would you your please show find tell give want need me code implementation implemented implements defined handled
    happens happen work works way ways place places
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Words whose stems are cached.
_KEPT = 65_536
# Shorter words have too many neighbours that only look like forms of them.
_MIN_STEM = 4
_DOUBLED = re.compile(r"([bdfglmnprt])\1$")
# From long to short: the first one that leaves a stem is removed.
_DERIVED = (
    "izations", "ization", "isation", "ations", "ation", "ators", "ator", "ating", "ated", "ates", "ate", "ments",
    "ment", "ables", "able", "ibles", "ible", "ables", "ions", "ion", "ers", "er", "ors", "or", "izes", "ize", "ised",
    "ise", "ness", "ally", "al", "ly", "ive",
)  # fmt: skip
# How much longer than the shared head a form may be: a doubled letter and the longest ending.
LONGEST_ENDING = 1 + max(map(len, _DERIVED)) + len("s")


@lru_cache(maxsize=_KEPT)
def inflected(word: str) -> str:
    """A word without plural, `-ing` and `-ed`."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    for suffix in ("ing", "ed"):
        stem = word.removesuffix(suffix)
        if stem != word and len(stem) >= 3 and re.search("[aeiouy]", stem):
            return _DOUBLED.sub(r"\1", stem)
    return word


@lru_cache(maxsize=_KEPT)
def stem(word: str) -> str:
    """The stem that all forms and derivations of a word share: `pars` for parse, parser, parsing."""
    base = inflected(word)
    if len(base) < _MIN_STEM or not base.isascii():
        return base
    for suffix in _DERIVED if base.endswith(_DERIVED) else ():  # most words have none
        if base.endswith(suffix) and len(base) - len(suffix) >= _MIN_STEM:
            base = base[: -len(suffix)]
            break
    base = _DOUBLED.sub(r"\1", base)
    if base.endswith("e") and len(base) > _MIN_STEM - 1:
        base = base[:-1]
    return base[:-1] + "i" if base.endswith("y") and len(base) > 3 else base


def head_of(stemmed: str) -> str:
    """The letters with which every word of this stem begins."""
    return stemmed.removesuffix("i")


@lru_cache(maxsize=_KEPT)
def stems_of(word: str) -> frozenset[str]:
    """The stems of an identifier and of its parts."""
    return frozenset(map(stem, split_word(word)))
