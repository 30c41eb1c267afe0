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

# Patterns are strings, compiled by `re` when a text needs them: a hook is a new process each time.
_OPENING = r"(?i)<([a-z][a-z0-9]*(?:[-_][a-z0-9]+)+|think|thinking|system|tool|env)(?:\s[^<>\n]{0,200})?>"
_FENCE = r"[ \t]{0,12}(?:[-*>] ?)?(`{3,}|~{3,})"
_INLINE = r"(`{1,3})(?!`)[^`\n]{0,400}\1(?!`)"
_QUOTED = rf"“[^“”\n]{{0,{_MAX_QUOTED}}}”|(?<![\w\"])\"[^\"\n]{{0,{_MAX_QUOTED}}}\"(?!\w)"
_TAG = r"</?[A-Za-z][^<>\n]{0,200}>"
_LINK = r"https?://\S{1,2000}"
# What clients write in the place of a message.
_BRACKETED = r"\[(?:Request interrupted by user|Image)[^\]\n]{0,300}\]"


def said(text: str) -> str:
    """The prose of a message, with a blank in the place of everything else; lines stay lines."""
    if len(text) > MAX_CHARS:
        text = f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    if "<" in text:
        text = _without_wrapped(text)
    text = "\n".join(_outside_of_fences(text))
    if "`" in text:
        text = re.sub(_INLINE, " ", text)
    if '"' in text or "“" in text:
        text = re.sub(_QUOTED, " ", text)
    if "<" in text:
        text = re.sub(_TAG, " ", text)
    if "://" in text:
        text = re.sub(_LINK, " ", text)
    return re.sub(_BRACKETED, " ", text) if "[" in text else text


def _outside_of_fences(text: str) -> Iterator[str]:
    """The lines that are neither in a block of code nor quoted."""
    fence = ""
    for line in text.split("\n"):
        mark = re.match(_FENCE, line) if "```" in line or "~~~" in line else None
        if mark and not fence:
            fence = mark[1]
        elif fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif not line.lstrip().startswith(">"):
            yield line


def _without_wrapped(text: str) -> str:
    """The text without what a client wrapped into tags such as `<system-reminder>`; an unclosed one takes the rest."""
    opening = re.compile(_OPENING)
    kept: list[str] = []
    place = 0
    missing: set[str] = set()  # tags that are not closed again, so that they are not looked for twice
    while found := opening.search(text, place):
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
