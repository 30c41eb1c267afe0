"""What was decided in a conversation, which questions are open, and what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sage_code.memory.context.cues import DECIDED, DECISION, DEFERS, NAMES_CODE, NARRATION, ORDERS, REASON
from sage_code.memory.context.selecting import cut_to
from sage_code.memory.context.sentences import folded
from sage_code.memory.context.summary import Point, Spoken
from sage_code.memory.context.terms import overlap, terms_of
from sage_code.memory.context.utterances import Utterance
from sage_code.text.lexemes import words_of

MAX_TOPICS = 8
# A topic is in two messages, unless there are only a few.
_FEW_MESSAGES = 6
# Words of every piece of work.
_WORK_WORDS = "add added change check create file fix fixed help line read remove run see test time try update write"
_NO_TOPICS = frozenset(_WORK_WORDS.split(" "))
# A point is a sentence; a longer one is cut.
_POINT_WORDS = 40
# What a decision needs: a plain cue, or two weaker signs.
_LEAST_STRENGTH = 1.0
# How many messages behind a question may still answer it, if the first reply puts it off.
_REACH = 8
# The share of a question's terms that such an answer has.
_ABOUT = 0.5
# An agent's questions in the middle of a message are its own, and it answers them there.
_AGENT_ASKS_LAST = 3
_READ_CHARS = 4_000


def decisions_of(said: Sequence[Utterance]) -> list[Point]:
    """The sentences that decide something, in order."""
    return [point_of(one) for one in said if strength_of(one.text, one.role) >= _LEAST_STRENGTH]


def strength_of(text: str, role: str = "") -> float:
    """How plainly a sentence decides something; 0 for a question and for what an agent is about to do."""
    if text.endswith(("?", "？", ":")) or (role == "assistant" and NARRATION.match(text)):
        return 0.0
    strength = min(len(DECIDED.findall(text)), 2) + 0.5 * min(len(DECISION.findall(text)), 2)
    if role == "user" and ORDERS.match(text):
        strength += 1.0
    return strength + 0.3 * bool(REASON.search(text)) + 0.2 * bool(NAMES_CODE.search(text)) if strength else 0.0


def point_of(one: Utterance) -> Point:
    """A sentence as a point."""
    return Point(cut_to(one.text, _POINT_WORDS), (one.id,))


def open_questions(said: Sequence[Utterance], messages: Sequence[Spoken]) -> list[Point]:
    """The questions that nothing behind them answers, in order."""
    of_message: dict[int, list[Utterance]] = {}
    for one in said:
        of_message.setdefault(one.message, []).append(one)
    return [
        point_of(one)
        for one in said
        if one.asks
        and one.term_set  # "How are you?" is about nothing
        and not (one.role == "assistant" and one.place < one.of - _AGENT_ASKS_LAST)
        and not _is_answered(one, of_message, messages)
    ]


def still_open(questions: Iterable[Point], said: Sequence[Utterance]) -> list[Point]:
    """The questions of an earlier summary that no sentence answers now."""
    statements = [one for one in said if _states(one)]
    kept = []
    for question in questions:
        asked = frozenset(terms_of(question.text))
        if not any(len(asked & one.term_set) >= max(_ABOUT * len(asked), 1) for one in statements if asked):
            kept.append(question)
    return kept


def _is_answered(
    question: Utterance, of_message: Mapping[int, Sequence[Utterance]], messages: Sequence[Spoken]
) -> bool:
    """Whether the next one who speaks answers, or somebody a little later says something about it."""
    is_first = True
    own = who_of(messages[question.message])
    for number in range(question.message + 1, min(question.message + 1 + _REACH, len(messages))):
        message = messages[number]
        if who_of(message) == own:
            continue
        sentences = of_message.get(number)
        if sentences is None:  # "Yes." is too short for a sentence
            text = folded(message.content[:_READ_CHARS])
            if is_first and text and not text.endswith(("?", "？")) and not DEFERS.search(text):
                return True
        else:
            statements = [one for one in sentences if _states(one)]
            if (
                statements
                if is_first
                else any(overlap(question.term_set, one.term_set) >= _ABOUT for one in statements)
            ):
                return True
        is_first = False
    return False


def _states(one: Utterance) -> bool:
    """Whether a sentence says something, and does not ask or put off."""
    return not one.asks and not DEFERS.search(one.text)


def who_of(message: Spoken) -> str:
    """Who said a message: a name, or the role."""
    return folded(message.speaker[:200])[:60] or message.role


def topics_of(said: Sequence[Utterance], speakers: Iterable[str] = ()) -> list[str]:
    """The words and pairs of words that most messages share, as they were written first."""
    own = _NO_TOPICS.union(term for name in speakers for term in terms_of(name))
    least = 2 if said and said[-1].message >= _FEW_MESSAGES else 1
    seen: dict[tuple[str, ...], set[int]] = {}
    for one in said:
        for term in one.term_set:
            seen.setdefault((term,), set()).add(one.message)
        for pair in zip(one.terms, one.terms[1:], strict=False):
            seen.setdefault(pair, set()).add(one.message)
    counts = Counter({terms: len(found) for terms, found in seen.items() if not own & set(terms)})
    found: list[str] = []
    used: set[str] = set()
    # A pair says more than a word: two messages that share one count as three.
    ranked = sorted(counts, key=lambda terms: (-counts[terms] * (1.5 if len(terms) > 1 else 1.0), terms))
    for terms in ranked[: 8 * MAX_TOPICS]:
        is_pair = len(terms) > 1
        if used & set(terms) or counts[terms] < (2 if is_pair else least) or len(found) >= MAX_TOPICS:
            continue
        if written := _written(terms, said):
            found.append(written)
            used.update(terms)
    return found


def _written(terms: tuple[str, ...], said: Sequence[Utterance]) -> str:
    """Terms as they were written first; empty if other words are between them."""
    for one in said:
        if not one.term_set.issuperset(terms):
            continue
        words = words_of(one.text)
        for at in range(len(words) - len(terms) + 1):
            some = words[at : at + len(terms)]
            if tuple(term for word in some for term in terms_of(word)) == terms:
                return " ".join(some)
    return ""
