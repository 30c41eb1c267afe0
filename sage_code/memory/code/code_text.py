"""Compares pieces of code: their content hash, a quotation for a memory, a short diff, and their likeness.

Line ends, trailing white space, blank lines around the piece and the indentation that all its lines share are ignored,
so that a formatter or a move into another block is no change. Everything else counts, including comments.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import xxhash

from sage_code.memory.files.code_ref import MAX_SNIPPET_LINES, bounded_snippet
from sage_code.memory.files.sections import trimmed

# Starts every hash, so that a new rule would not look like changed code. History: 1: first version.
_RULE = "1:"
_MAX_DIFF_LINES = 16
_MAX_DIFF_LINE_CHARS = 160


def normal_lines(lines: Sequence[str]) -> list[str]:
    """The lines of a piece without the white space that is ignored."""
    kept = trimmed([line.rstrip() for line in lines])
    indent = _shared_indent([line for line in kept if line])
    return [line[indent:] for line in kept] if indent else kept


def content_hash(lines: Sequence[str]) -> str:
    """The hash by which a piece of code is recognised."""
    return _RULE + xxhash.xxh3_128_hexdigest("\n".join(normal_lines(lines)).encode("utf-8", "surrogatepass"))


def quotation(lines: Sequence[str]) -> str:
    """The beginning of a piece, as a memory quotes it."""
    return bounded_snippet("\n".join(normal_lines(lines[: MAX_SNIPPET_LINES * 2])))


def short_diff(snippet: str, lines: Sequence[str]) -> str:
    """The diff between a quotation and the current code, up to the end of the quotation."""
    before = snippet.split("\n")
    after = normal_lines(lines)
    # A quotation may end in the middle of a line, so the code is cut in the same way.
    is_cut = len(before) >= MAX_SNIPPET_LINES or bounded_snippet(snippet + "\n\n") != snippet + "\n\n"
    now = quotation(lines).split("\n") if is_cut else after
    diff = list(difflib.unified_diff(before, now, "then", "now", n=1, lineterm=""))[2:]
    if not diff:
        return f"... the difference begins after the first {len(before)} lines"
    shown = [line[:_MAX_DIFF_LINE_CHARS] for line in diff[:_MAX_DIFF_LINES]]
    return "\n".join(shown + (["..."] if len(diff) > len(shown) else []))


def likeness(snippet: str, lines: Sequence[str]) -> float:
    """How much of a quotation is in a piece, 0 to 1."""
    before = [line.strip() for line in snippet.split("\n") if line.strip()]
    after = [line.strip() for line in lines[: MAX_SNIPPET_LINES * 2] if line.strip()][: len(before) + 4]
    if not before or not after:
        return 0.0
    return difflib.SequenceMatcher(None, before, after, autojunk=False).ratio()


def _shared_indent(lines: Sequence[str]) -> int:
    """The length of the white space that all lines begin with."""
    if not lines:
        return 0
    low, high = min(lines), max(lines)  # a prefix of the least and the greatest line is a prefix of all
    shared = 0
    while shared < len(low) and low[shared] == high[shared] and low[shared] in " \t":
        shared += 1
    return shared
