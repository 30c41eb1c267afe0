"""ContextBuilder: whatever Sage gives an agent to read is put together here, within a budget of tokens.

Critical components are whole, or a UsageError says what they need. Then each component gets its minimum share, in the
order of their priorities, and then what is left, up to its maximum share. Within one priority those that were added
first come first. The text has the components in the order in which they were added, whatever was cut, and depends on
nothing but them: a prompt cache keeps what comes before a transcript that grows.

Every foreign text is in an element that it cannot close (`sage_code/text/fencing.py`): each component in its own, or
all in one that is named with `element`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from sage_code.errors import UsageError
from sage_code.memory.context.allocation import Counter, Part, Room
from sage_code.memory.context.components import BuiltContext, Component
from sage_code.text.tokens import count_tokens

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class ContextBuilder:
    """Collects components and fits them into `max_tokens` by `counter`, and into `max_chars` if that is given.

    With `element`, a name that attributes may follow, one element is around everything, and begins with `about`.
    """

    def __init__(
        self,
        max_tokens: int,
        counter: Counter = count_tokens,
        *,
        max_chars: int | None = None,
        element: str = "",
        about: str = "",
    ) -> None:
        self.max_tokens, self._counter = max(max_tokens, 0), counter
        self._max_chars = sys.maxsize if max_chars is None else max_chars
        name = element.partition(" ")[0]
        self._head = [f"<{element}>"] if element else []
        self._head += [about] if about else []
        self._foot = [f"</{name}>"] if element else []
        self._components: list[Component] = []

    def add(self, component: Component) -> ContextBuilder:
        """Add a component behind the others; returns the builder."""
        if not _NAME.fullmatch(component.name) or any(component.name == other.name for other in self._components):
            raise UsageError(
                f"a component cannot be named {component.name!r}",
                "letters, digits, - and _, and each name once: the element around it has this name",
            )
        if not 0 <= component.min_share <= component.max_share <= 1:
            raise UsageError(
                f"{component.name} cannot have shares from {component.min_share} to {component.max_share}",
                "both are from 0 to 1, and the minimum is not above the maximum",
            )
        self._components.append(component)
        return self

    def build(self) -> BuiltContext:
        """The context. The same components give the same text."""
        parts = [
            Part(each, self._counter, is_inside=bool(self._foot)) for each in self._components
        ]  # fmt: skip
        # The last line has no end, so that one token and one character are left.
        room = Room(
            self.max_tokens + 1, self._max_chars + 1, notes_said=any(each.drops_repeats for each in self._components)
        )
        for line in (*self._head, *self._foot):
            room.take(self._counter(line) + 1, len(line) + 1, "")
        for part in parts:
            if part.is_critical:
                part.take_all(room)
        granted = _shared_out(parts, room) if room.is_there else []
        text, tokens = self._verified(parts, granted)
        return BuiltContext(text, tokens, self.max_tokens, tuple(part.report() for part in parts))

    def _verified(self, parts: Sequence[Part], granted: list[Part]) -> tuple[str, int]:
        """The text and its tokens. Where it is too long, the items that got room last are dropped until it fits.

        The default counter adds up over lines (`tests/memory/context/test_builder.py`), so that the sum is the count.
        Others may count a text higher than its lines.
        """
        wanted = 1
        while True:
            lines = [line for part in parts for line in part.shown()]
            text = "\n".join([*self._head, *lines, *self._foot]) if lines else ""
            if self._counter is count_tokens:
                frame = sum(count_tokens(line) + 1 for line in (*self._head, *self._foot))
                tokens = sum(part.tokens for part in parts) + frame - 1 if lines else 0
            else:
                tokens = self._counter(text) if lines else 0
            over = max(tokens - self.max_tokens, len(text) - self._max_chars)
            if over <= 0:
                return text, tokens
            if not granted:
                raise self._too_small(parts, tokens, len(text))
            wanted = max(over, 2 * wanted)  # twice as much each time: a strange counter is asked a few times only
            freed = 0
            while granted and freed < wanted:
                freed += max(granted.pop().drop_last(), 1)

    def _too_small(self, parts: Sequence[Part], tokens: int, chars: int) -> UsageError:
        """The error that names the critical components and what they need."""
        names = ", ".join(part.component.name for part in parts if part.kept)
        if tokens > self.max_tokens:
            return UsageError(
                f"the critical parts ({names}) do not fit into {self.max_tokens} tokens: they need {tokens}",
                f"allow at least {tokens} tokens, or make them shorter",
            )
        return UsageError(
            f"the critical parts ({names}) do not fit into {self._max_chars} characters: they need {chars}",
            "make them shorter",
        )


def _shared_out(parts: Sequence[Part], room: Room) -> list[Part]:
    """Fill the parts that are not critical; returns the part of each item in the order in which they got room."""
    room.shared = room.tokens
    granted: list[Part] = []
    in_order = sorted((part for part in parts if not part.is_critical), key=lambda part: part.component.priority)
    for is_minimum in (True, False):
        for part in in_order:
            granted += [part] * part.fill(room, is_minimum=is_minimum)
    return granted
