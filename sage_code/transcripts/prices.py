"""The cost of tokens by a small dated table of list prices (`prices.json`); other models have no price."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.json")
_MILLION = 1_000_000
# Additions of vendors and resellers to a model's name: a region, a date, a version, a longer context window.
_AROUND = re.compile(r"^(?:[\w-]+[./])*(?=claude|gpt)|(?:[-@]20\d{6}|-latest)?(?:-v\d+(?::\d+)?)?(?:\[\w+\])?$")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one or more replies."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0  # for five minutes
    cache_write_1h: int = 0

    @property
    def total(self) -> int:
        """The sum of all kinds."""
        return self.input + self.output + self.cache_read + self.cache_write + self.cache_write_1h

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in _KINDS))

    def most(self, other: Tokens) -> Tokens:
        """The larger count of each kind, for two records of the same reply."""
        return Tokens(*(max(getattr(self, name), getattr(other, name)) for name in _KINDS))


_KINDS = tuple(Tokens.__dataclass_fields__)


def cost(model: str, tokens: Tokens) -> float | None:
    """The list price of a reply in US dollars; None for a model without a price."""
    price = _table()["models"].get(_AROUND.sub("", model))
    if price is None:
        return None
    above = price.get("above")
    if above and tokens.total - tokens.output > above["tokens"]:
        price = above
    dollars: float = sum(price.get(kind, price["input"]) * getattr(tokens, kind) for kind in _KINDS)
    return dollars / _MILLION


def dated() -> str:
    """The day of the prices."""
    return str(_table()["dated"])


@cache
def _table() -> dict[str, Any]:
    with open(_PATH, "rb") as file:
        table: dict[str, Any] = orjson.loads(file.read())
    return table
