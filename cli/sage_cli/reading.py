"""Reads what the user hands over: a text file, or standard input for `-`."""

from __future__ import annotations

import sys

from sage_code.errors import UsageError

_MAX_CHARS = 2_000_000


def read_text(source: str) -> str:
    """The whole text; one that cannot be read or is too long is an error."""
    try:
        if source == "-":
            text = sys.stdin.read(_MAX_CHARS + 1)
        else:
            with open(source, encoding="utf-8") as file:
                text = file.read(_MAX_CHARS + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read: {error}", "give a text file, or - for standard input") from error
    if len(text) > _MAX_CHARS:
        raise UsageError(f"{source} is longer than {_MAX_CHARS:,} characters", "keep what matters of it")
    return text
