"""The lines of a file as coloured pieces: what a page prints, with secrets masked and unseen characters written out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from sage_code.settings.table import Settings
from sage_code.text.escaping import visible
from sage_code.views.code.colours import Span, colours, plain_colours
from sage_code.views.code.source import ShownSource, shown_source, tree_of

MASKED, UNSEEN = "masked", "unseen"
# As many lines are shown in colour before the whole of a long file is parsed: more than any screen has.
FIRST_LINES = 300
# A shorter file is parsed at once, in less than 20 ms.
_SHORT_FILE = 2_000


@dataclass(frozen=True, slots=True)
class Link:
    """Where a name of a line leads to."""

    file: str
    line: int
    qualname: str
    kind: str  # of the definition: function, class ...
    confidence: float = 1.0
    why: str = ""
    is_definition: bool = False  # the name is defined here: it leads to its uses
    uses: int = 0  # of a definition: how many references have its name


class Leaf(NamedTuple):
    """A piece of a line."""

    text: str
    colour: str = ""
    link: Link | None = None


Line = tuple[Leaf, ...]
# In a line: where a link begins and ends.
LinkSpan = tuple[int, int, Link]


@dataclass(frozen=True, slots=True)
class ColouredLines:
    """Lines of a file."""

    path: str
    language: str  # empty: unknown
    content_hash: str  # of the file, to notice that it has changed
    size: int
    count: int  # lines of the whole file
    masked: int  # secrets of the whole file
    first: int  # the number of the first of these lines
    lines: tuple[Line, ...]
    in_colour: int  # how many of these lines, from the first


def coloured(
    root: str, settings: Settings, path: str, first: int = 1, last: int | None = None, *, at_once: bool = False
) -> ColouredLines:
    """The lines `first` to `last` of a file in colour.

    `at_once` is for the first look at a long file: only its beginning has colours, and is parsed without the rest.
    """
    source = shown_source(root, settings, path)
    count = len(source.lines)
    first, last = max(1, first), min(count, count if last is None else last)
    if at_once and count > _SHORT_FILE:
        beginning = coloured_lines(source, first, min(last, first + FIRST_LINES - 1), whole=source.is_parsed)
        rest = tuple(_plain_line(text) for text in source.lines[first - 1 + len(beginning) : last])
        return as_lines(source, first, beginning + rest, len(beginning))
    return as_lines(source, first, coloured_lines(source, first, last))


def as_lines(source: ShownSource, first: int, lines: tuple[Line, ...], in_colour: int | None = None) -> ColouredLines:
    """Lines with what is known of their file."""
    name = source.language.name if source.language else ""
    in_colour = len(lines) if in_colour is None else in_colour
    return ColouredLines(
        source.path,
        name,
        source.content_hash,
        source.size,
        len(source.lines),
        len(source.masked),
        first,
        lines,
        in_colour,
    )


def coloured_lines(
    source: ShownSource, first: int, last: int, links: Sequence[Sequence[LinkSpan]] = (), *, whole: bool = True
) -> tuple[Line, ...]:
    """The lines of a range, with the links of each; `whole`: the tree is that of the whole file."""
    if last < first:
        return ()
    texts = source.lines[first - 1 : last]
    before = "\n".join(source.lines[: first - 1]) + ("\n" if first > 1 else "")
    part = "\n".join(texts)
    start = len(before.encode())
    data = part.encode()
    spans = _spans(source, start, start + len(data), part if not whole else None)
    masks = [
        (a - len(before), b - len(before)) for a, b in source.masked if b > len(before) and a < len(before) + len(part)
    ]
    by_line = _by_line(texts, spans, start)
    masked = _by_line_chars(texts, masks)
    made = []
    for number, text in enumerate(texts):
        linked = links[number] if number < len(links) else ()
        made.append(_line(text, by_line[number], masked.get(number, ()), linked))
    return tuple(made)


def _spans(source: ShownSource, start: int, end: int, beginning: str | None) -> list[Span]:
    """The colours between two offsets of the whole text, in bytes."""
    tree = source.tree() if beginning is None else tree_of(beginning, source.language)
    if tree is not None:
        data = source.text.encode() if beginning is None else beginning.encode()
        return colours(tree, data, start, end)
    data = (source.text if beginning is None else beginning).encode()
    return [span for span in plain_colours(data, source.language) if span[1] > start and span[0] < end]


def _by_line(texts: Sequence[str], spans: Iterable[Span], start: int) -> list[list[tuple[int, int, str]]]:
    """The spans of each line, in characters; a span of several lines is cut at their ends."""
    starts = line_starts(texts, start)
    found: list[list[tuple[int, int, str]]] = [[] for _ in texts]
    for first, last, colour in spans:
        number = max(0, bisect_right(starts, first) - 1)
        while number < len(texts) and starts[number] < last:
            low, high = max(first, starts[number]) - starts[number], min(last, starts[number + 1] - 1) - starts[number]
            if high > low:
                found[number].append((*_characters(texts[number], low, high), colour))
            number += 1
    return found


def line_starts(texts: Sequence[str], start: int = 0) -> list[int]:
    """Where each line begins, in bytes, and where one after the last would."""
    starts = [start]
    for text in texts:
        starts.append(starts[-1] + (len(text) if text.isascii() else len(text.encode())) + 1)
    return starts


def _characters(text: str, low: int, high: int) -> tuple[int, int]:
    """Offsets in characters from offsets in bytes."""
    if text.isascii():
        return low, high
    data = text.encode()
    first = len(data[:low].decode("utf-8", "ignore"))
    return first, first + len(data[low:high].decode("utf-8", "ignore"))


def _by_line_chars(texts: Sequence[str], spans: Iterable[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Spans of a text by the number of their line; none goes over the end of a line."""
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)
    found: dict[int, list[tuple[int, int]]] = {}
    for first, last in spans:
        number = max(0, bisect_right(starts, first) - 1)
        if number < len(texts):
            found.setdefault(number, []).append((max(0, first - starts[number]), last - starts[number]))
    return found


