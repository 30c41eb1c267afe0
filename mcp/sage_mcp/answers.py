"""The answer of a tool: text for the model, the same as data, and both within a budget of tokens.

File names and contents may be hostile. In the text each of their lines follows a line number or is a part of one of our
lines, without control or invisible characters, so that nothing in a repository can pass for an answer of Sage. The
data is JSON, which quotes by itself: there everything is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sage_code.text.escaping import visible
from sage_code.text.tokens import count_tokens, first_lines, fit

# The cost of an answer unless the agent asks for another: text and data together stay below the 10,000 tokens at which
# clients begin to warn.
DEFAULT_TOKENS = 4_000
# Less has no room for one result and the lines around it.
LEAST_TOKENS = 400
MOST_TOKENS = 25_000
# Kept free for the last line, which says how to get the rest.
FOOT_TOKENS = 48
# When one result alone is too long, texts beyond this are cut; paths and names never are.
_SHORT_CHARS = 64
_NEVER_CUT = frozenset({"id", "file", "path", "root", "name", "qualname", "symbol", "now"})
# Tokens of the budget for each item of a list that is cut.
_ITEM_TOKENS = 16


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
    """Lines of a file, each after its number."""
    lines = text.split("\n")
    width = len(str(first_line + len(lines) - 1))
    return "\n".join(f"{indent}{number:>{width}} | {visible(line)}" for number, line in enumerate(lines, first_line))


def cost(row: Row) -> int:
    """The tokens of a row: those of its text or of its data, whichever are more."""
    import orjson

    data = orjson.dumps(row.data).decode()
    in_data = count_tokens(data)
    # Counting takes a while: a text that is much shorter has no more tokens.
    return in_data if len(row.text) < 0.8 * len(data) else max(in_data, count_tokens(row.text))


def fitting(rows: Sequence[Row], max_tokens: int) -> list[Row]:
    """The first rows that a budget has room for."""
    return fit(rows, lambda row: cost(row) + 1, max_tokens)  # one more for the separator


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
    """An answer that lists `rows` under `key`, from `offset` on; with `more` there are others that were not fetched.

    `narrow` names another way to the rest than the next `offset` or a larger budget.
    """
    asked = rows[offset or 0 :]
    room = max_tokens - cost(Row(head, data)) - FOOT_TOKENS
    kept = fitting(asked, room)
    if asked and not kept:
        kept = [shortened(asked[0], room)]
    left = len(asked) - len(kept)
    truncated = left > 0 or more
    following = ""
    if truncated:
        count = f"{left}{' or more' if more else ''}" if left else "some"
        onward = "" if offset is None else f"offset={offset + len(kept)} or "
        following = f"{count} not shown: ask again with {onward}a larger max_tokens{narrow}"
    text = "\n".join([head, *(row.text for row in kept)])
    return Answer(text, {**data, key: [row.data for row in kept]}, root, truncated, following)


def shortened(row: Row, room: int) -> Row:
    """The row; if it alone is too long, its texts lose their ends and its lists their last items until it fits."""
    share, short = room, row
    while share > 4 and cost(short) > room:
        share //= 2
        data = {name: _less(name, value, share) for name, value in row.data.items()}
        short = Row(first_lines(row.text, max(share * 2, 8)) or row.text.partition("\n")[0], data)
    return short


def _less(name: str, value: Any, tokens: int) -> Any:
    """A value of that name in about `tokens` tokens, and still of its type."""
    if isinstance(value, str) and len(value) > _SHORT_CHARS and name not in _NEVER_CUT:
        return first_lines(value, tokens) or value[: max(tokens * 2, _SHORT_CHARS)]
    if isinstance(value, list) and not _are_numbers(value):
        return [_less("", one, tokens) for one in value[: tokens // _ITEM_TOKENS]]
    if isinstance(value, dict):
        return {} if _are_numbers(value.values()) else {key: _less(key, one, tokens) for key, one in value.items()}
    return value


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)
