"""Messages as items of a transcript: whole exchanges, each a user's message with what was answered to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from sage_code.memory.context.components import Piece
from sage_code.text.escaping import one_line
from sage_code.text.tokens import count_tokens

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Spoken

_MAX_NAME_CHARS = 60
# The lines of a message behind its first one: no message can begin a line as another speaker would.
_END, _INDENT = "\n", "\n  "


def exchanges(messages: Sequence[Spoken], *, max_chars: int = 0, has_counts: bool = False) -> Exchanges:
    """The messages, oldest first, as exchanges of lines `Name: text`.

    A message that is longer than `max_chars` is cut there (0: none is). `has_counts` says that the `tokens` of the
    messages were counted with the counter in use, as those of `tiers.values.Message` are unless another number was
    given when they were stored; they are not counted again then.
    """
    begins = [place for place, message in enumerate(messages) if message.role == "user"]
    if messages and begins[:1] != [0]:
        begins.insert(0, 0)
    return Exchanges(messages, begins, max_chars, has_counts)


class Exchanges(Sequence[Piece]):
    """The exchanges of messages, made when they are asked for: of a long talk only the last ones fit."""

    def __init__(self, messages: Sequence[Spoken], begins: Sequence[int], max_chars: int, has_counts: bool) -> None:
        self._messages, self._begins = messages, begins
        self._max_chars, self._has_counts = max_chars, has_counts
        self._names: dict[str, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self._begins)

    @overload
    def __getitem__(self, place: int) -> Piece: ...
    @overload
    def __getitem__(self, place: slice) -> list[Piece]: ...
    def __getitem__(self, place: int | slice) -> Piece | list[Piece]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        place = range(len(self._begins))[place]
        return self._piece(self._begins[place], [*self._begins[place + 1 : place + 2], len(self._messages)][0])

    def __iter__(self) -> Iterator[Piece]:
        return map(self._piece, self._begins, [*self._begins[1:], len(self._messages)])

    def __reversed__(self) -> Iterator[Piece]:
        return map(self._piece, self._begins[::-1], [len(self._messages), *self._begins[:0:-1]])

    def _piece(self, begin: int, end: int) -> Piece:
        """The messages from `begin` to `end` as one item."""
        if end == begin + 1:  # in a chat, most of them
            return Piece(*self._line(self._messages[begin]))
        lines = [self._line(message) for message in self._messages[begin:end]]
        counts = [tokens for _, tokens in lines]
        return Piece("\n".join(text for text, _ in lines), sum(counts) if all(counts) else 0)

    def _line(self, message: Spoken) -> tuple[str, int]:
        """A message as it is shown, and its tokens with the end of the line; 0 if they are not known."""
        who, content = message.speaker or message.role, message.content
        before = self._names.get(who)
        if before is None:
            before = self._names[who] = _name(who)
        known = getattr(message, "tokens", 0) if self._has_counts else 0
        if 0 < self._max_chars < len(content):
            content, known = content[: self._max_chars].rstrip() + " …", 0
        return before[0] + content.replace(_END, _INDENT), known + before[1] if known else 0


def _name(who: str) -> tuple[str, int]:
    """What comes before a message, and the tokens that it adds, with the end of the line."""
    name = one_line(who[:_MAX_NAME_CHARS].replace(":", " ")).strip() or "?"  # a colon would end the name
    return f"{name}: ", count_tokens(f"{name}: \n")
