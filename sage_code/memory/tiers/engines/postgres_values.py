"""Values on their way to a PostgreSQL server and back, and the shared SQL in the spelling of psycopg."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from sage_code.memory.tiers.engines.protocol import Json, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

# PostgreSQL stores neither of these in a text; what is stored instead is the sign for what cannot be read.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
# A text in quotes, a mark or a sign that psycopg reads.
_TOKEN = re.compile(r"'(?:[^']|'')*'|\?|%")
_KINDS: dict[Kind, dict[str, str]] = {
    "message": {"$rows": "messages", "$words": "message_words", "$parts": "message_parts"},
    "passage": {"$rows": "passages", "$words": "passage_words", "$parts": "passage_parts"},
}
# How many different statements are remembered in translation.
_REMEMBERED = 1024


@lru_cache(maxsize=_REMEMBERED)
def translated(sql: str) -> str:
    """A statement with `?` for each value in the spelling of psycopg."""
    return _TOKEN.sub(lambda found: "%s" if found[0] == "?" else found[0].replace("%", "%%"), sql)


@lru_cache(maxsize=_REMEMBERED)
def named(kind: Kind, sql: str) -> str:
    """A statement with the tables of a kind: `$rows`, `$words` and `$parts` stand for them."""
    for sign, table in _KINDS[kind].items():
        sql = sql.replace(sign, table)
    return sql


def adapted(values: Sequence[object]) -> list[Any]:
    """Values as psycopg takes them."""
    return [_ADAPTERS[type(value)](value) if type(value) in _ADAPTERS else value for value in values]


def storable(text: str) -> str:
    """A text that PostgreSQL takes: a zero and half a character are replaced."""
    return text if text.isascii() and "\x00" not in text else _UNSTORABLE.sub(_REPLACEMENT, text)


def array_literal(values: Sequence[object]) -> str:
    """Texts as a list; the server takes its type from the column, so that it may be one of texts or of ids."""
    quoted = (str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"


@cache
def number_loader() -> type[Any]:
    """Reads the sum of whole numbers as a whole number, as SQLite gives it."""
    from psycopg.adapt import Loader  # lazy: comes with an extra

    class NumberLoader(Loader):
        def load(self, data: Any) -> int | float:
            said = bytes(data)
            return int(said) if said.lstrip(b"-").isdigit() else float(said)

    return NumberLoader


def _storable_nested(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(name)): _storable_nested(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_nested(one) for one in value]
    return value


def _json(value: Json) -> Any:
    from psycopg.types.json import Jsonb

    return Jsonb(_storable_nested(value.value))


_ADAPTERS: dict[type, Callable[[Any], Any]] = {
    datetime: lambda value: value.astimezone(UTC),
    str: storable,
    tuple: lambda value: storable(array_literal(value)),
    Json: _json,
}
