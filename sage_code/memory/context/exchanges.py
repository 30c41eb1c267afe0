"""Messages as items of a transcript: whole exchanges, each a user's message with what was answered to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sage_code.memory.context.components import Piece
from sage_code.text.escaping import one_line
from sage_code.text.tokens import count_tokens

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Spoken

_MAX_NAME_CHARS = 60
# The lines of a message behind its first one: no message can begin a line as another speaker would.
_INDENT = "\n  "


def exchanges(messages: Sequence[Spoken], *, max_chars: int = 0, has_counts: bool = False) -> list[Piece]:
    """The messages, oldest first, as exchanges of lines `Name: text`.

    A message that is longer than `max_chars` is cut there (0: none is). `has_counts` says that the `tokens` of the
    messages were counted with the counter in use, as those of `tiers.values.Message` are unless another number was
    given when they were stored; they are not counted again then.
    """
    names: dict[str, tuple[str, int]] = {}
    found: list[Piece] = []
    texts: list[str] = []
    tokens, is_counted = 0, has_counts
    for message in messages:
        if message.role == "user" and texts:
            found.append(Piece("\n".join(texts), tokens if is_counted else 0))
            texts, tokens, is_counted = [], 0, has_counts
        who = message.speaker or message.role
        name, cost = names.get(who) or names.setdefault(who, _name(who))
        content = message.content
        if 0 < max_chars < len(content):
            content = content[:max_chars].rstrip() + " …"
        known = getattr(message, "tokens", 0) if content is message.content else 0
        is_counted = is_counted and known > 0
        tokens += known + cost
        texts.append(f"{name}: {content.replace(chr(10), _INDENT) if chr(10) in content else content}")
    if texts:
        found.append(Piece("\n".join(texts), tokens if is_counted else 0))
    return found


def _name(who: str) -> tuple[str, int]:
    """A name as it is shown, and the tokens that it adds to a message, with the end of the line."""
    name = one_line(who[:_MAX_NAME_CHARS].replace(":", " ")).strip() or "?"  # a colon would end the name
    return name, count_tokens(f"{name}: \n")
