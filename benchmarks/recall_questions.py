"""Made-up questions about conversations, for what BEAM and LoCoMo do not ask: keywords, a quotation, a time, a speaker.

People and agents also search by a few words that they remember, by a piece of what was said, by a time ("the cake in
March") or by who said it. Each question is made from one message, and only messages that fit as well are gold.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from sage_code.text.lexemes import lexemes
from sage_code.text.stems import STOP_WORDS, stem


class _Message(Protocol):
    id: str
    role: str
    text: str
    created: float


class Asked(NamedTuple):
    """A question, its kind, and the messages that answer it."""

    kind: str
    text: str
    gold: frozenset[str]


# Questions of each kind about one conversation.
EACH = 12
_TRIES = 40 * EACH
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def made_up(messages: Sequence[_Message], seed: str) -> list[Asked]:
    """Questions of all kinds about a conversation, always the same."""
    maker = _Maker(messages, random.Random(seed))
    found: list[Asked] = []
    for make in (maker.keywords, maker.fragment, maker.dated, maker.said_by):
        of_kind: dict[str, Asked] = {}
        for _ in range(_TRIES):
            asked = make()
            if asked is not None:
                of_kind[asked.text] = asked
            if len(of_kind) == EACH:
                break
        found += of_kind.values()
    return found


class _Maker:
    """Makes questions about one conversation."""

    def __init__(self, messages: Sequence[_Message], chooser: random.Random) -> None:
        self._messages, self._chooser = messages, chooser
        self._words = [list(_content_words(message.text)) for message in messages]
        self._with: dict[str, set[int]] = defaultdict(set)
        for row, words in enumerate(self._words):
            for word in words:
                self._with[stem(word)].add(row)
        self._months = Counter(_month(message.created) for message in messages if message.created)

    def keywords(self) -> Asked | None:
        """Three or four of the rarer words of a message, in any order."""
        row, words = self._message(5)
        chosen = self._chooser.sample(words[:8], min(len(words), self._chooser.choice((3, 3, 4))))
        return self._asked("keywords", " ".join(chosen), row, self._with_all(chosen))

    def fragment(self) -> Asked | None:
        """Six to nine words of a message as they are."""
        row = self._chooser.randrange(len(self._messages))
        words = self._messages[row].text.split()
        length = self._chooser.randint(6, 9)
        if len(words) < length + 2:
            return None
        start = self._chooser.randrange(len(words) - length)
        text = " ".join(words[start : start + length])
        same = {number for number, one in enumerate(self._messages) if text in " ".join(one.text.split())}
        return self._asked("fragment", text, row, same)

    def dated(self) -> Asked | None:
        """A few words that were said in several months, and one of the months."""
        if len(self._months) < 2:
            return None
        row, words = self._message(4)
        known = [word for word in words if len({_month(self._messages[one].created) for one in self._of(word)}) > 1]
        if len(known) < 2 or not self._messages[row].created:
            return None
        chosen = self._chooser.sample(known, 2)
        month = _month(self._messages[row].created)
        same = {one for one in self._with_all(chosen) if _month(self._messages[one].created) == month}
        year, number = month
        when = f"in {_MONTHS[number - 1]}" + (f" {year}" if self._chooser.random() < 0.5 else "")
        return self._asked("dated", f"what was said about {' '.join(chosen)} {when}?", row, same)

    def said_by(self) -> Asked | None:
        """Two or three words, and whether the person or the assistant has said them."""
        if {message.role for message in self._messages} != {"user", "assistant"}:
            return None
        row, words = self._message(5)
        chosen = self._chooser.sample(words[:8], min(len(words), 3))
        role = self._messages[row].role
        who = "I ask about" if role == "user" else "you tell me about"
        same = {one for one in self._with_all(chosen) if self._messages[one].role == role}
        return self._asked("said by", f"What did {who} {' '.join(chosen)}?", row, same)

    def _asked(self, kind: str, text: str, row: int, same: set[int]) -> Asked | None:
        """The question, unless too many messages fit it."""
        if row not in same or len(same) > 2:
            return None
        return Asked(kind, text, frozenset(self._messages[one].id for one in same))

    def _message(self, least: int) -> tuple[int, list[str]]:
        """A message with so many words, its rarest words first."""
        while True:
            row = self._chooser.randrange(len(self._messages))
            words = sorted(set(self._words[row]), key=lambda word: (len(self._of(word)), word))
            if len(words) >= least:
                return row, words

    def _of(self, word: str) -> set[int]:
        return self._with[stem(word)]

    def _with_all(self, words: Sequence[str]) -> set[int]:
        return set.intersection(*(self._of(word) for word in words))


def _content_words(text: str) -> Iterator[str]:
    return (word for word in lexemes(text) if word not in STOP_WORDS and len(word) > 2 and word.isalpha())


def _month(created: float) -> tuple[int, int]:
    when = datetime.fromtimestamp(created, UTC)
    return when.year, when.month
