"""Keys, tokens and passwords in an answer: masked in its text and in its data, at one place for all tools.

The data is looked through first, since a key may go over many lines and the text shows them behind numbers; what was
masked there is masked in the text line by line. Then those lines of the text are looked through that the data does not
have. Only lines that could hold a secret are given to the rules, together with their neighbours: the rules cost a
millisecond a page. The number of lines stays what it is: places in an answer are places in files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from sage_code.text.escaping import visible

# Between pieces of an answer: no name of a secret reaches over it to a value.
_BETWEEN = "\n\0\n"
# A shorter text is no secret by itself, and the keys of the data are ours.
_LEAST_CHARS = 8
# A secret is told by a word beside it, or by a long run of signs with a digit in it.
_WORDS = (
    "pass", "pwd", "secret", "token", "key", "auth", "cred", "bearer", "basic", "login", "begin", "identified",
    "cookie", "session", "sig", "://", " -u", " -p", "--user",
)  # fmt: skip
_RUN_CHARS = 16
_DIGIT = re.compile(r"\d")


def masked(text: str, data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Text and data of an answer without what looks like a secret."""
    strings = dict.fromkeys(_strings(data))
    changed = _masked_strings(strings)
    if changed:
        data = _replaced(data, changed)
        text = _without(text, changed)
    seen = {line for string in strings for line in visible(changed.get(string, string)).split("\n")}
    own = dict.fromkeys(line for line in text.split("\n") if line.partition(" | ")[2] not in seen)
    return _without(text, _masked_strings(own)), data


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if len(value) >= _LEAST_CHARS:
            yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _masked_strings(strings: Iterable[str]) -> dict[str, str]:
    """Those of `strings` that hold secrets, with what to show instead."""
    pieces = {string: list(_pieces(string)) for string in strings if _may_hold(string)}
    changed = _masked_pieces(dict.fromkeys(piece for parts in pieces.values() for piece, may_hold in parts if may_hold))
    return {
        string: "\n".join(changed.get(piece, piece) for piece, _ in parts)
        for string, parts in pieces.items()
        if any(piece in changed for piece, _ in parts)
    }


def _may_hold(text: str) -> bool:
    low = text.lower()
    return any(word in low for word in _WORDS) or any(
        len(run) >= _RUN_CHARS and _DIGIT.search(run) for run in text.split()
    )


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of lines, those that may hold a secret with one line more on both sides, and those between."""
    lines = text.split("\n")
    near = [_may_hold(line) for line in lines]
    near = [any(near[max(0, number - 1) : number + 2]) for number in range(len(near))]
    for may_hold, numbers in groupby(range(len(lines)), near.__getitem__):
        yield "\n".join(lines[number] for number in numbers), may_hold


def _masked_pieces(pieces: Iterable[str]) -> dict[str, str]:
    from sage_code.text.masking import find  # lazy: compiles its rules, which the handshake need not wait for

    given = list(pieces)
    if not given:
        return {}
    changed: dict[str, list[str]] = {}
    start = number = done = 0  # of the piece that is looked at: where it begins, and how much of it is done
    for finding in find(_BETWEEN.join(given)):
        while finding.start >= start + len(given[number]) + len(_BETWEEN):
            start += len(given[number]) + len(_BETWEEN)
            number, done = number + 1, 0
        piece = given[number]
        first, last = finding.start - start, min(finding.end - start, len(piece))
        parts = changed.setdefault(piece, [])
        parts[-1:] = [
            piece[done:first],
            f"[masked: {finding.rule}]",
            "\n" * piece.count("\n", first, last),
            piece[last:],
        ]
        done = last
    return {piece: "".join(parts) for piece, parts in changed.items()}


def _replaced(value: Any, changed: dict[str, str]) -> Any:
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, dict):
        return {key: _replaced(item, changed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, changed) for item in value]
    return value


def _without(text: str, changed: dict[str, str]) -> str:
    """The text with the lines of `changed` as they are shown now."""
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
