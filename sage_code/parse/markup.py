"""Markup with scripts in it: HTML pages, and the components of Vue, Svelte and Astro.

To parse a script, everything around it is blanked, so that its lines keep their numbers. The markup of a page gives its
headings, as sections, and the ids that links and scripts use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from html import unescape
from typing import NamedTuple

from sage_code.parse.blanking import TO_BLANKS
from sage_code.parse.borders import Borders, IndentBorders, between, first_of
from sage_code.parse.headings import markdown_heading, sections
from sage_code.parse.parsed import ParsedFile, ParseInside
from sage_code.parse.reference_codec import References
from sage_code.values import Reference, Symbol

# Every repetition is bounded or possessive: the cost of a tag does not depend on the text after it.
_TAG = re.compile(
    rb"<!--"
    rb"|<(?P<raw>script|style)\b(?P<attributes>(?:[^\"'<>]{1,300}+|\"[^\"]{0,500}+\"|'[^']{0,500}+'){0,40}+)>"
    rb"|<h(?P<level>[1-6])\b[^>]{0,500}+>"
    rb"|<[a-z][\w:.-]{0,60}+\s[^<>]{0,500}?(?<![\w-])id\s?=\s?[\"'](?P<id>[\w:.-]{1,100}+)[\"']",
    re.IGNORECASE,
)
_LANG = re.compile(rb"""\blang\s*=\s*["']?(\w+)""", re.IGNORECASE)
_TYPE = re.compile(rb"""\btype\s*=\s*["']?([\w/+.-]+)""", re.IGNORECASE)
_SCRIPT_TYPES = (b"module", b"text/javascript", b"application/javascript", b"text/babel", b"text/ecmascript")
_BLOCK = re.compile(rb"^<(?:script|template|style)\b", re.MULTILINE | re.IGNORECASE)
_FENCED_SCRIPT = re.compile(rb"\s*---[ \t]*\n(.*?)^---[ \t]*$", re.MULTILINE | re.DOTALL)
_MAX_ANCHORS = 300
_HEADING_BYTES = 480


class _Markup(NamedTuple):
    scripts: list[tuple[int, int, str]]  # start, end, language
    headings: list[tuple[int, int, bytes]]  # level, where it starts, its text
    anchors: list[tuple[int, int, str]]  # where an element and its id start, the id


def html(source: bytes, parse_inside: ParseInside) -> ParsedFile:
    """The headings and ids of a page, and what its scripts define."""
    markup = _scan(source)
    lines = source.split(b"\n")
    row_of = _rows(source)
    headings = []
    for level, start, text in markup.headings:
        row = row_of(start)
        headings.append(markdown_heading(level, unescape(text.decode("utf-8", "replace")).encode(), row, lines[row]))
    symbols = list(sections(headings, len(lines) - (not lines[-1])))
    for start, name_at, name in markup.anchors:
        first, line = row_of(start) + 1, row_of(name_at) + 1
        signature = source[start : start + _HEADING_BYTES].partition(b"\n")[0].partition(b">")[0] + b">"
        symbols.append(Symbol("anchor", name, name, line, first, line, signature.decode("utf-8", "ignore")))
    return _joined(source, markup.scripts, symbols, parse_inside)


def component(source: bytes, parse_inside: ParseInside) -> ParsedFile:
    """What the scripts of a Vue or Svelte component, or the head of an Astro page, define."""
    scripts = _scan(source).scripts
    if (head := _FENCED_SCRIPT.match(source)) is not None:
        scripts.insert(0, (*head.span(1), "typescript"))
    return _joined(source, scripts, [], parse_inside)


def _scan(source: bytes) -> _Markup:
    """One pass over the tags that skips comments, scripts and styles."""
    markup = _Markup([], [], [])
    position = 0
    unclosed: set[bytes] = set()
    while (tag := _TAG.search(source, position)) is not None:
        position = tag.end()
        raw = tag["raw"]
        if raw is None and tag["level"] is None and tag["id"] is None:
            position = _end_of(source, b"-->", position, unclosed)
        elif raw is not None:
            if tag["attributes"].endswith(b"/"):
                continue
            end = _closing(source, raw, position, unclosed)
            if raw.lower() == b"script" and (language := _script_language(tag["attributes"])):
                markup.scripts.append((position, end, language))
            position = end
        elif tag["level"] is not None:
            end = source.find(b"</h", position, position + _HEADING_BYTES)
            if end >= 0 and len(markup.headings) < _MAX_ANCHORS:
                markup.headings.append((int(tag["level"]), tag.start(), source[position:end]))
        elif len(markup.anchors) < _MAX_ANCHORS:
            markup.anchors.append((tag.start(), tag.start("id"), tag["id"].decode("utf-8", "replace")))
    return markup


def _end_of(source: bytes, mark: bytes, position: int, unclosed: set[bytes]) -> int:
    """The offset after the next `mark`, or `position`; a mark that was missing once is not searched for again."""
    end = -1 if mark in unclosed else source.find(mark, position)
    if end < 0:
        unclosed.add(mark)
        return position
    return end + len(mark)


def _closing(source: bytes, raw: bytes, position: int, unclosed: set[bytes]) -> int:
    for mark in (b"</" + raw.lower(), b"</" + raw):
        end = _end_of(source, mark, position, unclosed)
        if end != position:
            return end - len(mark)
    return len(source) if raw.lower() == b"script" else position


def _script_language(attributes: bytes) -> str:
    kind = _TYPE.search(attributes)
    if kind is not None and kind[1].lower() not in _SCRIPT_TYPES:
        return "typescript" if kind[1].lower() in (b"text/typescript", b"ts") else ""
    lang = _LANG.search(attributes)
    name = lang[1].lower() if lang else b"js"
    return {b"ts": "typescript", b"typescript": "typescript", b"tsx": "tsx", b"coffee": ""}.get(name, "javascript")


def _joined(
    source: bytes, scripts: list[tuple[int, int, str]], symbols: list[Symbol], parse_inside: ParseInside
) -> ParsedFile:
    """The symbols of the file and of its scripts; all scripts of one language are parsed together."""
    row_of = _rows(source)
    references: list[Reference] = []
    inner_borders: list[Borders] = []
    for language in dict.fromkeys(language for _, _, language in scripts):
        blanked = bytearray(source.translate(TO_BLANKS))
        for start, end, other in scripts:
            if other == language:
                blanked[start:end] = source[start:end]
        inside = parse_inside(bytes(blanked), language)
        if inside is not None:
            symbols.extend(inside.symbols)
            references.extend(inside.references)
            inner_borders.append(inside.borders)
    symbols.sort(key=lambda symbol: (symbol.start_line, -symbol.end_line))
    references.sort(key=lambda reference: reference.line)
    # Cut between the blocks of a component, then between statements of its scripts, then by indentation.
    blocks = [row_of(block.start()) + 1 for block in _BLOCK.finditer(source)]
    borders = first_of(partial(between, blocks), partial(_all_of, inner_borders), IndentBorders(source))
    return ParsedFile(tuple(symbols), borders, References.of(references))


def _all_of(inner: list[Borders], start_line: int, end_line: int) -> list[int]:
    return sorted({line for borders in inner for line in borders(start_line, end_line)})


def _rows(source: bytes) -> Callable[[int], int]:
    """Tells the row of an offset."""
    starts = [found.end() for found in re.finditer(rb"\n", source)]
    return partial(bisect_right, starts)
