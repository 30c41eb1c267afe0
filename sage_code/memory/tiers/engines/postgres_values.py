"""Values on their way to a PostgreSQL server and back, and the shared SQL in the spelling of psycopg."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from sage_code.memory.tiers.engines.protocol import Json, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

# PostgreSQL stores neither of these in a text; what is stored instead is the sign for what cannot be read.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
# A text in quotes, a mark or a sign that psycopg reads.
_TOKEN = re.compile(r"'(?:[^']|'')*'|\?|%")
# `DO UPDATE` is left out: one statement must not change a row twice.
_INSERT = re.compile(
    r"INSERT INTO (\w+) \(([\w, ]+)\) VALUES \((\?(?:, \?)*)\)((?: ON CONFLICT (?:\([\w, ]+\) )?DO NOTHING)?)"
)
# A list of at least two marks, or what `_TOKEN` finds.
_LISTS = re.compile(rf"(?<!NOT )\bIN \((\?(?:, \?)+)\)|{_TOKEN.pattern}")
_KINDS: dict[Kind, dict[str, str]] = {
    "message": {"$rows": "messages", "$words": "message_words", "$parts": "message_parts"},
    "passage": {"$rows": "passages", "$words": "passage_words", "$parts": "passage_parts"},
}
# What means something to COPY; the backslash first, because the others are written with it.
_SIGNS_OF_LINES = (("\\", "\\\\"), ("\n", "\\n"), ("\t", "\\t"), ("\r", "\\r"))
# How many different statements are remembered in translation.
_REMEMBERED = 1024


@lru_cache(maxsize=_REMEMBERED)
def translated(sql: str) -> str:
    """A statement with `?` for each value in the spelling of psycopg."""
    return _TOKEN.sub(lambda found: "%s" if found[0] == "?" else found[0].replace("%", "%%"), sql)


class Statement(NamedTuple):
    """A shared statement as the server gets it. Each of its values is made of so many of the caller's: a list of marks
    is one value, so that its length does not change the statement."""

    text: bytes
    lengths: tuple[int, ...]

    def values(self, given: Sequence[object]) -> list[Any]:
        """The caller's values as those of the statement."""
        if len(self.lengths) == len(given):
            return adapted(given)
        rest = iter(given)
        taken = (tuple(islice(rest, length)) for length in self.lengths)
        return adapted([some[0] if len(some) == 1 else some for some in taken])


@lru_cache(maxsize=_REMEMBERED)
def statement(sql: str) -> Statement:
    """A shared statement for the server. psycopg reads every mark of a statement in Python."""
    lengths: list[int] = []

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            lengths.extend([1] * (found[0] == "?"))
            return translated(found[0])
        lengths.append(found[0].count("?"))
        return "= ANY (%s)"

    return Statement(_LISTS.sub(replaced, sql).encode(), tuple(lengths))


@lru_cache(maxsize=_REMEMBERED)
def whole_insert(sql: str) -> tuple[str, bytes] | None:
    """An INSERT of one row as one of any number of rows, which are one value: an array of objects in JSON, and the
    columns that they have. None for any other statement."""
    found = _INSERT.fullmatch(sql.strip())
    if found is None or found[2].count(",") != found[3].count(","):
        return None
    table, columns, conflict = found[1], found[2], found[4]
    text = f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s::json)"
    return columns, f"{text}{conflict}".encode()


def objects(columns: str, rows: Iterable[Sequence[object]]) -> str:
    """Rows as an array of objects in JSON."""
    names = columns.split(", ")
    made = [dict(zip(names, map(_in_json, row), strict=True)) for row in rows]
    return orjson.dumps(made).decode()


def copied(row: Sequence[object]) -> str:
    """A row as a line of COPY, without its end."""
    return "\t".join([_escaped_line(value) if type(value) is str else _in_line(value) for value in row])


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
    """Values as a list; the server takes its type from the column, so that it may be one of texts, ids or numbers."""
    if set(map(type, values)) == {int}:
        return numbers_literal(values)
    quoted = ("NULL" if value is None else '"' + _escaped(str(value)) + '"' for value in values)
    return "{" + ",".join(quoted) + "}"


def numbers_literal(numbers: Sequence[object]) -> str:
    """Whole numbers as a list."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@cache
def number_loader() -> type[Any]:
    """Reads the sum of whole numbers as a whole number, as SQLite gives it."""
    from psycopg.adapt import Loader  # lazy: comes with an extra

    class NumberLoader(Loader):
        def load(self, data: Any) -> int | float:
            said = bytes(data)
            return int(said) if said.lstrip(b"-").isdigit() else float(said)

    return NumberLoader


@cache
def moment_loader() -> type[Any]:
    """Reads a time. psycopg takes a pattern for it; a search reads five hundred of them."""
    from psycopg.types.datetime import TimestamptzLoader  # lazy: comes with an extra

    class MomentLoader(TimestamptzLoader):
        def load(self, data: Any) -> datetime:
            try:
                return datetime.fromisoformat(bytes(data).decode())
            except ValueError:  # before the year 1, or after 9999
                return super().load(data)

    return MomentLoader


def _escaped_line(text: str) -> str:
    """A text in a line of COPY."""
    text = storable(text)
    for sign, written in _SIGNS_OF_LINES:
        if sign in text:
            text = text.replace(sign, written)
    return text


def _in_line(value: object) -> str:
    """A value that is no text in a line of COPY."""
    if value is None:
        return "\\N"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Json):
        return _escaped_line(orjson.dumps(_storable_nested(value.value)).decode())
    return _escaped_line(array_literal(value) if isinstance(value, tuple) else str(value))


def _storable_nested(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(name)): _storable_nested(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_nested(one) for one in value]
    return value


def _in_json(value: object) -> object:
    """A value of a row as JSON has it."""
    if isinstance(value, Json):
        return _storable_nested(value.value)
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return _storable_nested(value) if isinstance(value, str | tuple) else value


def _json(value: Json) -> Any:
    from psycopg.types.json import Jsonb

    return Jsonb(_storable_nested(value.value))


_ADAPTERS: dict[type, Callable[[Any], Any]] = {
    datetime: lambda value: value.astimezone(UTC),
    str: storable,
    tuple: lambda value: storable(array_literal(value)),
    Json: _json,
}
