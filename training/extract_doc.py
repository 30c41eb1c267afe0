"""Take the documentation out of a definition's text, so that a pair's code does not contain its query.

Sage's reader says what the documentation is and which lines belong to a definition, but not on which of them it is.
This module finds it: comments above the name, a string at the beginning of a body, an attribute that documents.
"""

from __future__ import annotations

import re

from sage_code.languages.table import Language
from sage_code.values import Symbol

_DOC_ATTRIBUTE = re.compile(
    r'^[ \t]*@(?:doc|moduledoc|typedoc)[ \t]+(?:~[sS])?("""|\'\'\').*?\1[ \t]*\n'
    r"|^[ \t]*@(?:doc|moduledoc|typedoc)\b[^\n]*\n"
    r"|^[ \t]*#!?\[doc\s*=[^\n]*\n",
    re.DOTALL | re.MULTILINE,
)
_BODY_STRING = re.compile(
    r"((?:^|:|->[^\n]*:)[ \t]*(?:#[^\n]*)?\n\s*|:[ \t]*)[rRuUbB]{0,2}"
    r'("""|\'\'\'|"|\')((?:\\.|(?!\2).)*?)\2[ \t]*;?[ \t]*(?=\n|$|#)',
    re.DOTALL,
)
_WORDS = re.compile(r"[^\W_]+")
# A first line of fewer letters may occur in the code by chance.
_MIN_LEAK = 12


def without_doc(lines: list[str], symbol: Symbol, language: Language, end_line: int) -> str | None:
    """The lines of `symbol` up to `end_line` without its documentation; None if it could not be removed."""
    name_row = symbol.line - symbol.start_line
    own = lines[symbol.start_line - 1 : end_line]
    text = "\n".join([*_without_comments(own[:name_row], language), *own[name_row:]])
    if not symbol.docstring:
        return text
    if language.name == "elixir" or "#[doc" in text:
        text = _DOC_ATTRIBUTE.sub("", text)
    if language.docstring_in_body:
        text = _without_body_string(text, symbol.docstring)
    if leaks(text, symbol.docstring):
        text = _without_lines(text, symbol.docstring)
    return None if leaks(text, symbol.docstring) else text


def leaks(text: str, doc: str) -> bool:
    """Whether the beginning of a documentation can still be read in the text."""
    first = _first_line(doc)
    return len(first) >= _MIN_LEAK and first in text


def _first_line(doc: str) -> str:
    return next((line for raw in doc.split("\n") if len(line := raw.strip()) >= _MIN_LEAK), "")[:60]


def _without_comments(lines: list[str], language: Language) -> list[str]:
    """The lines above a name without the comments among them."""
    opening, closing = language.block_comments or ("", "")
    kept: list[str] = []
    inside = False
    for line in lines:
        text = line.strip()
        if inside:
            inside = closing not in text
        elif opening and text.startswith(opening):
            inside = closing not in text[len(opening) :]
        elif not text.startswith(language.line_comments or ("\0",)):
            kept.append(line)
    # A definition whose name stands on the last line of a comment does not exist.
    return lines if inside else kept


def _without_body_string(text: str, doc: str) -> str:
    start = _first_line(doc) or doc.strip()[:60]
    for found in _BODY_STRING.finditer(text):
        if start in found[3]:
            rest = text[found.end() :]
            before = text[: found.start()] + found[1].rstrip(" \t\n")
            return before + rest if rest.strip() else f"{before} ..."
    return text


def _without_lines(text: str, doc: str) -> str:
    """The last resort: remove every line that has the words of a line of the documentation."""
    said = {tuple(_WORDS.findall(line)) for line in doc.split("\n")} - {()}
    return "\n".join(line for line in text.split("\n") if tuple(_WORDS.findall(line)) not in said)
