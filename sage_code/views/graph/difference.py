"""The difference between two versions of a file: its lines, masked, and the definitions that it touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.memory.code.code_files import CodeFile
from sage_code.text.masking import find, mask
from sage_code.values import Symbol
from sage_code.views.graph.breakage import innermost
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE

DefinitionChange: TypeAlias = Literal["added", "changed", "signature", "removed"]
Block: TypeAlias = tuple[int, int, int, int]  # lines of the old file from, to, and those of the new one instead

# Lines that are compared with each other after equal beginnings and ends are taken away: the time is their product.
_MAX_LINES = 4_000
# A diff is a reminder here, and an editor shows the rest.
_SHOWN_LINES = 80
_CONTEXT = 2
# Of these a signature says how they are used.
_CALLED = FUNCTION_LIKE | CLASS_LIKE


class DiffLine(NamedTuple):
    """A line of a diff; of a gap between two parts (kind `@`) the text is empty."""

    kind: str  # + - @ or blank
    old: int
    new: int
    text: str


@dataclass(frozen=True, slots=True)
class TouchedDefinition:
    """A definition that a change touches."""

    file: str
    change: DefinitionChange
    symbol: Symbol  # as it is now; if it was removed, as it was
    before: str = ""  # the signature that it had, if that has changed


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two versions of a file."""

    added: int
    removed: int
    definitions: tuple[TouchedDefinition, ...]
    lines: tuple[DiffLine, ...]
    lines_left: int  # lines of the diff that are not shown
    new_lines: tuple[tuple[int, int], ...] = ()  # what the new file has more or otherwise: first and last lines


def difference(path: str, old: str, new: str) -> Difference | None:
    """What differs; None if so many lines do that comparing them takes long."""
    before, after = CodeFile(path, old), CodeFile(path, new)
    blocks = _blocks(before.lines, after.lines)
    if blocks is None:
        return None
    added, removed = (sum(block[end] - block[start] for block in blocks) for start, end in ((2, 3), (0, 1)))
    lines = _diff(masked_lines(before), masked_lines(after), blocks)
    shown, left = tuple(lines[:_SHOWN_LINES]), max(len(lines) - _SHOWN_LINES, 0)
    new_lines = tuple((start + 1, end) for _, _, start, end in blocks if end > start)
    return Difference(added, removed, tuple(_touched(before, after, blocks)), shown, left, new_lines)


def _blocks(before: Sequence[str], after: Sequence[str]) -> list[Block] | None:
    """Where two files differ, 0-based; None if that would take long."""
    first = 0
    while first < min(len(before), len(after)) and before[first] == after[first]:
        first += 1
    same = 0
    while same < min(len(before), len(after)) - first and before[-1 - same] == after[-1 - same]:
        same += 1
    old, new = before[first : len(before) - same], after[first : len(after) - same]
    if not old or not new:
        return [(first, first + len(old), first, first + len(new))] if old or new else []
    if max(len(old), len(new)) > _MAX_LINES:
        return None
    codes = SequenceMatcher(None, old, new).get_opcodes()
    return [(a + first, b + first, c + first, d + first) for tag, a, b, c, d in codes if tag != "equal"]


def _touched(before: CodeFile, after: CodeFile, blocks: Iterable[Block]) -> Iterator[TouchedDefinition]:
    """The innermost definitions with changed lines, in the order of the file."""
    old, new = _symbols(before), _symbols(after)
    olds, news = {one.qualname: one for one in old}, {one.qualname: one for one in new}
    now = _at([at + 1 for _, _, start, end in blocks for at in range(start, end) if after.lines[at].strip()], new)
    then = _at([at + 1 for start, end, _, _ in blocks for at in range(start, end) if before.lines[at].strip()], old)
    for name in sorted(now | then, key=lambda name: (news.get(name) or olds[name]).line):
        change: DefinitionChange = "changed"
        if name not in olds:
            change = "added"
        elif name not in news:
            change = "removed"
        elif news[name].kind in _CALLED and olds[name].signature.split() != news[name].signature.split():
            change = "signature"
        symbol = news.get(name) or olds[name]
        shown = replace(symbol, signature=mask(symbol.signature)[0], docstring="")
        was = mask(olds[name].signature)[0] if change == "signature" else ""
        yield TouchedDefinition(after.path, change, shown, was)


def _at(lines: Iterable[int], symbols: Sequence[Symbol]) -> set[str]:
    """The names of the innermost definitions at some lines."""
    return {found.qualname for line in lines if (found := innermost(symbols, line))}


def _symbols(file: CodeFile) -> Sequence[Symbol]:
    """The definitions of a file; none if its grammar can end the process, which serves others too."""
    language = detect(file.path, file.text[:HEAD_BYTES].encode("utf-8", "replace"))
    return () if language is None or language.may_crash else file.symbols


def _diff(old: Sequence[str], new: Sequence[str], blocks: Sequence[Block]) -> list[DiffLine]:
    """The lines of the diff, with a few lines around each change."""
    lines: list[DiffLine] = []
    shown = 0  # lines of the new file that were passed
    for number, (a, b, c, d) in enumerate(blocks):
        first = max(c - _CONTEXT, shown)
        if first > shown:
            lines.append(DiffLine("@", 0, first + 1, ""))
        lines += [DiffLine(" ", at + 1 + a - c, at + 1, new[at]) for at in range(first, c)]
        lines += [DiffLine("-", at + 1, 0, old[at]) for at in range(a, b)]
        lines += [DiffLine("+", 0, at + 1, new[at]) for at in range(c, d)]
        following = blocks[number + 1][2] if number + 1 < len(blocks) else len(new)
        shown = min(d + _CONTEXT, following)
        lines += [DiffLine(" ", at + 1 + b - d, at + 1, new[at]) for at in range(d, shown)]
    return lines


def masked_lines(file: CodeFile) -> list[str]:
    """The lines of a file with every secret masked; there are as many as before."""
    text = "\n".join(file.lines)
    parts, done = [], 0
    for secret in find(text):
        lines = "\n" * text.count("\n", secret.start, secret.end)
        parts += [text[done : secret.start], f"[masked: {secret.rule}]", lines]
        done = secret.end
    return "".join([*parts, text[done:]]).split("\n") if file.lines else []
