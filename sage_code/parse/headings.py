"""The headings of prose: Markdown, reStructuredText, AsciiDoc and Org, read line by line.

A heading is a symbol of kind `section`, qualified by the headings above it (`Install.From source`). It reaches to the
next heading of the same or a higher level. The borders inside a section are between paragraphs, never in a fence.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from sage_code.parse.parsed import ParsedFile
from sage_code.values import Symbol

# A longer "heading" is a paragraph with a line below it.
_NAME_CHARS = 120
# How much of a title is read for its name: links and images are longer than their text.
_TITLE_BYTES = 8 * _NAME_CHARS
# A file with more headings is generated: a changelog of every commit, an index of every name.
_MAX_SECTIONS = 2000


class Heading(NamedTuple):
    """A heading of a file; rows count from 0."""

    level: int
    name: str
    row: int
    top: int  # its first row: that of an overline, or `row`
    signature: str


def sections(headings: Iterable[Heading], rows: int) -> tuple[Symbol, ...]:
    """The headings of a file of `rows` rows as nested symbols."""
    found = [heading for heading in headings if heading.name]
    ends = [rows] * len(found)
    qualnames: list[str] = []
    open_sections: list[int] = []
    for index, heading in enumerate(found):
        while open_sections and found[open_sections[-1]].level >= heading.level:
            ends[open_sections.pop()] = heading.top
        owner = f"{qualnames[open_sections[-1]]}." if open_sections else ""
        qualnames.append(owner + heading.name)
        open_sections.append(index)
    return tuple(
        Symbol("section", one.name, qualname, one.row + 1, one.top + 1, max(end, one.row + 1), one.signature)
        for one, qualname, end in zip(found, qualnames, ends, strict=True)
    )


# --- Markdown -----------------------------------------------------------------------------------------------

# The marks of headings, fences and comments; the rest is text.
_MARKS = re.compile(
    rb"^[ \t]*(?P<fence>```+|~~~+)(?P<info>[^\n]*)$"
    rb"|^ {0,3}(?P<atx>\#{1,6})[ \t]+(?P<title>[^\n]+)$"
    rb"|^ {0,3}(?P<underline>=+|-+)[ \t]*$"
    rb"|^[ \t]*<h(?P<tag>[1-6])\b[^>\n]{0,300}>"
    rb"|^[ \t]*(?P<comment><!--)",
    re.MULTILINE | re.IGNORECASE,
)
_NO_PARAGRAPH = re.compile(rb"\s|[-*+>|#]|\d+[.)]\s|<|$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_NOISE = re.compile(r"<[^<>]*>|\{[#.:][^{}]*\}\s*$|\s#+\s*$|^#+$|!\[\]\([^()]*\)")
# Bounded, because each mark is searched for its end, and a title may consist of marks.
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|\*|_|`{1,3})(\S(?:.{0,100}?\S)?)\1(?!\w)|`")
_ITEM = re.compile(rb"\s*(?:[-*+|]|\d+[.)])")


def markdown(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The sections of a Markdown file."""
    lines = source.split(b"\n")
    headings, fences = markdown_headings(source, lines)
    return ParsedFile(sections(headings, _last(lines)), _ProseBorders(lines, fences))


def markdown_headings(source: bytes, lines: list[bytes]) -> tuple[list[Heading], list[tuple[int, int]]]:
    """The headings, and the first and last rows of the fences."""
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    fence, fence_row = b"", 0
    position = row = 0
    skip_to = _front_matter_end(source)
    comments_close = True
    for mark in _MARKS.finditer(source, skip_to):
        start = mark.start()
        if start < skip_to:
            continue
        row += source.count(b"\n", position, start)
        position = start
        if mark["fence"]:
            if not fence and b"`" not in mark["info"]:
                fence, fence_row = mark["fence"], row
            elif fence and mark["fence"].startswith(fence) and not mark["info"].strip():
                fences.append((fence_row, row))
                fence = b""
        elif fence:
            continue
        elif mark["comment"]:
            end = source.find(b"-->", start) if comments_close else -1
            comments_close = end >= 0
            skip_to = max(skip_to, end)
        elif len(headings) >= _MAX_SECTIONS:
            break
        elif mark["atx"]:
            headings.append(markdown_heading(len(mark["atx"]), mark["title"], row, lines[row]))
        elif mark["tag"]:
            end = source.find(b"</h", mark.end(), mark.end() + 4 * _NAME_CHARS)
            if end >= 0:
                headings.append(markdown_heading(int(mark["tag"]), source[mark.end() : end], row, lines[row]))
        elif row and not _NO_PARAGRAPH.match(title := lines[row - 1]) and (row == 1 or not lines[row - 2].strip()):
            level = 1 if mark["underline"].startswith(b"=") else 2
            headings.append(markdown_heading(level, title, row - 1, title))
    if fence:
        fences.append((fence_row, len(lines)))
    return headings, fences


def markdown_heading(level: int, title: bytes, row: int, line: bytes) -> Heading:
    """A heading without the markup in its text."""
    name = _title(title)
    for _ in range(2):  # an image inside a link, emphasis inside emphasis
        name = _LINK.sub(r"\1", _NOISE.sub("", name))[: 2 * _NAME_CHARS]
        name = _EMPHASIS.sub(r"\2", name)
    return _heading(level, name, row, row, line)


