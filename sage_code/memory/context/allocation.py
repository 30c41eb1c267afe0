"""Who gets how much of a budget: components are filled with whole items, by priority, minimum and maximum share.

Items are escaped and counted one by one, and only as long as there is room: what cannot fit costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from sage_code.memory.context.components import Component, Item, Kept, Priority, text_of
from sage_code.text.fencing import inert, inert_line

Counter: TypeAlias = Callable[[str], int]
# An item as it is shown, without its bullet, and the tokens and characters of its line.
_Ready: TypeAlias = tuple[str, int, int]

FULL = "the budget was full"
REPEATED = "said by another part"
# A sentence that another one contains says nothing new. A shorter text does, such as the name of a file that a sentence
# has too, unless it is a line by itself.
_MIN_SENTENCE_CHARS = 60
# The longest piece that the default counter finds has so many characters with its blank: a text with fewer tokens than
# that gives was not counted.
_MAX_CHARS_A_TOKEN = 9
_LOOKED_AT = 100  # items that were cut: enough to say how much was
_TOKENS_A_CHAR = 0.26  # of chats (LoCoMo), for components of which nothing was counted


class Room:
    """What is left of a budget, and what was said with the rest."""

    def __init__(self, tokens: int, chars: int, *, notes_said: bool) -> None:
        self.tokens, self.chars = tokens, chars
        self.shared = tokens  # what shares are shares of
        self._notes_said, self._said = notes_said, ""

    @property
    def is_there(self) -> bool:
        """Whether no more was used than there was."""
        return self.tokens >= 0 and self.chars >= 0

    def take(self, tokens: int, chars: int, text: str) -> None:
        """Use so much for this text."""
        self.tokens -= tokens
        self.chars -= chars
        if self._notes_said:
            self._said += f"{text}\n"

    def says(self, text: str) -> bool:
        """Whether what was chosen so far says this already."""
        return text in (self._said if len(text) >= _MIN_SENTENCE_CHARS else self._said.split("\n"))


class Part:
    """A component while it is filled."""

    def __init__(self, component: Component, counter: Counter, *, is_inside: bool) -> None:
        self.component, self._counter = component, counter
        has_text = any(text_of(item).strip() for item in component.items)
        self._items: Sequence[Item] = component.items if has_text else ()
        self.kept: list[_Ready] = []  # the most important first
        self._repeats = 0
        self._prepared = self._in_order()
        self._used = 0  # tokens, with the frame and what is kept free for the line about what was cut
        self._ready: _Ready | None = None  # the next item, which did not fit before
        self._why = FULL  # of the items that wait
        has_element = component.is_foreign and not is_inside
        title = [f"{inert_line(component.title)}:"] if component.title else []
        self._head = [f"<{component.name}>", *title] if has_element else title
        self._foot = [f"</{component.name}>"] if has_element else []
        self._frame = self._cost(*self._head, *self._foot)
        self._note = self._cost(self._rest(len(self._items))) if component.rest else (0, 0)

    @property
    def is_critical(self) -> bool:
        """Whether it must be whole."""
        return self.component.priority is Priority.CRITICAL

    @property
    def waiting(self) -> int:
        """How many items were neither taken nor left out as repeats."""
        return len(self._items) - len(self.kept) - self._repeats

    @property
    def tokens(self) -> int:
        """The tokens of `shown`, each line with its end."""
        if not self.kept:
            return 0
        rest = self._cost(self._rest(self.waiting))[0] if self._has_rest else 0
        return sum([tokens for _, tokens, _ in self.kept]) + self._frame[0] + rest

    def fill(self, room: Room, *, is_minimum: bool) -> int:
        """Take items as long as there is room, up to the minimum or the maximum share; returns how many."""
        component, kept, before = self.component, self.kept, len(self.kept)
        share = component.min_share if is_minimum else component.max_share
        limit = share * room.shared
        while (ready := self._ready or next(self._prepared, None)) is not None:
            text, tokens, chars = self._ready = ready
            is_over = self._used + tokens > limit
            if not kept:  # with the frame
                tokens += self._frame[0] + self._note[0]
                chars += self._frame[1] + self._note[1]
                is_free = component.keeps_first and not self._repeats
                is_over = self._used + tokens > (component.max_share * room.shared if is_free else limit)
            if tokens > room.tokens or chars > room.chars:
                self._why = FULL
                break
            if is_over:
                self._why = f"over its share of {100 * share:.0f} %"
                break
            self._ready = None
            if component.drops_repeats and room.says(text):
                self._repeats += 1
                continue
            self._used += tokens
            room.take(tokens, chars, text)
            kept.append(ready)
        return len(kept) - before

    def take_all(self, room: Room) -> None:
        """Take every item, also if there is no room for it."""
        for ready in self._prepared:
            self.kept.append(ready)
            room.take(ready[1], ready[2], ready[0])
        if self.kept:
            room.take(*self._frame, "")

    def drop_last(self) -> int:
        """Leave out the item that was taken last; returns its tokens."""
        self._why = FULL
        return self.kept.pop()[1]

    def shown(self) -> list[str]:
        """The lines of the component; none if no item was taken."""
        return [*self._head, *self._body(), *self._foot] if self.kept else []

    def report(self) -> Kept:
        """What became of the component."""
        component, tokens = self.component, self.tokens
        why = self._why if self.waiting else REPEATED if self._repeats else ""
        return Kept(
            component.name, component.priority, tokens, tokens + self._missing(), len(self.kept), len(self._items),
            why, "\n".join(self._body()),
        )  # fmt: skip

    def _body(self) -> list[str]:
        """The items in their order, with the line about what was cut where it was cut."""
        rest = [self._rest(self.waiting)] if self._has_rest else []
        bullet = self.component.bullet
        lines = [bullet + text for text, _, _ in self.kept]
        return [*rest, *reversed(lines)] if self.component.keep == "end" else [*lines, *rest]

    @property
    def _has_rest(self) -> bool:
        return bool(self.component.rest and self.waiting and self.kept)

    def _in_order(self) -> Iterator[_Ready]:
        """The items, the most important first, prepared one by one as they are asked for."""
        bullet, is_foreign, counter = self.component.bullet, self.component.is_foreign, self._counter
        made = inert_line if bullet else inert
        for item in self._items if self.component.keep == "start" else reversed(self._items):
            said, known = (item, 0) if isinstance(item, str) else item
            text = made(said) if is_foreign else said
            line = bullet + text
            is_believed = known * _MAX_CHARS_A_TOKEN >= len(line) and known > 0 and line == said
            yield text, (known if is_believed else counter(line)) + 1, len(line) + 1

    def _cost(self, *lines: str) -> tuple[int, int]:
        """The tokens and characters of lines with their ends."""
        return sum(self._counter(line) + 1 for line in lines), sum(len(line) + 1 for line in lines)

    def _rest(self, left: int) -> str:
        return self.component.rest.replace("{left}", str(left))

    def _missing(self) -> int:
        """About how many tokens the items that wait have, from the length of some of them."""
        count = self.waiting
        if not count:
            return 0
        first = len(self._items) - count if self.component.keep == "start" else 0
        some = [self._items[place] for place in range(first, first + count, -(-count // _LOOKED_AT))]
        seen = sum(chars for _, _, chars in self.kept)
        share = sum(tokens for _, tokens, _ in self.kept) / seen if seen else _TOKENS_A_CHAR
        pieces = [(item, 0) if isinstance(item, str) else item for item in some]
        tokens = sum(known or share * len(text) for text, known in pieces) + len(pieces)
        return max(round(tokens * count / len(some)), 1)
