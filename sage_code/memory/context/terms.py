"""The terms of a text, by which summaries compare sentences: content words without their endings.

Text without blanks between words (Chinese, Japanese) gives pairs of characters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sage_code.text.lexemes import words_of
from sage_code.text.stems import STOP_WORDS, inflected

# Longer words are keys, hashes and pasted data.
_MAX_TERM_CHARS = 40
# From here on in Unicode, scripts are mostly written without blanks: CJK, kana, hangul and beyond.
_FIRST_UNSPACED = "\u2e80"
# Words of talk that say nothing about its subject, beside the stop words of questions about code.
_TALK_WORDS = """
    am actually again ago already always another because bit came come don else even ever every everything gets get
    getting go going gonna good got great guess hello hey hi hmm isn know ll look lot love make maybe mean much must
    never new nice now oh ok okay perhaps pretty quite re really right said say see seem since something soon sorry
    still stuff sure take talk thank thanks thing think though today tell ve wasn well wow yeah yep yes yet
"""
_STOP = STOP_WORDS | frozenset(_TALK_WORDS.split())


def terms_of(text: str) -> list[str]:
    """The terms of a text, in order."""
    found: list[str] = []
    for word in words_of(text):
        if word.isascii():
            lower = word.lower()
            if 2 < len(word) <= _MAX_TERM_CHARS and lower not in _STOP:
                found.append(inflected(lower))
        elif max(word) >= _FIRST_UNSPACED:
            word = word[: 2 * _MAX_TERM_CHARS]
            found += [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
        elif 2 < len(word) <= _MAX_TERM_CHARS:
            found.append(word.lower())
    return found


def rarity(of_sentences: Iterable[Iterable[str]], count: int) -> dict[str, float]:
    """How much each term tells sentences of one conversation apart: its inverse document frequency."""
    seen: dict[str, int] = {}
    for terms in of_sentences:
        for term in set(terms):
            seen[term] = seen.get(term, 0) + 1
    return {term: math.log(1 + count / number) for term, number in seen.items()}


def overlap(these: frozenset[str], those: frozenset[str]) -> float:
    """The share of the smaller set that is in the other, 0 to 1."""
    return len(these & those) / (min(len(these), len(those)) or 1)


def likeness(these: frozenset[str], those: frozenset[str]) -> float:
    """The share of all terms that both have, 0 to 1."""
    return len(these & those) / (len(these | those) or 1)
