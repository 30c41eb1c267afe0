"""What a grammar cannot read, taken out: conditionals and macros of C and its kin, and more for a few others.

tree-sitter reads a file without preprocessing it. That works while each branch of an `#if` holds whole
statements; a brace opened in one branch and closed after the `#endif` costs every definition that follows.
`simplified` blanks what stands in the way, byte for byte, so that every position stays true. It is only used
on files that did not parse cleanly, and leaves conditionals around whole statements alone: both of their
branches define something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from sage_code.parse.blanking import BLANK, blank
from sage_code.parse.macros import take_out_macros

_NOISE = re.compile(rb'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_CONTINUED = re.compile(rb"\\(?=\r?\n)")
_COMMENT = re.compile(rb"/\*.*?(?:(\*/)|\Z)", re.DOTALL)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CONDITIONALS = frozenset({b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"})
# A branch may stand by itself when the code before it and its own code end with one of these. A comma ends
# an enumerator, but also one initialiser of a constructor, which the grammar cannot read under an `#if`.
_BORDERS = b";{}:"
_LOOK_BACK = 4096
# Conditionals inside conditionals that are looked at: each is read whole, and nobody writes more.
_MAX_NESTED = 40

# F#: its grammar trips over empty comments and over directives. Strings come first, for what looks like a comment.
_FSHARP = re.compile(rb'"""(?s:.*?)(?:"""|\Z)|@?"(?:\\(?s:.)|[^"\\])*(?:"|\Z)|(//[^\n]*|\(\*(?!\))(?s:.*?)(?:\*\)|\Z))')
_FSHARP_DIRECTIVE = re.compile(rb"^[ \t]*#(if|else|endif)\b[^\n]*", re.MULTILINE)
# Groovy: comments, what stands inside strings, arguments of annotations, annotated parameters, `<?>`, stars of imports.
_GROOVY = re.compile(
    rb"(//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|('{3}|\"{3})(?s:((?:\\.|[^\\])*?))(?:\2|\Z)|(['\"])((?:\\.|(?!\4)[^\\\n])*+)(\4?)"
)
_GROOVY_IN_THE_WAY = (
    re.compile(rb"@[A-Za-z_][\w.]*\s*(\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))"),
    re.compile(rb"[(,]\s*(@[A-Za-z_][\w.]*)(?=\s)"),
    re.compile(rb"\w(<\?>)"),
    re.compile(rb"^[ \t]*import\s+(?:static\s+)?[\w.]+(\.\*)", re.MULTILINE),
)
# Swift: conditionals, whose branches are whole statements, so that both may stay; and newer words of ownership.
_SWIFT = (
    re.compile(rb"^[ \t]*(#(?:if|elseif|else|endif)\b[^\n]*)", re.MULTILINE),
    re.compile(rb"\b(nonisolated\(unsafe\))"),
    re.compile(rb"[:(,=][ \t]*(sending|consuming|borrowing|consume|copy)[ \t]+(?=[@\w\[(])"),
)
# SQL: [name] in brackets, which the grammar only knows in backticks; `a[1]` and `int[]` are something else.
_SQL = re.compile(rb"(?<![\w\])\"])\[([A-Za-z_][\w $]*)\]")
# zsh's conditions, parameter flags, arithmetic and glob qualifiers, which the grammar of Bash cannot read.
_ZSH = (
    re.compile(rb"(?<=\$)\{[^{}\n]*\}"),
    re.compile(rb"(?<=\[\[ )[^\n]{0,300}?(?= \]\])"),
    re.compile(rb"(?<=\(\( )[^\n]{0,300}?(?= \)\))"),
    re.compile(rb"(?<=[\w*/])\([-./@^NDFonmOL0-9]+\)"),
)
_WORD = bytes(byte if byte in b"\r\n" else 0x78 for byte in range(256))


def preprocessed(source: bytes, how: str) -> bytes:
    """The same number of bytes and lines in a form that more of parses; `how` is what the language's row says."""
    if how == "fsharp":
        return _fsharp(source)
    if how == "groovy":
        return _blanked(_GROOVY.sub(_without_text, source), _GROOVY_IN_THE_WAY)
    if how == "sql":
        return _SQL.sub(rb"`\1`", source)
    if how == "swift":
        return _blanked(source, _SWIFT)
    return _zsh(source) if how == "zsh" else simplified(source, how == "macros")


def simplified(source: bytes, macros: bool) -> bytes:
    """The same bytes with broken conditionals resolved to one branch and, if asked, macros blanked."""
    out = bytearray(source)
    code = bytearray(_NOISE.sub(_overlooked, source))
    _resolve_conditionals(out, code)
    if macros:
        take_out_macros(out, code)
    return bytes(out)


def _overlooked(found: re.Match[bytes]) -> bytes:
    """A comment or a string as blanks; what continues a line stays, since a directive may go on behind it."""
    text = found[0].translate(BLANK)
    if b"\\" not in found[0] or b"\n" not in text:
        return text
    kept = bytearray(text)
    for continued in _CONTINUED.finditer(found[0]):
        kept[continued.start()] = ord("\\")
    return bytes(kept)


def _within(comment: re.Match[bytes]) -> bytes:
    """A comment of a directive as blanks; one that goes on below, without continuing the directive, stays a comment."""
    return _overlooked(comment) if comment[1] else comment[0]


def _resolve_conditionals(out: bytearray, code: bytearray) -> None:
    """Both texts are changed: `code` has neither comments nor strings, and loses its directives here."""
    directives = [(*found.span(), found[1], found[2].strip()) for found in _DIRECTIVE.finditer(code)]
    for start, end, word, _ in directives:
        blank(code, start, end)
        if word == b"define":  # the C grammar trips over a comment in a macro
            out[start:end] = _COMMENT.sub(_within, out[start:end])
    open_groups: list[list[tuple[int, int]]] = []
    conditions: list[bytes] = []
    for start, end, word, condition in directives:
        if word not in _CONDITIONALS:
            continue
        if word in (b"if", b"ifdef", b"ifndef"):
            open_groups.append([])
            conditions.append(condition)
        elif not open_groups:
            continue
        open_groups[-1].append((start, end))
        if word == b"endif":
            marks, condition = open_groups.pop(), conditions.pop()
            if len(open_groups) < _MAX_NESTED:
                _close_group(out, code, marks, condition)


def _close_group(out: bytearray, code: bytearray, marks: list[tuple[int, int]], condition: bytes) -> None:
    branches = [(before[1], after[0]) for before, after in pairwise(marks)]
    start = marks[0][0]
    before = bytes(code[max(0, start - _LOOK_BACK) : start]).rstrip()
    if before[-1:] in _BORDERS + b"," and all(_is_whole(code, *branch) for branch in branches):
        return
    kept = 0 if condition != b"0" else len(branches) - 1 or -1
    for index, branch in enumerate(branches):
        if index != kept:
            blank(out, *branch)
            blank(code, *branch)
    for mark in marks:
        blank(out, *mark)


def _is_whole(code: bytearray, start: int, end: int) -> bool:
    last = bytes(code[max(start, end - _LOOK_BACK) : end]).rstrip()[-1:]
    balanced = code.count(b"{", start, end) == code.count(b"}", start, end)
    if 0 <= code.find(b"}", start, end) < code.find(b"{", start, end):  # `} else {`: it closes what another one opens
        return False
    return balanced and code.count(b"(", start, end) == code.count(b")", start, end) and last in _BORDERS


def _fsharp(source: bytes) -> bytes:
    """Without comments, and with the first branch of every conditional."""
    out = bytearray(_FSHARP.sub(lambda found: found[0].translate(BLANK) if found[1] else found[0], source))
    starts: list[int] = []  # of the open conditionals: where a branch to drop starts, or -1
    for found in list(_FSHARP_DIRECTIVE.finditer(out)):
        if found[1] == b"if":
            starts.append(-1)
        elif starts and found[1] == b"else":
            starts[-1] = found.end()
        elif starts and (start := starts.pop()) >= 0 and len(starts) < _MAX_NESTED:
            blank(out, start, found.start())
        blank(out, *found.span())
    return bytes(out)


def _blanked(source: bytes, patterns: Iterable[re.Pattern[bytes]]) -> bytes:
    """Without what the first group of each pattern holds."""
    out = bytearray(source)
    for pattern in patterns:
        for found in pattern.finditer(bytes(out)):
            blank(out, *found.span(1))
    return bytes(out)


def _without_text(found: re.Match[bytes]) -> bytes:
    """A comment as blanks; a string with its quotes, since it may be a name, but without what they hold."""
    if found[1] is not None:
        return found[0].translate(BLANK)
    if found[2] is not None:
        return found[2] + found[3].translate(BLANK) + found[2][: len(found[0]) - len(found[2]) - len(found[3])]
    return found[4] + found[5].translate(_WORD) + found[6]


def _zsh(source: bytes) -> bytes:
    for pattern in (_ZSH[0], _ZSH[0], *_ZSH):  # parameters nest
        source = pattern.sub(lambda found: found[0].translate(_WORD), source)
    return source
