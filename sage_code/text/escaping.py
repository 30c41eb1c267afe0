"""Makes foreign text safe to print: file names, code and memories come from anybody, and both faces print them.

Characters that control a terminal, change the direction of text or are invisible are written as Python escapes: `\x1b`,
`\u202e`, `\U000e0041`. Everything else stays, with tabs and line ends. In a JSON document the escapes are JSON's own,
so that its readers get the original text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Controls, direction marks, invisible, blank and tag characters, lone surrogates and code points without a character.
# The mark for a coloured symbol is allowed behind a symbol: many a README has it.
_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![#*0-9\u00a9\u00ae\u203c-\u27ff\u2801-\u32ff\U0001f000-\U0001faff])\ufe0f"
)


def visible(text: str) -> str:
    """Foreign text with every unseen character escaped; lines and tabs stay."""
    if text.isascii() and (text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable()):
        return text  # nearly all texts
    import re  # lazy: a fifth of what `sage grep` takes

    return re.sub(_UNSEEN, _escaped, text)


def one_line(text: str) -> str:
    """Foreign text with every unseen character escaped, on one line."""
    return visible(text.replace("\n", "\\n"))


def in_json(document: str) -> str:
    """A JSON document with the same characters as JSON escapes, which every reader decodes."""
    if document.isascii() and document.isprintable():
        return document
    import json
    import re

    return re.sub(_UNSEEN, lambda found: json.dumps(found[0])[1:-1], document)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
