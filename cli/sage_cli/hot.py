"""Reads the arguments of `grep` and `search` without Typer; arguments that it does not know are left to Typer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    # Flag -> (parameter, type); a flag of type `list` may be given several times.
    Flags = Mapping[str, tuple[str, type]]


def by_spelling(options: Mapping[str, tuple[str, type]]) -> dict[str, tuple[str, type]]:
    """The options by each of their spellings: `--limit -n` is one row of the table."""
    return {flag: option for spellings, option in options.items() for flag in spellings.split()}


def parse(
    arguments: list[str], flags: Flags, minimum: Mapping[str, int] | None = None
) -> tuple[list[str], dict[str, Any]] | None:
    """The plain words and the parameters; None if the arguments need Typer."""
    plain: list[str] = []
    given: dict[str, Any] = {}
    words = iter(arguments)
    for word in words:
        if word == "--":  # what follows are no flags
            plain.extend(words)
            break
        if not word.startswith("-"):
            plain.append(word)
            continue
        if word not in flags:
            return None
        parameter, kind = flags[word]
        if kind is bool:
            given[parameter] = True
            continue
        value = next(words, None)
        if value is None:
            return None
        if kind is list:
            given.setdefault(parameter, []).append(value)
        elif kind is int:
            # Typer knows other spellings of a number, and the message for one that is too small.
            if not (value.isascii() and value.isdecimal()) or int(value) < (minimum or {}).get(parameter, 0):
                return None
            given[parameter] = int(value)
        else:
            given[parameter] = value
    return plain, given
