"""Relationship hints: who answers, mentions and agrees with whom in a stream of messages, as a few counted lines.

They say what can be counted and nothing about feelings. Where several people take part, they are given only if the
setting `relationship_hints` allows it: a tool that tells a model how colleagues get on needs their consent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sage_code.text.fencing import inert_line

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Spoken
    from sage_code.settings.table import Settings

# Fewer times are chance.
_LEAST_TIMES = 3
# The busiest ones; each is looked for in every message.
_MAX_PEOPLE = 40
_MAX_NAME_CHARS = 40
# As much of a message is read; a longer one is mostly a paste.
_READ_CHARS = 2_000
_AGREEMENT_CHARS = 80
# At the beginning of an answer. What follows must not take it back.
_AGREES = re.compile(
    r"(?i)\s*(?:@?[\w.-]{1,40}[,:]?\s+)?"
    r"(?:yes|yep|yeah|agreed?|i agree|exactly|absolutely|definitely|indeed|\+1|lgtm|same here|sounds good|makes sense"
    r"|good (?:idea|point)|great idea|fair (?:point|enough)|(?:you(?:'|’)?re|you are|that(?:'|’)?s|that is) right)"
    r"(?![\w-])"
)
_TAKES_BACK = re.compile(r"(?i)\b(?:but|however|except|although|not|n't|don’t)\b")
_PEOPLE_ROLES = frozenset({"user"})


def hints(messages: Sequence[Spoken], limit: int = 5) -> list[str]:
    """At most `limit` lines about who answers, agrees with and mentions whom, the most frequent of each kind first."""
    answers, agreements, mentions = _counted(messages)
    both: Counter[tuple[str, str]] = Counter()
    for (who, whom), times in answers.items():
        both[min(who, whom), max(who, whom)] += times
    kinds = [
        [f"{a} and {b} answer each other{_most(at)} ({times} times)" for at, (a, b), times in _ranked(both)],
        [f"{a} agrees with {b}{_most(at)} ({times} times)" for at, (a, b), times in _ranked(agreements)],
        [f"{a} mentions {b}{_most(at)} ({times} times)" for at, (a, b), times in _ranked(mentions)],
    ]
    found: list[str] = []
    while len(found) < limit and any(kinds):
        found += [lines.pop(0) for lines in kinds if lines]
    return found[:limit]


def people(messages: Iterable[Spoken]) -> list[str]:
    """The names of the people who take part; agents and tools are none."""
    return sorted({message.speaker for message in messages if message.role in _PEOPLE_ROLES})


def may_hint(count: int, settings: Settings) -> bool:
    """Whether hints may be given about so many people."""
    return count <= 1 or settings.relationship_hints


def _counted(messages: Sequence[Spoken]) -> tuple[Counter[tuple[str, str]], ...]:
    """How often each answers, agrees with and mentions each other one."""
    speakers = Counter(message.speaker or message.role for message in messages)
    names = {who: inert_line(who[:_MAX_NAME_CHARS]).strip() for who, _ in speakers.most_common(_MAX_PEOPLE)}
    called = _called(names)
    answers: Counter[tuple[str, str]] = Counter()
    agreements: Counter[tuple[str, str]] = Counter()
    mentions: Counter[tuple[str, str]] = Counter()
    before = ""
    for message in messages:
        who = message.speaker or message.role
        text = message.content[:_READ_CHARS]
        named = [one for call, one in called.items() if call in text and one != who and _is_word(call, text)]
        whom = named[0] if named and len({*named}) == 1 else before
        if who in names:
            if whom in names and whom != who:
                answers[names[who], names[whom]] += 1
                if _agrees(text):
                    agreements[names[who], names[whom]] += 1
            for one in {*named}:
                mentions[names[who], names[one]] += 1
        before = who
    return answers, agreements, mentions


def _called(names: Iterable[str]) -> dict[str, str]:
    """The participants by what others call them: their whole name, its first word, and the name without blanks."""
    found: dict[str, str] = {}
    doubtful: set[str] = set()
    for who in names:
        for call in {who, who.split(" ")[0], who.replace(" ", "")}:
            # Two letters or a word in lower case occur in any text.
            is_name = len(call) > 2 and (call != call.lower() or not call.isalpha())
            call = call if is_name else f"@{call}"
            doubtful |= {call} if call in found else set()
            found[call] = who
    return {call: who for call, who in found.items() if call not in doubtful and call != "@"}


def _is_word(call: str, text: str) -> bool:
    """Whether a name occurs with nothing of a word around it."""
    return bool(re.search(rf"(?<![\w@]){'' if call.startswith('@') else '@?'}{re.escape(call)}(?!\w)", text))


def _agrees(text: str) -> bool:
    """Whether an answer begins with words of agreement that its sentence does not take back."""
    found = _AGREES.match(text)
    if not found:
        return False
    rest = re.split(r"[.!?\n]", text[found.end() : found.end() + _AGREEMENT_CHARS], maxsplit=1)[0]
    return not _TAKES_BACK.search(rest)


def _ranked(counts: Counter[tuple[str, str]]) -> list[tuple[int, tuple[str, str], int]]:
    """The pairs that occur often enough, with their place."""
    often = [(pair, times) for pair, times in counts.items() if times >= _LEAST_TIMES]
    often.sort(key=lambda one: (-one[1], one[0]))
    return [(place, pair, times) for place, (pair, times) in enumerate(often)]


def _most(place: int) -> str:
    return " most" if place == 0 else ""