def _line(
    text: str, spans: Sequence[tuple[int, int, str]], masks: Sequence[tuple[int, int]], links: Sequence[LinkSpan]
) -> Line:
    """A line in pieces that have one colour and one link each."""
    if not spans and not masks and not links:
        return _plain_line(text)
    cuts = {0, len(text)}
    for group in (spans, masks, links):
        for one in group:
            cuts.update((one[0], one[1]))
    edges = sorted(cut for cut in cuts if 0 <= cut <= len(text))
    made: list[Leaf] = []
    at = [0, 0]
    for low, high in pairwise(edges):
        while at[0] < len(spans) and spans[at[0]][1] <= low:
            at[0] += 1
        while at[1] < len(links) and links[at[1]][1] <= low:
            at[1] += 1
        colour = spans[at[0]][2] if at[0] < len(spans) and spans[at[0]][0] <= low else ""
        link = links[at[1]][2] if at[1] < len(links) and links[at[1]][0] <= low else None
        if any(first <= low < last for first, last in masks):
            colour, link = MASKED, None
        made += _seen(Leaf(text[low:high], colour, link))
    return tuple(made)


def _plain_line(text: str) -> Line:
    return tuple(_seen(Leaf(text))) if text else ()


def _seen(leaf: Leaf) -> Iterator[Leaf]:
    """A piece with its unseen characters as pieces of their own, written out."""
    text = leaf.text
    if visible(text) == text:
        yield leaf
        return
    for part in re.split(r"([^\x20-\x7e\t]+)", text):
        shown = visible(part)
        if shown == part:
            if part:
                yield leaf._replace(text=part)
            continue
        for sign in part:
            written = visible(sign)
            yield Leaf(written, UNSEEN) if written != sign else leaf._replace(text=sign)
