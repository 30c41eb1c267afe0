"""Makes foreign text storable in every engine: PostgreSQL has no NUL, and no engine half of a surrogate pair."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with every character that cannot be stored replaced by U+FFFD."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)
