"""Cuts a long message into passages, and gives the stems that are stored with a message.

A passage is about a paragraph, so that one good passage of a long answer is found and shown. Borders are, in this
order: ends of code blocks, paragraphs, lines, sentences, words. A short code block stays whole. The passages cover the
text, in order and without overlap.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sage_code.text.lexemes import split_word, words_of
from sage_code.text.stems import STOP_WORDS, stem

# About 130 words of English. Shorter passages lose their context, longer ones are about several things.
PART_CHARS = 800
# A message up to this length stays whole: a rest of a few words would be no passage.
WHOLE_CHARS = 1200
# A code block up to this length is not cut.
_BLOCK_CHARS = 1600
# Beyond this a new paragraph begins a new passage.
_ENOUGH_CHARS = 500
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n]*(?:\n|$)", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?。！？][\"')\]]*\s+")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*|\n(?=#{1,6} )")
_KEPT = 65_536

Span = tuple[int, int]


def parts(text: str) -> list[Span]:
    """The (start, end) offsets of the passages of a text; one passage for a short text."""
    if len(text) <= WHOLE_CHARS:
        return [(0, len(text))]
    found: list[Span] = []
    start = end = 0
    for unit_start, unit_end, begins_paragraph in _units(text):
        size = unit_end - start
        if end > start and (size > PART_CHARS or (begins_paragraph and end - start >= _ENOUGH_CHARS)):
            found.append((start, end))
            start = unit_start
        end = unit_end
    found.append((start, end))
    return found


def words_of_text(text: str) -> str:
    """The stems of a text without stop words, in order, separated by spaces; passages are separated by line ends."""
    return "\n".join(
        " ".join([stems for word in words_of(text[start:end]) if (stems := _stems(word))]) for start, end in parts(text)
    )


@lru_cache(maxsize=_KEPT)
def _stems(word: str) -> str:
    """The stems of one written word, separated by spaces; empty for a stop word."""
    return " ".join([stem(lexeme) for lexeme in split_word(word) if lexeme not in STOP_WORDS])


def _units(text: str) -> list[tuple[int, int, bool]]:
    """The smallest pieces of a text: short code blocks, lines and sentences; and which of them begin a paragraph."""
    units: list[tuple[int, int, bool]] = []
    for start, end, is_code in _blocks(text):
        if is_code and end - start <= _BLOCK_CHARS:
            units.append((start, end, False))
            continue
        paragraph = start
        for border in [*(match.end() for match in _PARAGRAPH.finditer(text, start, end)), end]:
            if border > paragraph:
                units += _lines(text, paragraph, border)
            paragraph = max(paragraph, border)
    return units


def _blocks(text: str) -> list[tuple[int, int, bool]]:
    """The code blocks of a text and what is between them; a fence that is never closed opens none."""
    blocks: list[tuple[int, int, bool]] = []
    done, opened, fence = 0, -1, ""
    for match in _FENCE.finditer(text):
        if opened < 0:
            opened, fence = match.start(), match[1]
        elif match[1].startswith(fence):
            if opened > done:
                blocks.append((done, opened, False))
            blocks.append((opened, match.end(), True))
            done, opened = match.end(), -1
    if done < len(text):
        blocks.append((done, len(text), False))
    return blocks


def _lines(text: str, start: int, end: int) -> list[tuple[int, int, bool]]:
    """The lines of a paragraph, whole if it is short; long lines are cut into sentences, and those at words."""
    if end - start <= PART_CHARS:
        return [(start, end, True)]
    units: list[tuple[int, int, bool]] = []
    first = True
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        for piece in _sentences(text, start, stop) if stop - start > PART_CHARS else [(start, stop)]:
            units.append((*piece, first))
            first = False
        start = stop
    return units


def _sentences(text: str, start: int, end: int) -> list[Span]:
    """The sentences of a long line; what is longer than a passage is cut at a space."""
    found: list[Span] = []
    for border in [*(match.end() for match in _SENTENCE_END.finditer(text, start, end)), end]:
        while border - start > PART_CHARS:
            cut = text.rfind(" ", start + PART_CHARS // 2, start + PART_CHARS) + 1 or start + PART_CHARS
            found.append((start, cut))
            start = cut
        if border > start:
            found.append((start, border))
            start = border
    return found
