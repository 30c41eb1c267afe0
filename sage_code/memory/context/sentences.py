"""Splits what was said into sentences: prose without code blocks, tables and headings, and without marks of lists.

A sentence is a part of its message as it was written; only blanks are folded. Checkpoints (`continuity/notes.py`) and
summaries choose from the same sentences. Only `re` is imported, because hooks come through here.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

CUT = "…"

_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NOT_PROSE = re.compile(r"^[ \t]*(?:\||#{1,6}[ \t]|>|<|[-=*_]{3,}\s*$|@@|\+\+\+|---|diff --git|\$ )")
# A stop ends a sentence before a capital or an opening mark, so that `e.g. this` and `3.5 s` are not torn. A title or
# an initial does not end one.
_TITLES = r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bvs\.)(?<!\b[A-HJ-Z]\.)"
_END = re.compile(
    rf"(?<=[.!?]){_TITLES}[ \t]+(?=[A-Z\"'`(\[*À-ÖØ-ÞА-Я])"
    r"|(?<=[!?])[ \t]+(?=[a-z])|(?<=[。！？])(?=[^」』”）])"
)
MARK_UP = re.compile(r"<[/!]?[a-z_][\w-]*>")


def prose_lines(text: str) -> Iterator[str]:
    """The lines of a message that are prose, without their marks of lists."""
    fence = ""
    for line in text.split("\n"):
        if mark := _FENCE.match(line):
            fence = "" if fence == mark[1] else fence or mark[1]
        elif not fence and line and not _NOT_PROSE.match(line):
            yield _LIST_MARK.sub("", line)


def split_line(line: str) -> list[str]:
    """The sentences of a line."""
    return _END.split(line)


def folded(text: str) -> str:
    """The text on one line, with single blanks."""
    return " ".join(text.split())


def clipped(text: str, limit: int) -> str:
    """The text on one line, cut between words if it is too long."""
    text = folded(text)
    return text if len(text) <= limit else f"{text[: limit - 2].rpartition(' ')[0]} {CUT}"
