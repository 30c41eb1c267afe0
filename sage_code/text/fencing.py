"""Foreign text inside of what an agent reads: it can neither open nor close an element, nor hide anything.

Whatever Sage injects is in an element (`<sage-brief>` … `</sage-brief>`) that says where it begins and ends. Text of
messages, memories and repositories may hold such tags itself. There the sign that would begin one becomes a similar
one, so that a reader still knows what was meant; unseen characters become escapes.
"""

from __future__ import annotations

import re

from sage_code.text.escaping import one_line, visible

# An element would begin or end here; with blanks too, which a model reads past, and at the end, where the next text may
# go on with the rest of a tag.
_TAG = re.compile(r"<(?=\s*(?:/|\Z)|[!?]|[^\W\d])")
_INSTEAD = "‹"


def inert(text: str) -> str:
    """Foreign text that opens and closes no element and has no unseen characters; its lines stay."""
    if "<" not in text and text.isascii() and text.isprintable():  # nearly all messages
        return text
    return _without_tags(visible(text))


def inert_line(text: str) -> str:
    """The same on one line."""
    return _without_tags(one_line(text))


def _without_tags(text: str) -> str:
    return _TAG.sub(_INSTEAD, text) if "<" in text else text
