"""The profile: the current facts about a person that say most, one a line, within a fixed number of characters.

Facts come in one after the other, as they were said. One that only repeats a line changes nothing. When the room is
used up, the line that says least beside the others goes. So a new fact leaves all other lines as they are, and their
order: a prompt that begins with the profile stays in the cache of a model as far as possible. Where room is left, a
last line names the people, animals and things that the lines only mention ("My son is in junior high": "I have a son").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sage_code.memory.context.profile.subjects import telling_words
from sage_code.memory.context.profile.values import Fact

# The specification's length of a profile.
PROFILE_CHARS = 800
# A word that another line has too says less, but a little: it may mean something else there.
_REPEATED = 0.3
# What a line is worth besides its words, so that short ones do not fill the profile.
_LINE = 2.0
# Whoever speaks of "my son" has one. Only people and animals, homes and vehicles: "my way", "my day" say nothing.
_OWNED = re.compile(
    r"\b(?:my|our) (?:[a-z]+ )?(wife|husband|son|daughter|kids|children|mom|dad|mother|father|parents|sister"
    r"|brother|sisters|"
    r"brothers|siblings|grandma|grandpa|grandmother|grandfather|grandparents|grandson|granddaughter|aunt|uncle"
    r"|cousins?|niece|"
    r"nephew|boyfriend|girlfriend|fiance|fiancee|roommates?|dogs?|cats?|pets?|puppy|puppies|kitten|horses?"
    r"|family|sons|"
    r"daughters|car|truck|bike|boat|house|garden|farm|job|boss|friends?|team|company|business|laptop|band)\b"
)
_SEVERAL = frozenset({"kids", "children", "parents", "siblings", "grandparents"})
_HAS = re.compile(r"\b(?:i|we) (?:\w+ )?(?:have|own|got)\b")


class _Line(NamedTuple):
    text: str
    words: frozenset[str]
    score: float


def profile_text(facts: Sequence[Fact], max_chars: int = PROFILE_CHARS) -> str:
    """The profile of these facts, oldest first; retired ones are left out."""
    lines: list[_Line] = []
    counts: Counter[str] = Counter()
    used = 0
    for fact in sorted(_current(facts), key=lambda one: (one.said_at, one.message_id, one.id)):
        line = _Line(fact.text, frozenset(telling_words(fact.text)), fact.score)
        if not line.words or len(line.text) > max_chars or any(line.words <= known.words for known in lines):
            continue
        lines.append(line)
        counts.update(line.words)
        used += len(line.text) + 1
        while used - 1 > max_chars:
            least = min(range(len(lines)), key=lambda number: (_worth(lines[number], counts), -number))
            gone = lines.pop(least)
            counts.subtract(gone.words)
            used -= len(gone.text) + 1
    texts = [line.text for line in lines]
    if (owned := _owned(texts)) and used + len(owned) <= max_chars:
        texts.append(owned)
    return "\n".join(texts)


def _current(facts: Sequence[Fact]) -> Iterable[Fact]:
    """The facts that hold, each once."""
    return {fact.id: fact for fact in facts if not fact.retired_by}.values()


def _worth(line: _Line, counts: Counter[str]) -> float:
    """What would be lost for each character with a line."""
    own = sum(1.0 if counts[word] == 1 else _REPEATED for word in line.words)
    return line.score * (_LINE + own) / (len(line.text) + 1)


def _owned(texts: Sequence[str]) -> str:
    """A line about what the others only mention."""
    found: dict[str, None] = {}
    said = " ".join(text.lower() for text in texts if _HAS.search(text.lower()))
    for text in texts:
        for match in _OWNED.finditer(text.lower()):
            if match[1] not in said:
                found[match[1]] = None
    if not found:
        return ""
    names = [name if name in _SEVERAL or name.endswith("s") else f"a {name}" for name in found]
    return f"I have {' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}"
