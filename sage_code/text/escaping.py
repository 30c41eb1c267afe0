"""Foreign text made visible: file names, code and memories come from anybody, and both faces print them.

What drives a terminal, reorders what is read or is not seen at all is written out as Python writes it: `\x1b`,
`\u202e`, `\U000e0041`. Everything else stays, tabs and line ends included. In a JSON document
the escapes are JSON's own, so that its readers get the very text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Controls, direction marks, invisible, blank and tag characters, lone surrogates and what is no character at all. The
# mark that asks for a coloured symbol is let through behind a symbol: it is in many a README.
_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![#*0-9\u00a9\u00ae\u203c-\u27ff\u2801-\u32ff\U0001f000-\U0001faff])\ufe0f"
)


def visible(text: str) -> str:
    """Foreign text with every unseen character written out; lines and tabs stay."""
    if text.isascii() and text.isprintable():  # nearly everything, and an expression would take longer to compile
        return text
    import re  # lazy: a fifth of what `sage grep` takes

    return re.sub(_UNSEEN, _written_out, text)


def one_line(text: str) -> str:
    """Foreign text as a part of one line of ours."""
    return visible(text.replace("\n", "\\n"))


def in_json(document: str) -> str:
    """A JSON document with the same characters written out as JSON does it, which every reader turns back."""
    if document.isascii() and document.isprintable():
        return document
    import json
    import re

    return re.sub(_UNSEEN, lambda found: json.dumps(found[0])[1:-1], document)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
