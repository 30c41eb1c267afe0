"""Makes foreign values storable in every engine: PostgreSQL has no NUL, and no engine half of a surrogate pair."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with every character that cannot be stored replaced by U+FFFD."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)


def storable_all(value: Any) -> Any:
    """A nested value of JSON with every text in it storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_all(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_all(item) for item in value]
    return value
