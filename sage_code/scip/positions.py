"""From a position in a line, counted in bytes, UTF-16 units or code points, to the text there."""

from __future__ import annotations

from sage_code.scip.reader import UTF8, UTF16

# Tools that do not say how they count, and run on JavaScript, whose strings are UTF-16. The others count bytes.
_ON_JAVASCRIPT = frozenset({"scip-typescript", "scip-python"})


def encoding_of(declared: int, tool: str) -> int:
    """How a document counts columns."""
    if declared:
        return declared
    return UTF16 if tool in _ON_JAVASCRIPT else UTF8


def piece(line: str, start: int, end: int, encoding: int) -> tuple[int, str] | None:
    """The code point at which a range of a line begins, and its text; None if the range is not within the line."""
    if line.isascii() or encoding not in (UTF8, UTF16):
        return (start, line[start:end]) if start <= end <= len(line) else None
    unit, codec = (1, "utf-8") if encoding == UTF8 else (2, "utf-16-le")
    data = line.encode(codec, "replace")
    if not start <= end <= len(data) // unit:
        return None
    try:
        before, text = data[: start * unit].decode(codec), data[start * unit : end * unit].decode(codec)
    except UnicodeDecodeError:  # in the middle of a character
        return None
    return len(before), text
