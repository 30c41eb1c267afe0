"""What somebody says in a message, without what is only shown there: code, quotations, tags of the client.

Every function is linear in the length of its text and takes any text, also one with broken markup.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Of longer messages, the beginning and the end count: a pasted log says little about the topic.
MAX_CHARS = 24_000
# Longer runs between quotation marks are not one quotation; the marks belong to two.
_MAX_QUOTED = 300
_MAX_WRAPPED_NAME = 40

_OPENING = re.compile(r"<([a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|think|thinking|system|tool|env)(?:\s[^<>\n]{0,200})?>", re.I)
_FENCE = re.compile(r"[ \t]{0,12}(?:[-*>] ?)?(`{3,}|~{3,})")
_INLINE = re.compile(r"(`{1,3})(?!`)[^`\n]{0,400}\1(?!`)")
_QUOTED = re.compile(rf"“[^“”\n]{{0,{_MAX_QUOTED}}}”|(?<![\w\"])\"[^\"\n]{{0,{_MAX_QUOTED}}}\"(?!\w)")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_LINK = re.compile(r"https?://\S{1,2000}")
# What clients write in the place of a message.
_BRACKETED = re.compile(r"\[(?:Request interrupted by user|Image)[^\]\n]{0,300}\]")


def said(text: str) -> str:
    """The prose of a message, with a blank in the place of everything else; lines stay lines."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    if "<" in text:
        text = _without_wrapped(text)
    text = "\n".join(_outside_of_fences(text))
    if "`" in text:
        text = _INLINE.sub(" ", text)
    if '"' in text or "“" in text:
        text = _QUOTED.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "://" in text:
        text = _LINK.sub(" ", text)
    return _BRACKETED.sub(" ", text) if "[" in text else text


def code_named(text: str) -> list[str]:
    """The short pieces of inline code of a message: names of files and of definitions."""
    return [found[0].strip("`") for found in _INLINE.finditer(text[:MAX_CHARS])] if "`" in text else []


def _outside_of_fences(text: str) -> Iterator[str]:
    """The lines that are neither in a block of code nor quoted."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark and not fence:
            fence = mark[1]
        elif fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif not line.lstrip().startswith(">"):
            yield line


def _without_wrapped(text: str) -> str:
    """The text without what a client wrapped into tags such as `<system-reminder>`; an unclosed one takes the rest."""
    kept: list[str] = []
    place = 0
    missing: set[str] = set()  # tags that are not closed again, so that they are not looked for twice
    while found := _OPENING.search(text, place):
        kept.append(text[place : found.start()])
        closing = f"</{found[1]}>"
        end = -1 if closing in missing else text.find(closing, found.end())
        if end < 0:
            missing.add(closing)
            place = found.end()
        else:
            place = end + len(closing)
    kept.append(text[place:])
    return " ".join(kept)
