"""Masks keys, tokens and passwords in the text and the data of every answer.

The data is searched first: a key may have many lines, which the text shows behind numbers. What is masked there is
masked in the text line by line. Then those lines of the text are searched that are not in the data. The number of lines
does not change, so line numbers in an answer stay right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sage_code.text.escaping import visible

# Joins the strings of an answer. No rule of masking matches across it.
_BETWEEN = "\n\0\n"
# A shorter text is no secret by itself.
_LEAST_CHARS = 8


def masked(text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text and the data of an answer, with everything that looks like a secret masked."""
    strings = dict.fromkeys(string for string in strings_in(data) if len(string) >= _LEAST_CHARS)
    changed = _masked_strings(strings)
    if changed:
        data = _replaced(data, changed)
        text = _without(text, changed)
    seen = {line for string in strings for line in visible(changed.get(string, string)).split("\n")}
    own = "\n".join(line for line in text.split("\n") if line.partition(" | ")[2] not in seen)
    return _without(text, _masked_strings([own])), data


def strings_in(value: object) -> Iterator[str]:
    """Every string in nested data; keys do not count."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings_in(item)


def _masked_strings(strings: Iterable[str]) -> dict[str, str]:
    """The strings that contain secrets, each with its masked form."""
    from sage_code.text.masking import find  # lazy: the handshake must not wait for its rules

    given = list(strings)
    changed: dict[str, list[str]] = {}
    start = number = done = 0  # of the current string: its offset, its number, how much of it is copied
    for finding in find(_BETWEEN.join(given)):
        while finding.start >= start + len(given[number]) + len(_BETWEEN):
            start += len(given[number]) + len(_BETWEEN)
            number, done = number + 1, 0
        string = given[number]
        first, last = finding.start - start, min(finding.end - start, len(string))
        parts = changed.setdefault(string, [])
        lines = "\n" * string.count("\n", first, last)
        parts[-1:] = [string[done:first], f"[masked: {finding.rule}]", lines, string[last:]]
        done = last
    return {string: "".join(parts) for string, parts in changed.items()}


def _replaced(value: Any, changed: dict[str, str]) -> Any:
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(item, changed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, changed) for item in value]
    return value


def _without(text: str, changed: dict[str, str]) -> str:
    """The text with the lines of `changed` in their masked form."""
    lines: dict[str, str] = {}
    for old, new in changed.items():
        lines.update(
            (visible(before), visible(after))
            for before, after in zip(old.split("\n"), new.split("\n"), strict=True)
            if before != after and len(before.strip()) >= _LEAST_CHARS
        )
    for before in sorted(lines, key=len, reverse=True):
        text = text.replace(before, lines[before])
    return text
