"""What a tool answers: text for whoever reads it, the same as data, and both within a budget of tokens.

File names and contents come from anybody. In the text each of their lines stands behind a line number or inside one of
our lines, without control or invisible characters, so that nothing in a repository can pass for an answer of Sage. The
data is JSON, which quotes by itself: there everything is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sage_code.text.escaping import visible
from sage_code.text.tokens import count_tokens

# What an answer may cost unless the agent says otherwise: text and data together stay below the 10,000 tokens at which
# clients begin to warn.
DEFAULT_TOKENS = 4_000
# Less has no room for one result with what is said around it.
LEAST_TOKENS = 400
MOST_TOKENS = 25_000
FOOT_TOKENS = 48
# What is cut when one result alone is too long; where it is and what it is called are not.
_LONG = ("snippet", "source", "docstring", "signature", "also", "features", "explain")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a tool."""

    text: str
    data: dict[str, Any]
    root: str = ""  # of the project that it is about
    truncated: bool = False
    next: str = ""  # how to get the rest


@dataclass(frozen=True, slots=True)
class Row:
    """One of the things that an answer lists."""

    text: str
    data: dict[str, Any]


def quoted(text: str, first_line: int, indent: str = "   ") -> str:
    """Lines of a file, each behind its number."""
    lines = text.split("\n")
    width = len(str(first_line + len(lines) - 1))
    return "\n".join(f"{indent}{number:>{width}} | {visible(line)}" for number, line in enumerate(lines, first_line))


def cost(row: Row) -> int:
    """What a row costs whoever is shown it: as text or as data, whichever is longer."""
    import orjson

    data = orjson.dumps(row.data).decode()
    in_data = count_tokens(data)
    # Counting takes a while: a text that is much shorter has no more tokens.
    return in_data if len(row.text) < 0.8 * len(data) else max(in_data, count_tokens(row.text))


def fit(rows: Iterable[Row], max_tokens: int) -> list[Row]:
    """The first rows that a budget has room for."""
    kept: list[Row] = []
    left = max_tokens
    for row in rows:
        left -= cost(row) + 1  # and what stands between two
        if left < 0:
            break
        kept.append(row)
    return kept


def cut(text: str, max_tokens: int) -> str:
    """The first whole lines of `text` that a budget has room for."""
    lines = text.split("\n")
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens("\n".join(lines[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return "\n".join(lines[:low])


def listing(
    head: str,
    key: str,
    rows: Sequence[Row],
    data: dict[str, Any],
    *,
    root: str,
    max_tokens: int,
    offset: int | None = None,
    more: bool = False,
    narrow: str = "",
) -> Answer:
    """An answer that lists `rows` under `key`, from the one at `offset` on; `more` says that others were not fetched.

    `narrow` says how else to come to the rest than by asking for the next ones or with a larger budget.
    """
    asked = rows[offset or 0 :]
    room = max_tokens - cost(Row(head, data)) - FOOT_TOKENS
    kept = fit(asked, room)
    if asked and not kept:
        kept = [_shortened(asked[0], room)]
    left = len(asked) - len(kept)
    truncated = left > 0 or more
    following = ""
    if truncated:
        count = f"{left}{' or more' if more else ''}" if left else "some"
        onward = "" if offset is None else f"offset={offset + len(kept)} or "
        following = f"{count} not shown: ask again with {onward}a larger max_tokens{narrow}"
    text = "\n".join([head, *(row.text for row in kept)])
    return Answer(text, {**data, key: [row.data for row in kept]}, root, truncated, following)


def _shortened(row: Row, room: int) -> Row:
    """The first row, when even that is too long: its long parts are cut, and those of its text."""
    share = room
    while share > 8 and cost(row) > room:
        share //= 2
        data = {name: _less(value, share) if name in _LONG else value for name, value in row.data.items()}
        row = replace(row, text=cut(row.text, max(share * 2, 8)) or row.text.partition("\n")[0], data=data)
    return row


def _less(value: Any, tokens: int) -> Any:
    if isinstance(value, str):
        return cut(value, tokens) or value[: tokens * 2]
    return type(value)() if isinstance(value, list | dict) else value
