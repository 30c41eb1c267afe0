"""Blanks what a grammar cannot read: conditionals and macros of C and similar languages, and more for a few others.

tree-sitter does not preprocess a file. That works if each branch of an `#if` holds whole statements, but a brace that
is opened in one branch and closed after the `#endif` costs all the definitions below it. `preprocessed` keeps all
offsets. It is only used on files that did not parse cleanly, and it keeps conditionals around whole statements,
because both branches define something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from sage_code.parse.blanking import TO_BLANKS, blank
from sage_code.parse.macros import blank_macros

_NOISE = re.compile(rb'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_CONTINUED = re.compile(rb"\\(?=\r?\n)")
_COMMENT = re.compile(rb"/\*.*?(?:(\*/)|\Z)", re.DOTALL)
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_CONDITIONALS = frozenset({b"if", b"ifdef", b"ifndef", b"elif", b"elifdef", b"elifndef", b"else", b"endif"})
# A branch is whole if the code before it and its own code end with one of these. A comma ends an enumerator, but
# also an initialiser of a constructor, which the grammar cannot read under an `#if`.
_STATEMENT_ENDS = b";{}:"
_LOOK_BACK = 4096
# Conditionals nested deeper than this are kept: each one is read as a whole, and real code does not nest so deep.
_MAX_NESTED = 40

# F#: its grammar cannot read empty comments and directives. Strings come first, since they may hold `//`.
_FSHARP = re.compile(rb'"""(?s:.*?)(?:"""|\Z)|@?"(?:\\(?s:.)|[^"\\])*(?:"|\Z)|(//[^\n]*|\(\*(?!\))(?s:.*?)(?:\*\)|\Z))')
_FSHARP_DIRECTIVE = re.compile(rb"^[ \t]*#(if|else|endif)\b[^\n]*", re.MULTILINE)
# Groovy: comments, the text of strings, arguments of annotations, annotations of parameters, `<?>`, stars of imports.
_GROOVY = re.compile(
    rb"(//[^\n]*|/\*(?s:.*?)(?:\*/|\Z))|('{3}|\"{3})(?s:((?:\\.|[^\\])*?))(?:\2|\Z)|(['\"])((?:\\.|(?!\4)[^\\\n])*+)(\4?)"
)
_GROOVY_BLANKED = (
    re.compile(rb"@[A-Za-z_][\w.]*\s*(\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))"),
    re.compile(rb"[(,]\s*(@[A-Za-z_][\w.]*)(?=\s)"),
    re.compile(rb"\w(<\?>)"),
    re.compile(rb"^[ \t]*import\s+(?:static\s+)?[\w.]+(\.\*)", re.MULTILINE),
)
# Swift: the directives of conditionals, whose branches are whole statements; and newer keywords of ownership.
_SWIFT = (
    re.compile(rb"^[ \t]*(#(?:if|elseif|else|endif)\b[^\n]*)", re.MULTILINE),
    re.compile(rb"\b(nonisolated\(unsafe\))"),
    re.compile(rb"[:(,=][ \t]*(sending|consuming|borrowing|consume|copy)[ \t]+(?=[@\w\[(])"),
)
# SQL: names in brackets, which the grammar only reads in backticks; not `a[1]` and `int[]`.
_SQL = re.compile(rb"(?<![\w\])\"])\[([A-Za-z_][\w $]*)\]")
# zsh: parameter flags, conditions, arithmetic and glob qualifiers, which the grammar of Bash cannot read.
_ZSH = (
    re.compile(rb"(?<=\$)\{[^{}\n]*\}"),
    re.compile(rb"(?<=\[\[ )[^\n]{0,300}?(?= \]\])"),
    re.compile(rb"(?<=\(\( )[^\n]{0,300}?(?= \)\))"),
    re.compile(rb"(?<=[\w*/])\([-./@^NDFonmOL0-9]+\)"),
)
_TO_WORD = bytes(byte if byte in b"\r\n" else 0x78 for byte in range(256))


def preprocessed(source: bytes, mode: str) -> bytes:
    """As many bytes and lines as `source`, but easier to parse; `mode` is the `preprocessor` of the language's row."""
    if mode == "fsharp":
        return _fsharp(source)
    if mode == "groovy":
        return _blanked(_GROOVY.sub(_without_text, source), _GROOVY_BLANKED)
    if mode == "sql":
        return _SQL.sub(rb"`\1`", source)
    if mode == "swift":
        return _blanked(source, _SWIFT)
    return _zsh(source) if mode == "zsh" else simplified(source, mode == "macros")


def simplified(source: bytes, macros: bool) -> bytes:
    """C with one branch kept of each conditional that is not whole and, if `macros`, with macros blanked."""
    out = bytearray(source)
    code = bytearray(_NOISE.sub(_as_blanks, source))
    _resolve_conditionals(out, code)
    if macros:
        blank_macros(out, code)
    return bytes(out)


def _as_blanks(found: re.Match[bytes]) -> bytes:
    """A comment or a string as blanks; a backslash at the end of a line stays, since it may continue a directive."""
    text = found[0].translate(TO_BLANKS)
    if b"\\" not in found[0] or b"\n" not in text:
        return text
    kept = bytearray(text)
    for continued in _CONTINUED.finditer(found[0]):
        kept[continued.start()] = ord("\\")
    return bytes(kept)


def _blank_closed(comment: re.Match[bytes]) -> bytes:
    """A comment of a directive as blanks; a comment that ends below the directive stays."""
    return _as_blanks(comment) if comment[1] else comment[0]


def _resolve_conditionals(out: bytearray, code: bytearray) -> None:
    """Blank broken conditionals in both texts, and all directives in `code`, which has no comments and strings."""
    directives = [(*found.span(), found[1], found[2].strip()) for found in _DIRECTIVE.finditer(code)]
    for start, end, word, _ in directives:
        blank(code, start, end)
        if word == b"define":  # the C grammar cannot read a comment in a macro
            out[start:end] = _COMMENT.sub(_blank_closed, out[start:end])
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
    """Blank the directives of one conditional and all branches but one, unless its branches are whole."""
    branches = [(before[1], after[0]) for before, after in pairwise(marks)]
    start = marks[0][0]
    before = bytes(code[max(0, start - _LOOK_BACK) : start]).rstrip()
    if before[-1:] in _STATEMENT_ENDS + b"," and all(_is_whole(code, *branch) for branch in branches):
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
    if 0 <= code.find(b"}", start, end) < code.find(b"{", start, end):  # `} else {` closes another branch's brace
        return False
    return balanced and code.count(b"(", start, end) == code.count(b")", start, end) and last in _STATEMENT_ENDS


def _fsharp(source: bytes) -> bytes:
    """F# without comments, and with the first branch of every conditional."""
    out = bytearray(_FSHARP.sub(lambda found: found[0].translate(TO_BLANKS) if found[1] else found[0], source))
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
    """`source` with the first group of each pattern blanked."""
    out = bytearray(source)
    for pattern in patterns:
        for found in pattern.finditer(bytes(out)):
            blank(out, *found.span(1))
    return bytes(out)


def _without_text(found: re.Match[bytes]) -> bytes:
    """A comment as blanks; a string as a word in its quotes, since it may be a name."""
    if found[1] is not None:
        return found[0].translate(TO_BLANKS)
    if found[2] is not None:
        return found[2] + found[3].translate(TO_BLANKS) + found[2][: len(found[0]) - len(found[2]) - len(found[3])]
    return found[4] + found[5].translate(_TO_WORD) + found[6]


def _zsh(source: bytes) -> bytes:
    for pattern in (_ZSH[0], _ZSH[0], *_ZSH):  # parameters nest
        source = pattern.sub(lambda found: found[0].translate(_TO_WORD), source)
    return source
