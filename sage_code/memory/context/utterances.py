"""The sentences of a conversation as summaries choose them: each with its message, its speaker and its terms.

What is read is bounded: of a pasted text the beginning, of very many messages less of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sage_code.memory.context.sentences import MARK_UP, folded, prose_lines, split_line
from sage_code.memory.context.summary import Spoken, words_in
from sage_code.memory.context.terms import terms_of

# A message beyond this is a paste: its beginning says what it is.
_READ_CHARS = 4_000
# Characters of all messages together, so that 10,000 long ones take about as long as 2,000; and the least of each.
_READ_IN_ALL, _LEAST_READ = 3_000_000, 300
_MAX_SENTENCES = 40  # of one message
# A sentence of fewer words is quoted only if there is nothing else; in a script without blanks characters are counted.
LEAST_WORDS, _LEAST_CHARS = 3, 6
# What opens a sentence of talk and says nothing. A quotation begins behind it.
_OPENS = re.compile(
    r"^(?:(?:well|oh|ah|yeah|yes|yep|so|and|but|hey|hi|hello|wow|ok(?:ay)?|um+|uh+|hm+|actually|you know|i mean|sure|"
    r"right|no|great|thanks|exactly|absolutely|of course|alright|anyway|by the way|haha|aw+)\b[,.!?…—-]*[ ]+)+",
    re.IGNORECASE,
)
_MARKS = "*_ \t"
_STRESS = "**"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence somebody said."""

    text: str
    message: int  # the number of its message among those that were said
    order: int  # its number among all sentences
    place: int  # its number in its message
    of: int  # the sentences of its message
    id: str  # of the message
    role: str
    speaker: str
    words: int
    terms: tuple[str, ...]
    term_set: frozenset[str]
    is_stressed: bool = False  # a part of it is bold

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.text.endswith(("?", "？"))


def utterances_of(messages: Sequence[Spoken]) -> list[Utterance]:
    """The sentences of messages, in order; a message without one is left out."""
    found: list[Utterance] = []
    most = min(_READ_CHARS, max(_READ_IN_ALL // max(len(messages), 1), _LEAST_READ))
    for number, message in enumerate(messages):
        texts = sentences_in(message.content, most)
        for place, text in enumerate(texts):
            terms = tuple(terms_of(text))
            found.append(
                Utterance(
                    text=text,
                    message=number,
                    order=len(found),
                    place=place,
                    of=len(texts),
                    id=message.id,
                    role=message.role,
                    speaker=message.speaker,
                    words=words_in(text),
                    terms=terms,
                    term_set=frozenset(terms),
                    is_stressed=_STRESS in text,
                )
            )
    return found


def sentences_in(content: str, most: int = _READ_CHARS) -> list[str]:
    """The sentences of a message that say something; if there is none, the message's first words."""
    found: list[str] = []
    for sentence in _pieces(content[:most]):
        found.append(sentence)
        if len(found) >= _MAX_SENTENCES:
            break
    if len(content) > most and len(found) > 1:
        found.pop()  # it may be cut in the middle
    return found


def first_words(content: str) -> str:
    """The beginning of a message on one line, whatever it is."""
    return folded(content[:_READ_CHARS]).strip(_MARKS)


def says_something(text: str) -> bool:
    """Whether a sentence is long enough to be understood by itself."""
    return text.count(" ") >= LEAST_WORDS - 1 or (not text.isascii() and len(text) >= _LEAST_CHARS)


def _pieces(text: str) -> Iterator[str]:
    for line in prose_lines(text):
        for piece in split_line(line):
            sentence = _unmarked(folded(piece))
            if opening := _OPENS.match(sentence):
                sentence = sentence[opening.end() :]
            if says_something(sentence) and not MARK_UP.search(sentence):
                yield sentence


def _unmarked(sentence: str) -> str:
    """A sentence without the marks around it; a bold part at its beginning keeps both of its marks."""
    bare = sentence.strip(_MARKS)
    return _STRESS + bare if bare.count(_STRESS) % 2 and sentence.startswith(_STRESS) else bare
