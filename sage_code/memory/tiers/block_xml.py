r"""Blocks as the XML of a system prompt, and back.

The layout is fixed; the line ends after `<value>` and before `</value>` belong to it, not to the value. Markup in a
value is escaped as XML has it, and a carriage return is `&#13;`, because parsers turn a plain one into a line feed.

XML 1.0 has no way to write most control characters, halves of surrogate pairs, U+FFFE and U+FFFF. They become visible
escapes in Python's spelling: `\x1b`, `\ud800`, `\ufffe`. Backslashes stay as they are, except directly before text that
looks like such an escape: there each one is doubled, so an odd number before `x1b` means the character and an even one
the text. A value without such characters therefore reads the same in a parser, Windows paths and patterns included, and
`parse_compiled` gives every value back exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sage_code.errors import UsageError
from sage_code.memory.tiers.values import HUMAN, PERSONA, Block

_INTRODUCTION = "The following memory blocks are currently engaged in your core memory unit:"
# These come first, whatever other labels there are: an order that changes would empty the prompt cache.
_FIRST = (PERSONA, HUMAN)
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
# The escapes of exactly these characters.
_CODE = r"x(?:0[0-8bcef]|1[0-9a-f])|u(?:d[89a-f][0-9a-f]{2}|fff[ef])"
# A run of backslashes is looked at once, as a whole: a block of nothing else must not take quadratic time.
_TO_ESCAPE = re.compile(rf"(?<!\\)(?:(\\*+)({_FORBIDDEN})|(\\++)(?={_CODE}))")
_ESCAPED = re.compile(rf"(?<!\\)(\\++)({_CODE})")
_NEEDS_MARKUP = re.compile("[&<>\r]")


def compiled(blocks: Iterable[Block]) -> str:
    """The blocks as they stand in a system prompt."""
    return "\n".join(["<memory_blocks>", _INTRODUCTION, "", *map(_block, in_order(blocks)), "</memory_blocks>"])


def in_order(blocks: Iterable[Block]) -> list[Block]:
    """The blocks in the order of the prompt, which no edit changes."""
    return sorted(blocks, key=lambda block: (_rank(block.label), block.label))


def parse_compiled(xml: str) -> dict[str, str]:
    """The values by label, exactly as they were before `compiled`; UsageError if this is no such text."""
    from xml.etree import ElementTree  # lazy: only who reads the text back needs a parser

    if "<!" in xml:  # what `compiled` gives has no declarations; entities could grow without bound
        raise UsageError("this is no compiled memory: it has declarations", "give the text that `compile()` returned")
    try:
        root = ElementTree.fromstring(xml)  # noqa: S314 - without declarations there are no entities
    except ElementTree.ParseError as error:
        raise UsageError(f"this is no compiled memory: {error}", "give the text that `compile()` returned") from error
    if root.tag != "memory_blocks":
        raise UsageError("this is no compiled memory", "give the text that `compile()` returned")
    return {block.tag: _unescaped((block.findtext("value") or "\n\n")[1:-1]) for block in root}


def _rank(label: str) -> int:
    return _FIRST.index(label) if label in _FIRST else len(_FIRST)


def _block(block: Block) -> str:
    """One block, in the layout of the specification, with a blank line behind it."""
    return "\n".join(
        [
            f"<{block.label}>",
            "<description>", _escaped(block.description), "</description>",
            "<metadata>", f"- chars_current={len(block.value)}", f"- chars_limit={block.char_limit}", "</metadata>",
            "<value>", _escaped(block.value), "</value>",
            f"</{block.label}>",
            "",
        ]
    )  # fmt: skip


def _escaped(text: str) -> str:
    return _NEEDS_MARKUP.sub(lambda found: _MARKUP[found[0]], _TO_ESCAPE.sub(_with_code, text))


def _with_code(found: re.Match[str]) -> str:
    """Backslashes doubled, and the character behind them as its escape, if there is one."""
    if found[2] is None:
        return found[3] * 2
    code = ord(found[2])
    return found[1] * 2 + (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_without_code, text)


def _without_code(found: re.Match[str]) -> str:
    count, is_character = divmod(len(found[1]), 2)
    return "\\" * count + (chr(int(found[2][1:], 16)) if is_character else found[2])
