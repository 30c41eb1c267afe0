"""The build stages of a Dockerfile: a stage reaches from one `FROM` to the next; its name is from `AS` or the image.

The file is read line by line, because no grammar has a node for a stage.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sage_code.parse.borders import between
from sage_code.parse.parsed import ParsedFile
from sage_code.values import Symbol

_INSTRUCTION = re.compile(rb"[ \t]*([A-Za-z]+)[ \t]+(.*)")
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?", re.IGNORECASE)
_NAME = re.compile(r"([A-Za-z_]\w*)(?==|\s|$)")
_PAIR = re.compile(r"""([A-Za-z_]\w*)=(?:"[^"]*+"|'[^']*+'|\\.|[^\s"'\\]++)*+""")
_HEREDOC = re.compile(rb"<<-?[\"']?(\w+)[\"']?")
_SIGNATURE_CHARS = 200
_MAX_SYMBOLS = 500


def dockerfile(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """Stages, and the arguments and environment variables that they set."""
    lines = source.split(b"\n")
    last = len(lines) - (not lines[-1])
    heredoc_ends = _heredoc_ends(source, lines)
    symbols: list[Symbol] = []
    starts: list[int] = []  # the lines on which an instruction, or the comment above it, begins
    stage = -1
    top = row = 0
    while row < last:
        text = lines[row].strip()
        if text.startswith(b"#") or not text:
            top = top if text else row + 1
            row += 1
            continue
        starts.append(top + 1)
        found = _INSTRUCTION.match(lines[row])
        end = _last_row(lines, row, heredoc_ends)
        if found is not None and len(symbols) < _MAX_SYMBOLS:
            word, rest = found[1].upper(), found[2][: 4 * _SIGNATURE_CHARS].decode("utf-8", "ignore")
            signature = text[: 4 * _SIGNATURE_CHARS].decode("utf-8", "ignore")[:_SIGNATURE_CHARS]
            if word == b"FROM" and (named := _FROM.match(rest)) is not None:
                if stage >= 0:
                    symbols[stage] = replace(symbols[stage], end_line=top)
                name = named[2] or named[1]
                stage = len(symbols)
                symbols.append(Symbol("stage", name, name, row + 1, top + 1, last, signature))
            elif word in (b"ARG", b"ENV"):
                owner = f"{symbols[stage].name}." if stage >= 0 else ""
                symbols.extend(
                    Symbol("variable", name, owner + name, line, top + 1, end + 1, signature)
                    for name, line in _variables(rest, lines, row, end)
                )
        row = top = end + 1
    symbols.sort(key=lambda symbol: (symbol.start_line, -symbol.end_line))
    return ParsedFile(tuple(symbols), partial(between, starts))


def _variables(first: str, lines: list[bytes], row: int, end: int) -> Iterator[tuple[str, int]]:
    """The names that ARG or ENV sets, with their lines: `A=1 B=2`, over several lines, or the old `A 1`."""
    pairs = [(name, row + 1) for name in _PAIR.findall(first)]
    yield from pairs or [(name, row + 1) for name in _NAME.findall(first)[:1]]
    for below in range(row + 1, end + 1):
        text = lines[below].strip()[: 4 * _SIGNATURE_CHARS]
        if not text.startswith(b"#"):
            yield from ((name, below + 1) for name in _PAIR.findall(text.decode("utf-8", "ignore")))


def _last_row(lines: list[bytes], row: int, heredoc_ends: dict[bytes, list[int]]) -> int:
    """The last row of the instruction that begins on `row`, with its continuations and here-documents."""
    marks: list[bytes] = []
    while True:
        text = lines[row].rstrip()
        is_comment = text.lstrip().startswith(b"#")
        if not is_comment:
            marks += _HEREDOC.findall(text)
        if row + 1 >= len(lines) or not (text.endswith(b"\\") or is_comment):
            break
        row += 1
    for mark in marks:
        ends = heredoc_ends.get(mark, [])
        index = bisect_right(ends, row)
        row = ends[index] if index < len(ends) else row
    return row


def _heredoc_ends(source: bytes, lines: list[bytes]) -> dict[bytes, list[int]]:
    """For each word that may end a here-document, the rows that consist of that word."""
    ends: dict[bytes, list[int]] = {mark: [] for mark in _HEREDOC.findall(source)}
    if ends:
        for row, line in enumerate(lines):
            if (found := ends.get(line.strip())) is not None:
                found.append(row)
    return ends
