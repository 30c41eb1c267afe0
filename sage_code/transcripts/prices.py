"""What tokens cost: a small dated table of list prices. What is not in it has no price, and is said to have none."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

_PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.json")
_MILLION = 1_000_000
# What vendors and resellers write around a model's name: where it runs, a date, a version, a longer window.
_AROUND = re.compile(r"^(?:[\w-]+[./])*(?=claude|gpt)|(?:[-@]20\d{6}|-latest)?(?:-v\d+(?::\d+)?)?(?:\[\w+\])?$")


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one reply, or many, have used."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0  # for five minutes
    cache_write_1h: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache_read + self.cache_write + self.cache_write_1h

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, name) + getattr(other, name) for name in _KINDS))

    def most(self, other: Tokens) -> Tokens:
        """Of each kind the larger figure: two records of one reply."""
        return Tokens(*(max(getattr(self, name), getattr(other, name)) for name in _KINDS))


_KINDS = tuple(Tokens.__dataclass_fields__)


def cost(model: str, tokens: Tokens) -> float | None:
    """What one reply costs by the list, in US dollars; None for a model that is not in it."""
    price = _table()["models"].get(_AROUND.sub("", model))
    if price is None:
        return None
    above = price.get("above")
    if above and tokens.total - tokens.output > above["tokens"]:
        price = above
    dollars: float = sum(price.get(kind, price["input"]) * getattr(tokens, kind) for kind in _KINDS)
    return dollars / _MILLION


def dated() -> str:
    """Of which day the prices are."""
    return str(_table()["dated"])


@cache
def _table() -> dict[str, Any]:
    with open(_PATH, "rb") as file:
        table: dict[str, Any] = orjson.loads(file.read())
    return table
