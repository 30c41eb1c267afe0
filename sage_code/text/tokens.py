"""How many tokens a text costs an agent, and what fits into a budget of them; no model's own tokenizer is needed.

Tokenizers differ, so the estimate is on average a little too high for English, code and JSON.
Measured by `benchmarks/tokens.py` (2026-11-18) against Claude's published tokenizer and GPT-4o's, o200k_base; estimated
/ real, and the median error of a text:

| | Claude | o200k_base |
|---|---|---|
| prose | 1.11, 11 % | 1.16, 16 % |
| code | 1.15, 14 % | 1.26, 25 % |
| transcripts of agents | 1.19, 20 % | 1.18, 18 % |
| JSON | 1.08, 5 % | 1.11, 8 % |
| 14 other languages, emoji | 0.87, 11 % | 1.66, 34 % |

3 % of the prose messages and 15 % of the JSON files are counted more than 5 % too low for Claude, 1 % and 5 % for
o200k_base. The old tokenizer of Claude cuts other languages into far more pieces than newer ones do: it needs more than
is counted for Thai (0.54), Korean (0.72), Polish and German (0.78), while no language is below 1.03 for o200k_base.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    Item = TypeVar("Item")

# A word of code or prose in pieces, as tokenizers cut it: at capitals, and when it is long. Letters of other alphabets
# are mostly tokens by themselves, and so are signs but for those between the strings of JSON, which costs the same with
# and without blanks. A blank before a piece is read with it: no piece begins with one, so the count is the same, and it
# takes a third less time than to try each kind of piece at every blank.
_PIECE = re.compile(
    r" ?(?:[A-Z]?[a-z]{1,7}|[A-Z]{1,3}|[\u0400-\u04ff]{1,2}|[^\W\d_]|\d{1,3}|_+|[\"'][:,)\]] ?[\"']?|[^\w\s]|\n)"
)
# Accented Latin letters and emoji. An emoji is several tokens; and the words beside an accented letter are not English,
# so they are cut into shorter pieces than is counted here.
_DEAR = re.compile(r"[\u00c0-\u024f\u1e00-\u1eff\U0001f000-\U0001faff]")
_MORE_FOR_DEAR = 2  # brings German, French, Polish and emoji to 1.0 to 1.3 of o200k_base, from 0.85 to 1.1


def count_tokens(text: str) -> int:
    """The estimated number of tokens of `text`."""
    count = len(_PIECE.findall(text))  # thrice as fast as counting matches one by one
    return count if text.isascii() else count + _MORE_FOR_DEAR * len(_DEAR.findall(text))


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
