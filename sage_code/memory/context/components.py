"""What a context is made of, and what was made of it: components with a priority and shares, and what was kept of each.

The values are named tuples: hooks that run at every compaction import them, and a dataclass costs a millisecond there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Literal, NamedTuple, TypeAlias

Keep: TypeAlias = Literal["start", "end"]


class Priority(IntEnum):
    """Who gets room first. A critical component is whole, or there is no context."""

    CRITICAL = 0
    HIGH = 1
    MEDIUM = 2
    LOW = 3


class Piece(NamedTuple):
    """An item whose tokens are known already."""

    text: str
    tokens: int = 0  # what the counter in use gives for the text, and is believed; 0: count it


Item: TypeAlias = str | Piece


def text_of(item: Item) -> str:
    """The text of an item."""
    return item if isinstance(item, str) else item.text


class Component(NamedTuple):
    """A part of a context: whole items, of which as many are kept as there is room for.

    An item is the unit that is kept or cut: an exchange of a transcript, a line of a list, a whole text. Shares are
    shares of what the critical components leave of the budget, so that minimum shares that add up to 1 are all kept.
    """

    name: str  # letters, digits and hyphens: the element around it has this name
    priority: Priority
    items: Sequence[Item]
    title: str = ""
    min_share: float = 0.0  # what it may use before others of a lower priority get anything
    max_share: float = 1.0
    keep: Keep = "start"  # the items that stay: the first ones, or the last ones of a transcript
    is_foreign: bool = True  # in an element of its own, unable to close it or to open another one
    bullet: str = ""  # before each item, which then is on one line
    keeps_first: bool = False  # the first item may be longer than the minimum share
    drops_repeats: bool = False  # an item is left out if what was chosen before says it
    rest: str = ""  # a line about what was cut, with `{left}` for the number of items


class Kept(NamedTuple):
    """What became of a component."""

    name: str
    priority: Priority
    tokens: int
    wanted_tokens: int  # of all its items; estimated from their length where they were not counted
    items_kept: int
    items: int
    why: str  # why something is missing; empty if nothing is
    text: str = ""  # what is shown of it, without its title and element

    def to_json(self) -> dict[str, Any]:
        """What became of it as JSON knows it, without its text."""
        return {
            "name": self.name,
            "priority": self.priority.name.lower(),
            "tokens": self.tokens,
            "wanted_tokens": self.wanted_tokens,
            "items_kept": self.items_kept,
            "items": self.items,
            "why": self.why,
        }


class BuiltContext(NamedTuple):
    """A text within its budget, and what was kept and cut of each component, in the order of the text."""

    text: str
    tokens: int
    budget: int
    parts: tuple[Kept, ...]

    def to_json(self) -> dict[str, Any]:
        """The context as JSON knows it."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "budget": self.budget,
            "parts": [part.to_json() for part in self.parts],
        }

    def part(self, name: str) -> Kept:
        """What became of the component with this name."""
        return next(part for part in self.parts if part.name == name)
