"""How long a word of the index may be, and what is counted in the place of longer ones.

Apart from `lexemes.py`, which imports more than a search for exact text may load.
"""

from __future__ import annotations

# Longer runs are data (base64, hashes), and not searched for.
MAX_LEXEME_CHARS = 64
# Counted in their place, so that a search for a part of one knows which texts have any. No word contains it.
LONG_WORD = "\x01"
