"""A message as clauses: the pieces that are judged, kept and quoted one by one.

"I am good, I just got off work, and I have two jobs." has three. A clause is in the person's own words, without what
only leads it in ("Well, yes,"). Code, quotations, tags, links and lines of logs are no clauses. Every function is
linear in the length of its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sage_code.memory.context.summary import Spoken
from sage_code.text.prose import said

# A longer message is a paste; what a person says about themselves is said in its first lines.
READ_CHARS = 6_000
# More clauses than anybody says in one message.
MAX_CLAUSES = 60
# A longer clause is no sentence of talk.
MAX_WORDS = 60
# Of a question before the message, so much is read, and so much may follow it.
_QUESTION_CHARS = 300
_AFTER_QUESTION = 200
_WORDS_OF_NAME = 3  # of "my best friend" in "my best friend and I"

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'"})
_BORDER = re.compile(r"(?<=[.!?])[)\"']?\s+(?=\S)|(?<=[a-z][.!?])(?=[A-Z][a-z' ])|[\n\r]+")
_SELF = r"(?:i|i'm|i've|i'd|i'll|im|ive|my|we|we're|our)\b"
_AND = r"(?:and|but|so|plus|although|though) "
# A new clause begins where the person speaks of themselves again; "because I" and "when I" belong together.
_JOINT = re.compile(
    rf"[,;:]+ (?:{_AND})?(?={_SELF})| {_AND}(?={_SELF})| [-–—]+ (?={_SELF})|; |\.\.+ ?| (?:[–—]|--)+ ", re.IGNORECASE
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+•#|]+|\d{1,3}[.)])\s+")
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[?!]")
# Words that were typed without their apostrophe.
_WRITTEN_OUT = {
    "im": "i'm", "ive": "i've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "cant": "can't",
    "isnt": "isn't", "wasnt": "wasn't", "wont": "won't", "havent": "haven't", "hasnt": "hasn't", "thats": "that's",
    "youre": "you're", "theyre": "they're", "whats": "what's", "couldnt": "couldn't", "wouldnt": "wouldn't",
}  # fmt: skip
# A line of a log, a stack trace, a table or code that was pasted without a fence. The first pattern is a quick one.
_MAY_BE_PASTED = re.compile(r"[{}()=<>:;$\"\[]|^\d|[A-Z]{4}|Error|^(?:import|from|def|class|const|let|var|export)\s")
_PASTED = re.compile(
    r"^(?:\$ |>>> |\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|\[?\d\d:\d\d:\d\d|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE)\b|Traceback"
    r"|File \"|at [\w.$<>]+\(|(?:import|from|def|class|const|let|var|function|return|export) \S+ ?(?:[=({:]"
    r"|import\b|$))"
    r"|[{};]$|[=-]>|::|\w\(\w*\)|[=!]=|\wError\b"
)


class Clause(NamedTuple):
    """One piece of a message."""

    text: str  # as it was written, on one line
    words: tuple[str, ...]  # in lower case, with marks of questions and exclamations
    asks: bool  # the sentence that it is part of ends with a question mark
    first: bool  # nothing was said before it in this message


def plain(text: str) -> str:
    """A text with one kind of apostrophe."""
    return text if text.isascii() and "`" not in text else text.translate(_APOSTROPHES)


def words_of(text: str) -> tuple[str, ...]:
    """The words of a clause as the features name them."""
    return tuple([_WRITTEN_OUT.get(word, word) for word in _WORD.findall(text.lower())])


def clauses_of(content: str) -> list[Clause]:
    """The clauses of a message, in order."""
    found: list[Clause] = []
    for sentence in _sentences(content[:READ_CHARS]):
        asks = "?" in sentence[-4:]
        for piece in _pieces(sentence):
            words = words_of(piece)
            if 0 < len(words) <= MAX_WORDS and (len(words) > 1 or words[0] not in "?!"):
                found.append(Clause(piece.strip(), words, asks, not found))
        if len(found) >= MAX_CLAUSES:
            return found[:MAX_CLAUSES]
    return found


def question_before(message: Spoken, before: Sequence[Spoken]) -> Clause | None:
    """What somebody else asked last, if it was the end of what they said just before this message."""
    for earlier in reversed(before):
        if earlier.role not in ("user", "assistant") or earlier.id == message.id:
            continue
        if earlier.role == message.role and earlier.speaker == message.speaker:
            return None
        return _last_question(earlier.content)
    return None


def _last_question(content: str) -> Clause | None:
    """The last sentence of a message that asks, if no other text than one sentence follows it."""
    end = content.rfind("?")
    if end < 0 or len(content) - end > _AFTER_QUESTION:
        return None
    sentence = ""
    for piece in _BORDER.split(plain(content[max(end - _QUESTION_CHARS, 0) : end + 1])):
        sentence = " ".join(piece.split()) or sentence
    words = words_of(sentence)
    return Clause(sentence, words, True, False) if 1 < len(words) <= MAX_WORDS else None


def _pieces(sentence: str) -> Iterator[str]:
    """A sentence split where a clause begins; "My wife and I" stays whole."""
    start = 0
    for joint in _JOINT.finditer(sentence):
        head = sentence[start : joint.start()]
        if joint[0].lower() == " and " and head.count(" ") < _WORDS_OF_NAME and sentence[joint.end()] in "Ii":
            continue
        yield head
        start = joint.end()
    yield sentence[start:]


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text that a person wrote."""
    for piece in _BORDER.split(plain(said(text))):
        sentence = " ".join(_LIST_MARK.sub("", piece).split())
        if sentence and not (_MAY_BE_PASTED.search(sentence) and _PASTED.search(sentence)):
            yield sentence
