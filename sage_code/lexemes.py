"""Words of code: identifiers and the words inside them, as every lexical part of Sage counts them.

`parseHTTPHeader` gives `parsehttpheader`, `parse`, `http`, `header`; `MAX_SIZE` gives `max_size`, `max`, `size`.
Splitting is cached by identifier, since a project repeats a small vocabulary millions of times.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Longer runs are data (base64, hashes), not words anybody looks for.
MAX_LEXEME_CHARS = 64

_WORD = re.compile(r"[^\W\d]\w*|\d+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=1 << 17)
def split_word(word: str) -> tuple[str, ...]:
    """The lexemes of one identifier: itself in lower case, then its parts when it has several."""
    if len(word) > MAX_LEXEME_CHARS:
        return ()
    whole = word.lower()
    # Case means nothing certain outside ASCII; such words are split at their underscores only.
    parts = _PART.findall(word) if word.isascii() else [part for part in word.split("_") if part]
    if len(parts) < 2:
        return (whole.strip("_") or whole,)
    return (whole, *(part.lower() for part in parts))


def lexemes(text: str) -> list[str]:
    """Every lexeme of `text`, in order."""
    found: list[str] = []
    extend = found.extend
    for word in _WORD.findall(text):
        extend(split_word(word))
    return found
