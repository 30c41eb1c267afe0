"""Lines of code as a page shows them: with their numbers, the words that match marked, and secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sage_code.text.masking import find

Mark = Literal["", "match", "masked"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line that looks the same throughout."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of a file."""

    number: int
    pieces: tuple[Piece, ...]
    best: bool = False  # whether it matches best


def shown_lines(text: str, first: int, spans: Sequence[tuple[int, int]] = (), best: int = 0) -> tuple[FoundLine, ...]:
    """The lines of a text that begins at line `first`; `spans` are the offsets of what matches.

    A secret of several lines is masked in its first one, and the others stay as empty lines: the numbers are right.
    """
    rows: list[list[Piece]] = [[]]
    for piece in _pieces(text, spans):
        parts = piece.text.split("\n") if piece.mark != "masked" else [piece.text]
        for number, part in enumerate(parts):
            if number:
                rows.append([])
            if part:
                rows[-1].append(Piece(part, piece.mark))
    return tuple(FoundLine(first + at, tuple(row), first + at == best) for at, row in enumerate(rows))


def _pieces(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The text in its order; a secret hides the matches in it."""
    done = 0
    for secret in find(text):
        yield from _matched(text, done, secret.start, spans)
        yield Piece(f"[masked: {secret.rule}]", "masked")
        if lines := text.count("\n", secret.start, secret.end):
            yield Piece("\n" * lines)
        done = secret.end
    yield from _matched(text, done, len(text), spans)


def _matched(text: str, start: int, end: int, spans: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """A part of the text without secrets."""
    for first, last in spans:
        first, last = max(first, start), min(last, end)
        if first >= last:
            continue
        if start < first:
            yield Piece(text[start:first])
        yield Piece(text[first:last], "match")
        start = last
    if start < end:
        yield Piece(text[start:end])


def occurrences(text: str, wanted: str) -> tuple[tuple[int, int], ...]:
    """Where a text has another one, as it is written."""
    found = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append((at, at + len(wanted)))
        at = text.find(wanted, at + len(wanted))
    return tuple(found)


def marked_words(text: str, words: Sequence[str]) -> tuple[Piece, ...]:
    """A piece of code with the words of a question marked; the words are in lower case."""
    lowered = text.lower()
    if len(lowered) != len(text):  # offsets would differ: a few letters have a longer lower case
        return (Piece(text),)
    spans = sorted(span for word in words for span in occurrences(lowered, word))
    return tuple(_matched(text, 0, len(text), spans))
