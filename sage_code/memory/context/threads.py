"""The threads of a conversation: what is talked about, by whom, and how far it has come.

In work with an agent a thread begins with what the person asks for; in talk it begins where the words change.
"""

from __future__ import annotations

from collections.abc import Sequence

from sage_code.memory.context.cues import DECIDED, DONE, ORDERS
from sage_code.memory.context.selecting import cut_to
from sage_code.memory.context.structuring import who_of
from sage_code.memory.context.summary import Spoken, Thread, ThreadState
from sage_code.memory.context.terms import overlap
from sage_code.memory.context.utterances import Utterance

MAX_THREADS = 12
# The messages that a thread names: the first and the last ones.
MAX_IDS = 12
_WHAT_WORDS = 24
# Below this share of common terms with what was said before, the next message begins another thread. In work only a
# person's request of some length does: a short one, or an order, goes on with what was asked before.
_SAME_THREAD, _SAME_TALK = 0.25, 0.08
_LEAST_REQUEST, _LEAST_TERMS = 6, 4
# A thread of talk has at least so many messages; so many before and behind a border are compared.
_LEAST_MESSAGES, _BEFORE, _BEHIND = 4, 5, 3


def threads_of(
    said: Sequence[Utterance],
    scores: Sequence[float],
    messages: Sequence[Spoken],
    *,
    is_work: bool,
    open_ids: frozenset[str],
) -> list[Thread]:
    """The threads, in order; those with `open_ids`, the messages of open questions, are open."""
    groups: dict[int, list[Utterance]] = {}
    for one in said:
        groups.setdefault(one.message, []).append(one)
    numbers = sorted(groups)
    terms = {number: frozenset().union(*(one.term_set for one in groups[number])) for number in numbers}
    parts = _requests(numbers, messages, terms) if is_work else _shifts(numbers, terms)
    found = []
    for part in parts:
        sentences = [one for number in part for one in groups[number]]
        asked = [one for one in sentences if one.role == "user" and one.message == part[0]]
        head = asked[0] if is_work and asked else max(sentences, key=lambda one: (scores[one.order], -one.order))
        ids = list(dict.fromkeys(messages[number].id for number in part))
        who = tuple(dict.fromkeys(who_of(messages[number]) for number in part))
        is_last = part is parts[-1]
        state = _state(sentences, is_open=bool(open_ids & set(ids)), is_work=is_work, is_last=is_last)
        found.append(Thread(cut_to(head.text, _WHAT_WORDS), who, state, bounded(ids)))
    if len(found) > MAX_THREADS:  # the longest and the last ones
        sizes = {id(one): len(part) for one, part in zip(found, parts, strict=True)}
        kept = sorted(found[:-1], key=lambda one: -sizes[id(one)])[: MAX_THREADS - 1]
        found = [one for one in found if one in kept or one is found[-1]]
    return found


def bounded(ids: Sequence[str]) -> tuple[str, ...]:
    """The first and the last ids of many."""
    half = MAX_IDS // 2
    return tuple(ids) if len(ids) <= MAX_IDS else (*ids[:half], *ids[-half:])


def _requests(numbers: Sequence[int], messages: Sequence[Spoken], terms: dict[int, frozenset[str]]) -> list[list[int]]:
    """The messages of each request of a person."""
    parts: list[list[int]] = []
    known: frozenset[str] = frozenset()
    for number in numbers:
        own = terms[number]
        asks = messages[number].role == "user" and len(own) >= _LEAST_REQUEST
        is_new = asks and overlap(own, known) < _SAME_THREAD and not ORDERS.match(messages[number].content[:200])
        if is_new or not parts:
            parts.append([])
            known = frozenset()
        parts[-1].append(number)
        known |= own
    return parts


def _shifts(numbers: Sequence[int], terms: dict[int, frozenset[str]]) -> list[list[int]]:
    """The messages between two places where the words of the talk change."""
    parts: list[list[int]] = []
    for at, number in enumerate(numbers):
        before = frozenset().union(*(terms[one] for one in numbers[max(at - _BEFORE, 0) : at]))
        behind = frozenset().union(*(terms[one] for one in numbers[at : at + _BEHIND]))
        is_long = bool(parts) and len(parts[-1]) >= _LEAST_MESSAGES and len(numbers) - at >= _BEHIND
        if not parts or (is_long and len(behind) >= _LEAST_TERMS and overlap(before, behind) < _SAME_TALK):
            parts.append([])
        parts[-1].append(number)
    return parts


def _state(sentences: Sequence[Utterance], *, is_open: bool, is_work: bool, is_last: bool) -> ThreadState:
    """How far a thread has come."""
    if is_open:
        return "open"
    statements = [one for one in sentences if not one.asks]
    if is_work:
        if is_last and sentences[-1].role == "user":
            return "open"
        answers = [one for one in statements if one.role == "assistant"]
        if answers and any(DONE.search(one.text) for one in answers if one.message == answers[-1].message):
            return "done"
    if any(DECIDED.search(one.text) for one in statements):
        return "decided"
    # Talk that has gone on to something else is over; a request that got no result is not.
    return "open" if is_work or is_last else "done"
