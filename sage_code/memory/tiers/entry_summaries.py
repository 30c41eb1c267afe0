"""The text of a summary that stands for entries, by the summariser that conversations have, within a token limit."""

from __future__ import annotations

from collections.abc import Sequence

from sage_code.memory.context.choosing import with_fallback
from sage_code.memory.context.summary import Summariser
from sage_code.memory.tiers.tables.entries import MemoryEntry, MemoryType
from sage_code.memory.tiers.values import Message
from sage_code.text.tokens import count_tokens, first_lines

_CUT = "..."
# A word of prose counts as 1.6 tokens and one of code as more: a summary of half as many words as tokens mostly fits.
_TOKENS_A_WORD = 2
_LEAST_WORDS = 10
_SPEAKERS = ("user", "assistant")


def condensed(entries: Sequence[MemoryEntry], summariser: Summariser | None, max_tokens: int) -> str:
    """The summary of entries, oldest first, in at most so many tokens. If a summariser fails, sentences are chosen."""
    messages = [_message(number, entry) for number, entry in enumerate(entries)]
    words = max(max_tokens // _TOKENS_A_WORD, _LEAST_WORDS)
    text = with_fallback(summariser).summarise(messages, words).text.strip()
    return first_lines(text, max_tokens) or cut_to(text.partition("\n")[0], max_tokens)


def cut_to(text: str, max_tokens: int) -> str:
    """A text, or its beginning with dots, in at most so many tokens."""
    if count_tokens(text) <= max_tokens:
        return text
    low, high = 0, len(text)  # the first `low` characters fit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_tokens(text[:middle] + _CUT) <= max_tokens else (low, middle - 1)
    return text[:low].rstrip() + _CUT if low else ""


def _message(number: int, entry: MemoryEntry) -> Message:
    """An entry as a summariser reads it. Who speaks may be in the metadata; else it is the agent."""
    said = entry.metadata.get("role")
    role = "summary" if entry.type is MemoryType.SUMMARY else said if said in _SPEAKERS else "assistant"
    return Message(number, entry.id, role, entry.content, entry.created_at, entry.session_id or "")