def _title(written: bytes) -> str:
    """A title with single blanks, so that no pattern reads a run of blanks again and again."""
    return " ".join(written[:_TITLE_BYTES].decode("utf-8", "replace").split())


def _heading(level: int, name: str, row: int, top: int, line: bytes) -> Heading:
    signature = line[: 4 * _NAME_CHARS].decode("utf-8", "ignore").strip()
    return Heading(level, " ".join(name.split())[:_NAME_CHARS].rstrip(), row, top, signature)


def _front_matter_end(source: bytes) -> int:
    for fence in (b"---\n", b"+++\n"):
        if source.startswith(fence) and (end := source.find(b"\n" + fence[:3], 3)) >= 0:
            return end + 4
    return 0


class _ProseBorders:
    """Borders of prose: the beginnings of paragraphs, or else of list items and rows of a table."""

    def __init__(self, lines: list[bytes], fences: list[tuple[int, int]]) -> None:
        self._lines = lines
        self._fences = fences
        self._fence_starts = [start for start, _ in fences]

    def __call__(self, start_line: int, end_line: int) -> list[int]:
        rows = [row for row in range(start_line, min(end_line, len(self._lines))) if self._is_open(row)]
        begins = [row for row in rows if not self._lines[row - 1].strip() and self._lines[row][:1].strip()]
        if not begins:
            begins = [row for row in rows if _ITEM.match(self._lines[row])]
        return [row + 1 for row in begins]

    def _is_open(self, row: int) -> bool:
        """Whether a piece may begin at `row`, because it is not inside a fence."""
        index = bisect_right(self._fence_starts, row) - 1
        return index < 0 or row == self._fences[index][0] or row > self._fences[index][1]


# --- reStructuredText ---------------------------------------------------------------------------------------

_RULE = re.compile(rb"^([!-/:-@\[-`{-~])\1{2,}[ \t]*$", re.MULTILINE)
_ROLE = re.compile(r":[\w:+.-]{1,60}:`(?:[^`<]*<)?~?([^`<>]+)>?`")
_RST_MARKUP = re.compile(r"\*\*|\*|``|`__?|`|\|")


def rst(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The sections of a reStructuredText file; the level of an underline is that of its first use."""
    lines = source.split(b"\n")
    headings: list[Heading] = []
    levels: dict[bytes, int] = {}
    position = row = 0
    for rule in _RULE.finditer(source):
        if len(headings) >= _MAX_SECTIONS:
            break
        row += source.count(b"\n", position, rule.start())
        position = rule.start()
        title = lines[row - 1].rstrip() if row else b""
        if not title or _RULE.match(title) or len(title.decode("utf-8", "ignore")) > len(rule[0].rstrip()) + 1:
            continue
        above = lines[row - 2].rstrip() if row > 1 else b""
        has_overline = above[:1] == rule[1] and _RULE.match(above) is not None
        if not has_overline and (above or title[:1].isspace()):
            continue
        level = levels.setdefault(rule[1] * (1 + has_overline), len(levels) + 1)
        name = _RST_MARKUP.sub("", _ROLE.sub(r"\1", _title(title)))
        headings.append(_heading(level, name, row - 1, row - 1 - has_overline, title))
    return ParsedFile(sections(headings, _last(lines)), _ProseBorders(lines, []))


# --- AsciiDoc and Org ---------------------------------------------------------------------------------------

# A heading by its leading marks, and the lines that open and close a literal block.
_ASCIIDOC = re.compile(
    rb"^(?:(?P<marks>={1,6}|\#{1,6})[ \t]+(?P<title>[^\n]+)|(?P<block>-{4,}|\.{4,}|={4,}|\+{4,}|/{4,}))$", re.MULTILINE
)
_ORG = re.compile(
    rb"^(?:(?P<marks>\*{1,8})[ \t]+(?P<title>[^\n]+)|(?i:\#\+(?:begin|end)_(?P<block>src|example|quote)\b)[^\n]*)$",
    re.MULTILINE,
)
# States, priorities, counters and tags of Org are not part of a title.
_ORG_NOISE = re.compile(r"^(?:(?:TODO|DONE|NEXT|WAITING)\s+)?(?:\[#[A-Z]\]\s*)?|\s*\[\d*[/%]\d*\]|\s+:[\w@:]+:\s*$")


def asciidoc(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The sections of an AsciiDoc file."""
    return _marked(source, _ASCIIDOC)


def org(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The sections of an Org file."""
    return _marked(source, _ORG)


def _marked(source: bytes, pattern: re.Pattern[bytes]) -> ParsedFile:
    """The sections of a file whose headings have leading marks; `pattern` finds these and literal blocks."""
    lines = source.split(b"\n")
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    block, block_row = b"", 0
    position = row = 0
    for mark in pattern.finditer(source):
        row += source.count(b"\n", position, mark.start())
        position = mark.start()
        if mark["block"]:
            if not block:
                block, block_row = mark["block"], row
            elif block == mark["block"]:
                fences.append((block_row, row))
                block = b""
        elif not block and len(headings) < _MAX_SECTIONS:
            name = _ORG_NOISE.sub("", _RST_MARKUP.sub("", _title(mark["title"])))
            headings.append(_heading(len(mark["marks"]), name, row, row, lines[row]))
    return ParsedFile(sections(headings, _last(lines)), _ProseBorders(lines, fences))


def _last(lines: list[bytes]) -> int:
    return len(lines) - (not lines[-1])
