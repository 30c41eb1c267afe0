"""The profile: the current facts about a person that say most, one a line, within a fixed number of characters.

Facts come in one after the other, as they were said. One that only repeats what is there changes nothing. When the room
is used up, the line that says least beside the others goes. So a new fact leaves all other lines as they are, and
their order: a prompt that begins with the profile stays in the cache of a model as far as possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sage_code.memory.context.profile.subjects import telling_words
from sage_code.memory.context.profile.values import Fact

# The specification's length of a profile.
PROFILE_CHARS = 800
# A word that another line has too says less, but a little: it may mean something else there.
_REPEATED = 0.15
# What a line is worth besides its words, so that short ones do not fill the profile.
_LINE = 0.5
# A fact whose words are all there already is a repetition.
_NEW_WORDS = 1


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
        if not line.words or len(line.text) > max_chars:
            continue
        if sum(word not in counts for word in line.words) < _NEW_WORDS:
            continue
        lines.append(line)
        counts.update(line.words)
        used += len(line.text) + 1
        while used - 1 > max_chars:
            least = min(range(len(lines)), key=lambda number: (_worth(lines[number], counts), -number))
            gone = lines.pop(least)
            counts -= Counter(gone.words)
            used -= len(gone.text) + 1
    return "\n".join(line.text for line in lines)


def _current(facts: Sequence[Fact]) -> Iterable[Fact]:
    """The facts that hold, each once."""
    return {fact.id: fact for fact in facts if not fact.retired_by}.values()


def _worth(line: _Line, counts: Counter[str]) -> float:
    """What would be lost for each character with a line."""
    own = sum(1.0 if counts[word] == 1 else _REPEATED for word in line.words)
    return line.score * (_LINE + own) / (len(line.text) + 1)
