"""The decorators and doc comments directly above a definition, and the text of a doc comment.

Comments are read from the lines, not from the tree: only the lines above a definition are needed, and asking the tree
for every comment of a file would cost more than finding all of its definitions.
"""

from __future__ import annotations

import inspect
import re
from bisect import bisect_right
from functools import cached_property

from tree_sitter import Node

from sage_code.languages.table import Language

DOCSTRING_CHARS = 1000
# A longer comment block above a definition is a licence or a chapter, not its documentation.
_MAX_BLOCK_LINES = 400
# How far to look for code after an attribute: the rest of a minified line must not be copied for each attribute.
_REST_BYTES = 80

_BODY_DOCSTRING = re.compile(rb'[rRuU]?("""|\'\'\'|"|\')(.*?)(?<!\\)\1', re.DOTALL)
_STRING_MARKS = re.compile(r"^(?:~[sS]|@doc|raw)?[\"']+|[\"']+$")
_BLANK = re.compile(rb"\s+")
# C#'s documentation is XML; `<see cref="Name"/>` means the name.
_XML_NAME = re.compile(r'<\w+ (?:cref|name|langword)="([^"<>]*)" ?/>')
_XML_TAG = re.compile(r"</?[a-z]+\b[^<>]*>")
# Shebangs and Rust's `//!` are about the whole file, Haskell's `{-#` is for the compiler.
_NOT_ABOVE = (b"#!", b"//!", b"{-#")
_LINE_MARKERS = re.compile(r"^\s*(/\*+!?|\(\*+|\{-(\s?\|)?|--\[=*\[|<#|\*|//+!?|#+'?|--+(\s\|)?|%+|;+|!+[<>]?)?\s?")


class LinesAbove:
    """The lines above the definitions of one file."""

    def __init__(self, lines: list[bytes], language: Language) -> None:
        self._lines = lines
        self._line_markers = tuple(marker.encode() for marker in language.line_comments)
        opening, closing = language.block_comments or ("", "")
        self._opening, self._closing = opening.encode(), closing.encode()
        self._attribute_above: dict[int, int] = {}  # row an attribute ends on: row it starts on
        self._attribute_doc: dict[int, str] = {}  # row an attribute ends on: the documentation in it
        self._attribute_at: dict[int, int] = {}  # byte an attribute starts at: byte it ends at
        self._last_row = -1
        # A marker counts after a blank only: `"http://"` and `x#y` hold no comment.
        self._line_comment = re.compile(rf"(?:^|\s)(?:{'|'.join(map(re.escape, language.line_comments)) or '$^'}).*")

    def note_attribute(self, node: Node, doc: str = "") -> None:
        """Remember a decorator, annotation or template clause, and the documentation that it holds."""
        self._attribute_at[node.start_byte] = node.end_byte
        row, column = node.end_point
        if doc:
            self._attribute_doc[row] = doc
        # `@Input() name` is no attribute *above* the next line; `@Input()` on a line of its own is.
        if row < len(self._lines) and not self._lines[row][column : column + _REST_BYTES].strip():
            start = node.start_point[0]
            self._attribute_above[row] = min(start, self._attribute_above.get(row, start))

    def after_attributes(self, source: bytes, start: int) -> int:
        """The offset of the code after the attributes that begin at `start`."""
        while (end := self._attribute_at.get(start)) is not None:
            blank = _BLANK.match(source, end)
            start = blank.end() if blank else end
        return start

    def without_comments(self, text: str) -> str:
        """A signature without the line comments between its parts."""
        return self._line_comment.sub("", text)

    def start_and_doc(self, row: int, name_row: int) -> tuple[int, str]:
        """The first row of a definition that starts on `row`, with the lines above it, and the text of its comment.

        Must be called in source order: only the first definition of a line owns the lines above. A definition may
        start with an annotation on a row above its name; other definitions on the row of the name own nothing above.
        """
        if row <= self._last_row:
            return row, ""
        self._last_row = max(row, name_row)
        comment: list[bytes] = []
        doc = ""
        while row > 0:
            text = self._lines[row - 1].strip()
            if row - 1 in self._attribute_above:
                doc = doc or self._attribute_doc.get(row - 1, "")
                row = self._attribute_above[row - 1]
            elif text.startswith(self._line_markers) and not text.startswith(_NOT_ABOVE):
                row -= 1
                comment.append(text)
            elif self._closing and text.endswith(self._closing) and (top := self._block_start(row - 1)) >= 0:
                comment.extend(reversed(self._lines[top:row]))
                row = top
            else:
                break
        return row, doc or (_comment_text(comment, self._closing.decode()) if comment else "")

    def _block_start(self, row: int) -> int:
        """The first row of the block comment that ends on `row`; -1 if there is code before it on its line."""
        index = bisect_right(self._opening_rows, row) - 1
        if index < 0 or row - (top := self._opening_rows[index]) >= _MAX_BLOCK_LINES:
            return -1
        # A comment after code on its line belongs to that code.
        line = self._lines[top].lstrip()
        return top if line.startswith(self._opening) and not line.startswith(_NOT_ABOVE) else -1

    @cached_property
    def _opening_rows(self) -> list[int]:
        # Found once for the file: each comment would search for its beginning otherwise.
        return [row for row, line in enumerate(self._lines) if self._opening in line]


def body_docstring(source: bytes, body_start: int) -> str:
    """The docstring at the beginning of a Python body, or nothing."""
    found = _BODY_DOCSTRING.match(source, body_start)
    if found is None:
        return ""
    return _clean(found[2][: 4 * DOCSTRING_CHARS].decode("utf-8", "ignore"))


def string_text(literal: str) -> str:
    """The text of a documentation string or comment, without its quotes or marks."""
    if literal.startswith("//"):
        return _comment_text([line.encode() for line in reversed(literal.rstrip().split("\n"))], "")
    return _clean(_STRING_MARKS.sub("", literal[: 4 * DOCSTRING_CHARS]))


def _clean(text: str) -> str:
    return inspect.cleandoc(text)[:DOCSTRING_CHARS].rstrip()


def _comment_text(lines_upwards: list[bytes], closing: str) -> str:
    """The text of a comment whose raw lines come from the bottom up."""
    words: list[str] = []
    size = 0
    for raw in reversed(lines_upwards):
        line = raw.decode("utf-8", "replace").rstrip()
        if closing and line.endswith(closing):
            line = line.removesuffix(closing).rstrip("*")
        line = _LINE_MARKERS.sub("", line, count=1).rstrip()
        if line or words:
            words.append(line)
            size += len(line) + 1
        if size > DOCSTRING_CHARS:
            break
    text = "\n".join(words)
    if text.startswith("<"):
        text = "\n".join(filter(None, map(str.strip, _XML_TAG.sub("", _XML_NAME.sub(r"\1", text)).split("\n"))))
    return text[:DOCSTRING_CHARS].rstrip()
